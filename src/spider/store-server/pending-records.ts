/**
 * Keeps records: those that come at about the same time together, in the order in which they came, and
 * acknowledges them when they are on disk (group-writer.ts).
 *
 *     resting ──a record──▶ gathering ──rest over, or much has come──▶ keeping ──▶ resting, or gathering
 *                                                     │  ▲
 *                                        the disk is full ╰─ tried again, and spiders wait
 *
 * After any other failure of the disk the process ends: what has been synced then is not known.
 */
import type { Clock } from '../../lib/clock.js';
import { messageOf } from '../../lib/errors.js';
import { Fifo } from '../../lib/fifo.js';
import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import type { Content, ReceivedRecord } from './received-record.js';
import { changesOf, type Item } from './what-counts.js';
import { GroupWriter, isFull, type GroupParts } from './group-writer.js';
import { hash } from 'node:crypto';
import { Md5Lanes } from '../../lib/md5-lanes.js';

/** Bounds of a group: bytes at which nothing more is added, and rows of its commit. */
const GROUP_BYTES = 16 * 1024 * 1024;
const GROUP_RECORDS = 4096;
/** Bytes that wait and are worth a round of syncs at once. */
const WORTH_BYTES = 1024 * 1024;
/** Bytes that a record takes in memory besides its own. */
const RECORD_BYTES = 1024;
/** Between two tries on a disk that is full. */
const RETRY_MS = 500;

interface PendingParts extends GroupParts {
  clock: Clock;
  log: Log;
  /** The longest that records wait for others, so that fewer syncs are made. */
  waitMs: number;
  /** Bytes that have come and are not kept beyond which no more are taken. */
  maxPendingBytes: number;
  /** Called after every group: there may be room again. */
  relieved: () => void;
  /** Rows were committed. */
  committed: () => void;
  /** Called when the process must end. */
  fail: (error: unknown) => void;
}

export class PendingRecords {
  readonly #parts: PendingParts;
  readonly #writer: GroupWriter;
  readonly #checksums = new Checksums();
  readonly #waiting = new Fifo<Item>();
  #waitingBytes = 0;
  #state: 'resting' | 'gathering' | 'keeping' = 'resting';
  #pendingBytes = 0;
  #pendingRecords = 0;
  #restUntilMs = -Infinity;
  /** While it gathers and rests. */
  #endRest: (() => void) | undefined;
  #trouble: string | undefined;
  #isStopping = false;
  #whenStirred: (() => void)[] = [];
  /** Since the start: files made, and rows written. */
  readonly counts = { files: 0, rows: 0 };

  constructor(parts: PendingParts) {
    this.#parts = parts;
    this.#writer = new GroupWriter(parts);
  }

  get bytes(): number {
    return this.#pendingBytes;
  }

  get records(): number {
    return this.#pendingRecords;
  }

  get hasRoom(): boolean {
    return this.#pendingBytes < this.#parts.maxPendingBytes;
  }

  /** Why nothing can be written now. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  add(item: Item): void {
    this.#pendingBytes += item.bytes + RECORD_BYTES;
    this.#pendingRecords++;
    this.#waiting.push(item);
    this.#waitingBytes += item.bytes;
    this.#gather();
  }

  /** Resolves when all that was added is kept, or cannot be now. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    while (this.#pendingRecords > 0 && this.#trouble === undefined)
      await new Promise<void>(resolve => void this.#whenStirred.push(resolve));
  }

  #gather(): void {
    if (this.#state === 'keeping' || this.#waiting.length === 0) return;
    const { clock } = this.#parts;
    const restMs = this.#waitingBytes >= WORTH_BYTES ? 0 : this.#restUntilMs - clock.monotonicMs();
    if (restMs <= 0) this.#begin();
    else if (this.#state === 'resting') {
      this.#state = 'gathering';
      this.#endRest = clock.after(restMs, () => this.#begin());
    }
  }

  /** Records of the same turn of the event loop are kept together. */
  #begin(): void {
    this.#endRest?.();
    this.#endRest = undefined;
    this.#state = 'keeping';
    setImmediate(() => void this.#work());
  }

  async #work(): Promise<void> {
    const { clock, waitMs, fail, relieved } = this.#parts;
    const startedMs = clock.monotonicMs();
    try {
      await this.#keep(this.#nextGroup());
    } catch (error) {
      fail(error);
      return;
    }
    const endedMs = clock.monotonicMs();
    // Commits take half of the time at most, and nobody waits for long because of that.
    this.#restUntilMs = endedMs + (this.#isStopping ? 0 : Math.min(waitMs, endedMs - startedMs));
    this.#state = 'resting';
    relieved();
    this.#stir();
    this.#gather();
  }

  #nextGroup(): Item[] {
    const group: Item[] = [];
    for (let bytes = 0; group.length < GROUP_RECORDS && bytes < GROUP_BYTES;) {
      const item = this.#waiting.shift();
      if (item === undefined) break;
      group.push(item);
      bytes += item.bytes;
      this.#waitingBytes -= item.bytes;
    }
    return group;
  }

  async #keep(group: readonly Item[]): Promise<void> {
    const { db, clock } = this.#parts;
    let items = group;
    this.#checksums.fill(group);
    for (;;) {
      const find = (docId: number) => db.documents.get(docId);
      const { changes, needless } = db.read(() => changesOf(items, find, clock.nowMs()));
      try {
        if (changes.length > 0) {
          this.counts.files += await this.#writer.keep(changes);
          this.#parts.committed();
        }
        this.counts.rows += changes.length;
        for (const content of needless) this.#discard(content);
        break;
      } catch (error) {
        if (!isFull(error)) throw error;
        items = this.#withoutLost(items, error);
        await this.#rest(error);
      }
    }
    this.#recover();
    this.#leave(items);
    for (const item of items) if (item.kind === 'received') item.kept();
    if (items.length > 0) step('stored.acknowledged');
  }

  #leave(items: readonly Item[]): void {
    this.#pendingRecords -= items.length;
    for (const { bytes } of items) this.#pendingBytes -= bytes + RECORD_BYTES;
  }

  /** Without long records of which the disk may have dropped parts: their spiders send them again. */
  #withoutLost(items: readonly Item[], error: unknown): Item[] {
    const isLost = ({ content }: Item) => content.kind === 'long' && content.draft.isLost;
    const lost = items.filter(isLost);
    this.#leave(lost);
    for (const item of lost) {
      this.#discard(item.content);
      if (item.kind === 'received') item.lost(error);
    }
    return items.filter(item => !isLost(item));
  }

  #discard(content: Content): void {
    if (content.kind === 'long') this.#parts.files.discard(content.draft);
  }

  /** Waits, for somebody to make room. */
  #rest(error: unknown): Promise<void> {
    if (this.#trouble === undefined)
      this.#parts.log.error('disk full, records wait; free some space', { reason: messageOf(error) });
    this.#trouble = messageOf(error);
    this.#stir();
    return new Promise(resolve => void this.#parts.clock.after(RETRY_MS, resolve));
  }

  #recover(): void {
    if (this.#trouble !== undefined) this.#parts.log.info('disk has room again, records are kept');
    this.#trouble = undefined;
  }

  #stir(): void {
    const waiting = this.#whenStirred;
    this.#whenStirred = [];
    for (const go of waiting) go();
  }
}

/** Fewer are hashed one by one. */
const FEW = 4;

/**
 * md5 of the documents of a group: of several at a time where there are several, which takes a fifth of the
 * time of one after the other.
 */
class Checksums {
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
