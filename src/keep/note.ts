/**
 * `keep.note`, beside the home: how far the engine had come, once a second. An engine that has less was put
 * back from a backup, or is another one.
 */
import { join } from 'node:path';
import type { HomeState } from '../db/engine/home-rows.js';
import { writeFileDurably } from '../lib/durable.js';
import { LccError } from '../lib/errors.js';
import { readIfThere } from '../lib/read-if-there.js';

export interface KeepNote {
  /** UUID of the whole LCC. */
  lcc: string;
  epoch: number;
  /** The last shipment of each database. */
  n: ReadonlyMap<string, number>;
}

/** @param dir of the home */
export const keepNoteOf = (dir: string) => join(dir, 'keep.note');

/** undefined: nothing is noted. */
export function readKeepNote(path: string): KeepNote | undefined {
  const [, lcc = '', epoch = '', rest = ''] =
    /^([\w-]{36}) (\d{1,15})((?: [a-z]+=\d{1,15})*)\n/.exec(readIfThere(path) ?? '') ?? [];
  if (lcc === '') return undefined;
  const n = [...rest.matchAll(/([a-z]+)=(\d+)/g)].map(([, name = '', last]) => [name, Number(last)] as const);
  return { lcc, epoch: Number(epoch), n: new Map(n) };
}

export function writeKeepNote(path: string, { lcc, epoch, n }: KeepNote): void {
  writeFileDurably(path, `${lcc} ${epoch}${[...n].map(([name, last]) => ` ${name}=${last}`).join('')}\n`);
}

/** @throws LccError `config` for an engine that has nothing of the home, or less than is noted */
export function requireHome({ home, files }: HomeState, note: KeepNote | undefined, shard: number) {
  if (home === undefined)
    throw new LccError(
      'config',
      `store.url: the engine has nothing of shard ${shard}; make it: lcckeep init`,
    );
  const n = (name: string) => files.find(file => file.name === name)?.n ?? 0;
  const why =
    note === undefined
      ? undefined
      : note.lcc !== home.lcc
        ? `has LCC ${home.lcc}, not ${note.lcc}`
        : note.epoch > home.epoch
          ? `has epoch ${home.epoch}, before ${note.epoch}`
          : [...note.n].find(([name, last]) => last > n(name)) &&
            'has fewer shipments than this home has seen there';
  if (why !== undefined)
    throw new LccError(
      'config',
      `store.url: an older or another engine: it ${why}; lcckeep init --again has this home take its place`,
    );
  return home;
}
