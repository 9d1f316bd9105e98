/**
 * Entries of spools, frame by frame. Damaged ones are left to whoever serves the spool: it knows what was promised, asks
 * the provider for a full set, and sets the entry aside.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, LccError } from '../lib/errors.js';
import { readFrames } from '../lib/spool-frames.js';
import type { CheckContext, Finding } from './types.js';

export async function* spools({ unsSpoolDir, fsmSpoolDir }: CheckContext): AsyncGenerator<Finding> {
  for (const [root, name, served] of [
    [unsSpoolDir, 'spool/uns', 'lccd-uns'],
    [fsmSpoolDir, 'spool/fsm', 'lccd-qm'],
  ] as const) {
    for (const spool of namesIn(root)) {
      for (const entry of namesIn(join(root, spool, 'new'))) {
        const problem = await problemOf(join(root, spool, 'new', entry));
        if (problem === undefined) continue;
        const what = `${problem}; ${served} sets it aside when it comes to it`;
        yield { kind: 'spool', where: `${name}/${spool}/new/${entry}`, what, repaired: false };
      }
    }
  }
}

async function problemOf(path: string): Promise<string | undefined> {
  try {
    for await (const _frame of readFrames(path));
    return undefined;
  } catch (error) {
    // Delivered meanwhile.
    if (errnoOf(error) === 'ENOENT') return undefined;
    if (!(error instanceof LccError)) throw error;
    return error.message.slice(error.message.indexOf(': ') + 2);
  }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir).toSorted();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return [];
    throw error;
  }
}
