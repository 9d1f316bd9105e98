/** What the name of a spool entry says of it, so that it is known without opening the file, and when that is damaged. */
import type { SetKind } from '../wire/cp-uns/names.js';

export interface EntryLabel {
  pid: number;
  seq: number;
  set: SetKind;
  received: number;
  /** How many of them ask for removal; undefined in entries of earlier releases. */
  deletes: number | undefined;
  /** Its number among the sets that all UNSes accept; undefined before it has one, and in entries of earlier releases. */
  order: number | undefined;
}

const LABEL = /^(\d+)\.(\d+)\.(full|partial)\.(\d+)(?:\.(\d+)(?:\.(\d+))?)?$/;

/** undefined when it is none */
export function parseLabel(text: string): EntryLabel | undefined {
  const found = LABEL.exec(text);
  if (found === null) return undefined;
  const [, pid, seq, set, received, deletes, order] = found;
  return {
    pid: Number(pid),
    seq: Number(seq),
    set: set as SetKind,
    received: Number(received),
    deletes: deletes === undefined ? undefined : Number(deletes),
    order: order === undefined ? undefined : Number(order),
  };
}

/** The label of a set that has no number yet. */
export function formatLabel(label: Omit<EntryLabel, 'deletes' | 'order'> & { deletes: number }): string {
  const { pid, seq, set, received, deletes } = label;
  return [pid, seq, set, received, deletes].join('.');
}
