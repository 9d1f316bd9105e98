/** md5 of the documents of a group: of several at a time where there are several, which takes a fifth of the
 * time of one after the other. */
import { hash } from 'node:crypto';
import { Md5Lanes } from '../../lib/md5-lanes.js';
import type { Item } from './what-counts.js';
import type { ReceivedRecord } from './received-record.js';

/** Fewer are hashed one by one. */
const FEW = 4;

export class Checksums {
  readonly #lanes = Md5Lanes.start();

  /** Gives all that have none their md5. */
  fill(items: readonly Item[]): void {
    const lanes = this.#lanes;
    const missing = items.filter(item => item.kind === 'received' && item.md5 === '') as ReceivedRecord[];
    if (lanes === undefined || missing.length < FEW) {
      for (const record of missing) record.md5 = hash('md5', documentOf(record), 'hex');
      return;
    }
    let begun: ReceivedRecord[] = [];
    const finish = () => {
      for (const [n, md5] of lanes.digests().entries()) {
        const record = begun[n];
        if (record !== undefined) record.md5 = md5;
      }
      begun = [];
    };
    for (const record of missing) {
      if (!lanes.hasRoom(record.docBytes)) finish();
      documentOf(record).copy(lanes.memory, lanes.at);
      lanes.add(record.docBytes);
      begun.push(record);
    }
    finish();
  }
}

const NOTHING = Buffer.alloc(0);

function documentOf({ content }: ReceivedRecord): Buffer {
  return content.kind === 'short' ? (content.pieces[1] ?? NOTHING) : NOTHING;
}
