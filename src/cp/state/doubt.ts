/** The sets in doubt beside a statefile, as lcccpstate reads them: the keys that they name, in order, each
 * once. */
import { closeSync, fchmodSync, fstatSync, fsyncSync, openSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from '../../lib/durable.js';
import { errnoOf, LccError } from '../../lib/errors.js';
import { merge, readLinesAt } from '../../lib/line-sequences.js';
import { ownMark } from '../../lib/process-mark.js';
import { Output } from '../../lib/stdio.js';
import { step } from '../../lib/steps.js';
import { STREAM_END, streamHead } from '../../wire/url-stream.js';
import {
  doubtfulSets,
  forget,
  identityOf,
  isUnderWay,
  setPath,
  temporaryPath,
  type KeptSet,
} from './kept.js';
import { deletionOf, keyOf } from './lines.js';

/** Sets in doubt that lie side by side; more are merged, unless that many are being sent at once. */
const MOST_SETS = 8;
/** Sets that are replaced while they are opened: how often we look again. */
const MOST_LOOKS = 20;

interface OpenSet {
  set: KeptSet;
  fd: number;
}

export class Doubt {
  readonly #sets: readonly OpenSet[];

  private constructor(sets: readonly OpenSet[]) {
    this.#sets = sets;
  }

  /**
   * Opens all of a statefile.
   * @param mode permissions of what is made of several
   * @throws LccError `try.later` when more runs wait for an answer than may
   */
  static of(state: string, mode: number): Doubt {
    const all = new Doubt(openAll(state));
    if (all.#sets.length <= MOST_SETS) return all;
    try {
      all.#mergeInto(state, mode);
    } finally {
      all.close();
    }
    return new Doubt(openAll(state));
  }

  get sets(): KeptSet[] {
    return this.#sets.map(({ set }) => set);
  }

  get isEmpty(): boolean {
    return this.#sets.length === 0;
  }

  /** @throws LccError `data.malformed` for a set that is cut */
  *keys(): Generator<string, void, undefined> {
    yield* keysOf(this.#sets);
  }

  close(): void {
    for (const { fd } of this.#sets) closeSync(fd);
  }

  /** Makes one of all that are not under way. What would still have sent one of them finds it gone, and does
   * not. */
  #mergeInto(state: string, mode: number): void {
    const idle = this.#sets.filter(({ set }) => !isUnderWay(set));
    if (this.#sets.length - idle.length >= MOST_SETS)
      throw new LccError(
        'try.later',
        `${state}: ${MOST_SETS} runs of lcccp wait for the UNS; run again once they have ended, or end them`,
      );
    const temporary = temporaryPath(state, 'doubt', ownMark());
    const fd = openSync(temporary, 'w', mode);
    let path: string;
    try {
      fchmodSync(fd, mode);
      const out = new Output(fd, { encoding: 'latin1', where: temporary });
      out.write(streamHead({ from: 'lcccpstate' }));
      for (const key of keysOf(idle)) out.write(`${deletionOf(key)}\n`);
      out.write(STREAM_END);
      out.flush();
      fsyncSync(fd);
      path = setPath(state, 'doubt', identityOf(fstatSync(fd, { bigint: true })));
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
    syncDirectory(dirname(state));
    step('state.doubt.merged');
    for (const { set } of idle) forget(state, set);
  }
}

/** @throws LccError `try.later` */
function openAll(state: string): OpenSet[] {
  for (let look = 0; look < MOST_LOOKS; look++) {
    const open: OpenSet[] = [];
    try {
      for (const set of doubtfulSets(state)) open.push({ set, fd: openSync(set.path, 'r') });
      return open;
    } catch (error) {
      for (const { fd } of open) closeSync(fd);
      if (errnoOf(error) !== 'ENOENT') throw error;
    }
  }
  throw new LccError('try.later', `${state}: other runs keep replacing the sets beside it; run again`);
}

function* keysOf(sets: readonly OpenSet[]): Generator<string, void, undefined> {
  let before = '';
  for (const line of merge(sets.map(({ set, fd }) => linesOf(set.path, fd)))) {
    const key = keyOf(line);
    if (key !== before) yield key;
    before = key;
  }
}

/** The lines of one set between its beginning and its end. */
function* linesOf(path: string, fd: number): Generator<string, void, undefined> {
  let last = '';
  for (const line of readLinesAt(fd, 0, path)) {
    if (last.startsWith('<url')) yield last;
    last = line;
  }
  if (`${last}\n` !== STREAM_END)
    throw new LccError(
      'data.malformed',
      `${path}: it is cut off; remove it and send everything, once, with --full`,
    );
}
