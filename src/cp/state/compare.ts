/**
 * The site as it is against the site as it was: one pass over two sorted sequences.
 *
 * Where the old state fits into memory its lines are recognised as they come in (seen.ts) and never sorted; what is
 * left is sorted and merged. Otherwise everything is sorted on disk.
 */
import { LccError } from '../../lib/errors.js';
import { deletionOf, keyOf } from './lines.js';

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
 * @param wasTaken whether a line of the old state, which begins at that byte of it, was recognised
 * @throws LccError `data.refused` when the site names one key twice, differently
 */
export function compare(
  old: Iterable<string>,
  fresh: Iterable<string>,
  wasTaken: (oldLine: string, offset: number) => boolean,
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

  let offset = 0;
  for (const line of old) {
    while (current.done !== true && current.value < line && !line.startsWith(key)) {
      changes.added += 1;
      sinks.state(current.value);
      sinks.delta(current.value);
      advance();
    }
    const same = current.done !== true && line.startsWith(key) ? current.value : undefined;
    const isTaken = wasTaken(line, offset);
    offset += line.length + 1;
    if (isTaken) {
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
