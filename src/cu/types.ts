/** A query and the place of its answer. */
import type { Selection } from '../db/cache/read.js';
import type { ConsumerCall } from './consumer.js';
import type { CursorPlace } from './cursor.js';
import type { PeersOptions } from './peers/contents.js';
import type { RemoteOptions } from './remote/link.js';
import type { WhenShipped } from '../daemon/when-shipped.js';
import type { Asked, Format } from './formats/types.js';

export interface Query extends Asked {
  selection: Selection;
  /** Where the sequence was when its reader began with everything: deletions up to there may be forgotten. */
  began?: number | undefined;
  format: Format;
  /** At most that many records. */
  limit?: number | undefined;
}

/** One query, and who takes the answer. */
export interface Delivery {
  dbPath: string;
  /** Machine whose content is local. */
  machineId: string;
  query: Omit<Query, 'selection'> & { selection: Omit<Selection, 'sinceSeq'> };
  /** The lccd-cu that is asked, in place of the database here. */
  from?: RemoteOptions | undefined;
  /** Content of other machines; `skipsAway`: rows of one that does not answer are left out. */
  peers?: (PeersOptions & { skipsAway: boolean }) | undefined;
  /** Cursor file of the consumer. */
  cursor?: string | undefined;
  /** With a cursor in a kept home. */
  shipped?: WhenShipped | undefined;
  /** The program to pipe into; undefined: standard output. */
  consumer?: ConsumerCall | undefined;
  /** True if the answer goes on with every change. */
  follows: boolean;
  /** The program stays and answers each stream, instead of being run for each. */
  stays?: boolean | undefined;
  /** Records of one run of the consumer at most; the cursor moves on after each. */
  batch?: number | undefined;
  /** Only how many records there would be; nothing moves. */
  count: boolean;
  /** The script for the second thread of a long answer; undefined: one thread makes it. */
  split?: { script: string; formatName: string } | undefined;
}

/** One whose cursor, where it has one, is known to be good for its selection. */
export type PlacedDelivery = Delivery & { place: CursorPlace | undefined };
