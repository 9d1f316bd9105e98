/** Spools in directories that are removed when the tests are over. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Spool } from '../../src/lib/spool.js';
import type { SpoolHeader } from '../../src/lib/spool-frames.js';
import { atEnd } from '../support/at-end.js';

/** Entries up to this size are read whole. */
export const SMALL_BYTES = 256 * 1024;

const dirs: string[] = [];
atEnd(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

export function newDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-spool-'));
  dirs.push(dir);
  return dir;
}

/** Has every thread that files are opened in wait for the writer of a pipe, until the returned function is called. */
export function occupyThreads(dir: string): () => Promise<void> {
  const threads = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4);
  const paths = Array.from({ length: threads }, (_, i) => join(dir, `pipe-${i}`));
  execFileSync('mkfifo', paths);
  const readers = paths.map(async path => {
    const reader = await openFile(path, 'r');
    await reader.close();
  });
  return async () => {
    const writers = paths.map(path => openSync(path, constants.O_RDWR));
    await Promise.all(readers);
    for (const writer of writers) closeSync(writer);
  };
}

export function open(dir: string): Spool {
  const fail = (error: unknown) => assert.fail(`failed: ${String(error)}`);
  return new Spool({ dir, steps: 'test.spool', fail });
}

/** Reads an entry to its end. */
export function verify(spool: Spool, id: string): SpoolHeader {
  const { header, content } = spool.read(id);
  for (const _piece of content);
  return header;
}

export async function put(spool: Spool, label: string, ...texts: string[]) {
  const writer = spool.create({ label });
  for (const text of texts) writer.write(text);
  return writer.commit(label);
}
