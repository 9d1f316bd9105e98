/**
 * The site as it is against the site as it was: one pass over sorted sequences.
 *
 * Where the old state's lines can be told from a table in memory they are recognised as they come in
 * (seen.ts) and never sorted; what is left is sorted and merged. Urls in doubt, of which the old state may
 * not say what the UNS has, are sent in any case.
 */
import { LccError } from '../../lib/errors.js';
import { deletionOf, keyOf, withoutMark } from './lines.js';

export interface Changes {
  added: number;
  changed: number;
  /** Gone from the old state, or from the sets in doubt. */
  deleted: number;
  unchanged: number;
  /** Unchanged urls sent because they are in doubt. */
  again: number;
  /** Deleted urls that only sets in doubt name. */
  ghosts: number;
  /** Not named by an input that names a part of the site only, and kept. */
  kept: number;
  /** Lines that the new state has otherwise, or not any more, though nothing is sent for them. */
  rewritten: number;
}

interface Sinks {
  /** A line of the new state, in order. */
  state(line: string): void;
  /** A line that must be sent, in order. */
  delta(line: string, why: Why): void;
}

export type Why = 'new' | 'changed' | 'gone' | 'in doubt';

interface Before {
  /** Lines of the old state, in order. */
  lines: Iterable<string>;
  /** True if a line, the n-th of the old state counted from 0, was recognised. */
  wasTaken(line: string, n: number): boolean;
  /** Keys in doubt, in order, each once. */
  doubtful: Iterable<string>;
  /** Given where the input names a part of the site only: then nothing is deleted. What becomes of a line of
   * the old state that is not named: the line of the new state, or undefined: it is forgotten. */
  keep?: ((line: string) => string | undefined) | undefined;
}

/** After every line. */
const NONE_LEFT = '\uffff';

/**
 * @param fresh lines that were not recognised, sorted
 * @throws LccError `data.refused` when the site names one key twice, differently
 */
export function compare(before: Before, fresh: Iterable<string>, sinks: Sinks): Changes {
  const changes: Changes = {
    added: 0,
    changed: 0,
    deleted: 0,
    unchanged: 0,
    again: 0,
    ghosts: 0,
    kept: 0,
    rewritten: 0,
  };
  const { keep } = before;
  const next = new LinePosition(distinct(fresh));
  const doubt = new LinePosition(before.doubtful);

  const add = (): void => {
    if (next.line.startsWith(doubt.line)) doubt.advance();
    changes.added += 1;
    sinks.state(next.line);
    sinks.delta(next.line, 'new');
    next.advance();
  };
  /** All that is new, and all that only sets in doubt name, before a line of the old state. */
  const passUpTo = (line: string): void => {
    for (;;) {
      const isGhost = doubt.line < line && !line.startsWith(doubt.line);
      const isNew = next.line < line && !line.startsWith(next.key);
      if (isNew && (!isGhost || next.line < doubt.line || next.line.startsWith(doubt.line))) add();
      else if (isGhost) {
        if (keep === undefined) {
          changes.deleted += 1;
          changes.ghosts += 1;
          sinks.delta(deletionOf(doubt.line), 'gone');
        } else {
          // The url may be there: asked for again, it is in the state from now on, so that a whole list can
          // miss it.
          changes.kept += 1;
          changes.again += 1;
          sinks.state(`${doubt.line}/>`);
          sinks.delta(`${doubt.line}/>`, 'in doubt');
        }
        doubt.advance();
      } else return;
    }
  };

  let n = 0;
  for (const line of before.lines) {
    if (next.line < line || doubt.line < line) passUpTo(line);
    const isTaken = before.wasTaken(line, n++);
    const isDoubtful = line.startsWith(doubt.line);
    const isNamed = line.startsWith(next.key);
    if (isTaken && isNamed && next.line !== line) throw twice(next.key);
    const bare = withoutMark(line);
    if (isTaken || (isNamed && next.line === bare)) {
      changes.unchanged += 1;
      if (line !== bare && !isTaken) changes.rewritten += 1;
      sinks.state(bare);
      if (isDoubtful) {
        changes.again += 1;
        sinks.delta(bare, 'in doubt');
      }
    } else if (isNamed) {
      changes.changed += 1;
      sinks.state(next.line);
      sinks.delta(next.line, 'changed');
    } else if (keep === undefined) {
      changes.deleted += 1;
      sinks.delta(deletionOf(keyOf(line)), 'gone');
    } else {
      const kept = keep(line) ?? (isDoubtful ? line : undefined);
      if (kept !== line) changes.rewritten += 1;
      if (kept !== undefined) {
        changes.kept += 1;
        sinks.state(kept);
      }
      if (isDoubtful) {
        changes.again += 1;
        sinks.delta(bare, 'in doubt');
      }
    }
    if (isNamed) next.advance();
    if (isDoubtful) doubt.advance();
  }
  passUpTo(NONE_LEFT);
  return changes;
}

/** Where one is in a sequence of lines. */
class LinePosition {
  readonly #lines: Iterator<string>;
  line = '';
  /** Key of `line`. */
  key = '';

  constructor(lines: Iterable<string>) {
    this.#lines = lines[Symbol.iterator]();
    this.advance();
  }

  advance(): void {
    const next = this.#lines.next();
    this.line = next.done === true ? NONE_LEFT : next.value;
    this.key = next.done === true ? NONE_LEFT : keyOf(next.value);
  }
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
