/** Where a change came from: a later reader of its content may find that it has been replaced. */
import type { Change } from './types.js';

export interface ChangeOrigin {
  /** Whether a row points to the file at this moment; true where that cannot be told any more. */
  isHeldNow(file: string): boolean;
}

const origins = new WeakMap<Change, ChangeOrigin>();

export function keepOrigin(change: Change, origin: ChangeOrigin): void {
  origins.set(change, origin);
}

/** Whether the change is known to be over: its url was replaced or deleted, which comes as another change. */
export function isOver(change: Change): boolean {
  return change.file !== null && origins.get(change)?.isHeldNow(change.file) === false;
}
