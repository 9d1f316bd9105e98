/** Where a change came from: a later reader of its content may find that it has been replaced. */
import { SETTINGS } from '../../config/settings/index.js';
import type { StoredContent } from '../stored-content.js';
import type { Change } from './types.js';

export interface ChangeOrigin {
  /** True if a row points to the file at this moment; true where that cannot be told any more. */
  isHeldNow(file: string): boolean;
  /** Content that is longer has no text. */
  maxTextBytes: number;
  /** Fetches the content of a change from the machine that has it. @throws LccError as `contentOf` */
  fetch?: (() => Promise<StoredContent>) | undefined;
}

const origins = new WeakMap<Change, ChangeOrigin>();

export function keepOrigin(change: Change, origin: ChangeOrigin): void {
  origins.set(change, origin);
}

/** Content of the change that is longer has no text: as the settings of its LCC say. */
export function maxTextBytesOf(change: Change): number {
  return origins.get(change)?.maxTextBytes ?? SETTINGS['cu.max_text_bytes'].default;
}

/** True if the change is known to be over: its url was replaced or deleted, which comes as another change. */
export function isOver(change: Change): boolean {
  return change.file !== null && origins.get(change)?.isHeldNow(change.file) === false;
}

/** The content of a change from another machine; undefined where there is none to ask. */
export function fetchedOf(change: Change): Promise<StoredContent> | undefined {
  return origins.get(change)?.fetch?.();
}
