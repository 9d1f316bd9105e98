/**
 * The site as it is against the site as it was: one pass over two sorted sequences.
 *
 * Most lines of most runs are the same as last time. Where the old state fits into memory they are recognised as they
 * come in (`Seen`) and never sorted; what is left is sorted and merged. Otherwise everything is sorted on disk.
 */
import { LccError } from '../../lib/errors.js';
import { deletionOf, keyOf } from './lines.js';
import type { Statefile } from './statefile.js';

/** The old state up to this size is held in memory: about 250 000 urls. */
const SEEN_MAX_BYTES = 32 * 1024 * 1024;

/** Lines of the old state that did not come in yet; undefined inside when the state is too large to hold. */
export class Seen {
  readonly #missing: Set<string> | undefined;
  /** Lines of the old state; 0 where they were not counted. */
  readonly total: number = 0;

  constructor(old: Statefile, maxBytes = SEEN_MAX_BYTES) {
    if (old.bytes > maxBytes) return;
    this.#missing = new Set();
    for (const block of old.blocks()) {
      for (const line of block) this.#missing.add(line);
      this.total += block.length;
    }
  }

  /** Whether the line is one of the old state's, named for the first time. */
  take(line: string): boolean {
    return this.#missing !== undefined && this.#missing.delete(line);
  }

  /** Whether `take` was true for it. */
  wasTaken(oldLine: string): boolean {
    return this.#missing !== undefined && !this.#missing.has(oldLine);
  }

  /** Whether every line of the old state came in. */
  get isComplete(): boolean {
    return this.#missing !== undefined && this.#missing.size === 0;
  }
}

export interface Changes {
  added: number;
  changed: number;
  deleted: number;
  unchanged: number;
}

export interface Sinks {
  /** A line of the new state, in order. */
  state(line: string): void;
  /** What has to be sent, in order. */
  delta(line: string): void;
}

/**
 * @param old lines of the old state, in order
 * @param fresh lines that were not recognised, sorted
 * @throws LccError `data.refused` when the site names one key twice, differently
 */
export function compare(
  old: Iterable<string>,
  fresh: Iterable<string>,
  wasTaken: (oldLine: string) => boolean,
  sinks: Sinks,
): Changes {
  const changes: Changes = { added: 0, changed: 0, deleted: 0, unchanged: 0 };
  const next = distinct(fresh)[Symbol.iterator]();
  let current = next.next();
  let key = current.done === true ? '' : keyOf(current.value);
  const advance = (): void => {
    current = next.next();
    key = current.done === true ? '' : keyOf(current.value);
  };

  for (const line of old) {
    while (current.done !== true && current.value < line && !line.startsWith(key)) {
      changes.added += 1;
      sinks.state(current.value);
      sinks.delta(current.value);
      advance();
    }
    const same = current.done !== true && line.startsWith(key) ? current.value : undefined;
    if (wasTaken(line)) {
      if (same !== undefined && same !== line) throw twice(key);
      changes.unchanged += 1;
      sinks.state(line);
    } else if (same === undefined) {
      changes.deleted += 1;
      sinks.delta(deletionOf(keyOf(line)));
    } else {
      sinks.state(same);
      if (same === line) changes.unchanged += 1;
      else {
        changes.changed += 1;
        sinks.delta(same);
      }
    }
    if (same !== undefined) advance();
  }
  for (; current.done !== true; advance()) {
    changes.added += 1;
    sinks.state(current.value);
    sinks.delta(current.value);
  }
  return changes;
}

/** Equal lines once; two lines with one key are refused. */
function* distinct(sorted: Iterable<string>): Generator<string, void, undefined> {
  let before = '';
  let key = '\n';
  for (const line of sorted) {
    if (line === before) continue;
    if (line.startsWith(key)) throw twice(key);
    before = line;
    key = keyOf(line);
    yield line;
  }
}

function twice(key: string): LccError {
  return new LccError(
    'data.refused',
    `${key}: named twice, with different attributes; run again, or look at what makes the list`,
  );
}
