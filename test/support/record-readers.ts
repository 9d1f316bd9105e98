/** The readers of records in other languages that examples/spider has, and lccrec. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './tree.js';

/** @returns the path of an example */
export const example = (name: string): string => join(ROOT, 'examples/spider', name);

/** How each is run. @param dir has `records`, the one in C, once that is compiled */
export const recordReaders = (dir: string): Record<string, string[]> => ({
  c: [join(dir, 'records')],
  perl: ['perl', example('records.pl')],
  python: ['python3', example('records.py')],
});
export const LCCREC = [process.execPath, join(ROOT, 'bin/lccrec'), '--tsv'];

/** Compiles the one in C. @throws AssertionError where that needs so much as a warning */
export function compileRecordReader(dir: string): void {
  const flags = ['-std=c99', '-O2', '-Wall', '-Wextra', '-Werror', '-pedantic'];
  const { status, stderr } = spawnSync('cc', [...flags, '-o', join(dir, 'records'), example('records.c')], {
    encoding: 'utf8',
  });
  assert.equal(stderr, '');
  assert.equal(status, 0);
}

export interface Reading {
  stdout: string;
  status: number | null;
  /** What stands in the error for the offset. */
  offset: string | undefined;
}

export function readBy([command = '', ...args]: string[], stream: Buffer): Reading {
  const { stdout, stderr, status, error } = spawnSync(command, args, {
    input: stream,
    encoding: 'latin1',
    maxBuffer: 100_000_000,
  });
  assert.equal(error, undefined);
  return { stdout, status, offset: /byte (\d+):/.exec(stderr)?.[1] };
}
