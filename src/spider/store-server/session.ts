/**
 * One spider's connection: records come in, acknowledgements go out in the same order.
 *
 *     reading ──its end──▶ settling ──all kept──▶ over
 *        │ ╰──damaged, silent, told to stop──▶ settling
 *        ╰──broken──▶ over: what is whole is kept all the same
 */
import type { Connection } from '../../daemon/types.js';
import type { Clock } from '../../lib/clock.js';
import { Conversation } from '../../lib/conversation.js';
import { LccError, messageOf } from '../../lib/errors.js';
import type { FairShare, PeerReading } from '../../lib/fair-share.js';
import type { Log } from '../../lib/log.js';
import { BadRecord, RecordReader, STORE_HELLO, type RecordPart } from '../../wire/spider-record.js';
import { IncomingRecord, type ReceivedRecord } from './received-record.js';
import { isFull } from './group-writer.js';
import type { PendingRecords } from './pending-records.js';
import type { StoredOptions } from './options.js';
import type { RecordFiles } from './record-files.js';

/** Bytes that a spider may still send after we have stopped reading. */
const PARTING_BYTES = 128 * 1024;
const PARTING_MS = 2000;

export type StoreCount =
  | 'records_received'
  | 'bytes_received'
  | 'records_kept'
  | 'acks_dropped'
  | 'streams_damaged'
  | 'records_cut'
  | 'records_lost';

interface StoreSessionParts {
  options: StoredOptions;
  clock: Clock;
  log: Log;
  files: RecordFiles;
  pending: PendingRecords;
  share: FairShare;
  counted: (what: StoreCount, by: number) => void;
  /** Called when the process must end. */
  fail: (error: unknown) => void;
}

export class StoreSession {
  readonly #parts: StoreSessionParts;
  readonly #connection: Connection;
  readonly #talk: Conversation;
  readonly #reading: PeerReading;
  readonly #reader: RecordReader;
  #record: IncomingRecord | undefined;
  /** Whole records. */
  #received = 0;
  /** Those that are not kept yet. */
  #outstanding = 0;
  /** Ids to be acknowledged with the next write. */
  #acks: number[] = [];

  constructor(parts: StoreSessionParts, connection: Connection) {
    const { options, share, clock } = parts;
    this.#parts = parts;
    this.#connection = connection;
    this.#talk = new Conversation(connection.socket, connection.peer, clock);
    this.#reading = share.join();
    this.#reader = new RecordReader(options.session.maxDocBytes, options.session.maxDocText);
  }

  /** Takes all there is; never rejects but for a bug. */
  async run(): Promise<void> {
    const { log } = this.#parts;
    const { peer, socket } = this.#connection;
    log.info('spider connected', { peer });
    socket.write(STORE_HELLO);
    try {
      await this.#read();
      this.#reader.end();
    } catch (error) {
      this.#explain(error);
    }
    this.#record?.discard();
    this.#record = undefined;
    await this.#settle();
    log.info('spider gone', { peer, records: this.#received });
  }

  /** Ends reading: what is whole is kept and acknowledged, what has begun is dropped. */
  stop(): void {
    this.#talk.interrupt(new LccError('try.later', 'the store server stops'));
  }

  /** There may be room again. */
  stir(): void {
    this.#talk.stir();
  }

  async #read(): Promise<void> {
    const { pending, options } = this.#parts;
    const { stallTimeoutMs, stallText } = options.session;
    for await (const chunk of this.#talk.slices(this.#reading)) {
      this.#talk.unlimited();
      for (const part of this.#reader.read(chunk)) {
        const wait = this.#meet(part);
        if (wait !== undefined) await wait;
      }
      if (!pending.hasRoom) await this.#talk.until(() => pending.hasRoom);
      if (this.#reader.isInside)
        this.#talk.limit(
          stallTimeoutMs,
          () => new LccError('limit', `silent inside of a record: the limit is ${stallText}`),
        );
    }
  }

  /** A promise only where there is something to wait for: most records come and go without. */
  #meet(part: RecordPart): Promise<void> | undefined {
    const { files, options } = this.#parts;
    switch (part.kind) {
      case 'head':
        this.#record = new IncomingRecord(part.record, part.bytes, files, options.isCompressed);
        return undefined;
      case 'body':
        return this.#record?.write(part.bytes);
      case 'end':
        return this.#end();
    }
  }

  #end(): Promise<void> | undefined {
    // A peer that sends a whole record is a spider.
    this.#reading.known();
    const record = this.#record;
    if (record === undefined) throw new Error('a record that has not begun ends');
    const whole = record.finish();
    if (whole instanceof Promise) return whole.then(each => this.#add(each));
    this.#add(whole);
    return undefined;
  }

  #add(whole: Omit<ReceivedRecord, 'kept' | 'lost'>): void {
    const { pending, counted } = this.#parts;
    this.#record = undefined;
    this.#received++;
    this.#outstanding++;
    counted('records_received', 1);
    counted('bytes_received', whole.bytes);
    pending.add({
      ...whole,
      kept: () => this.#kept(whole.last.docId),
      lost: error => this.#lost(error),
    });
  }

  #kept(docId: number): void {
    this.#outstanding--;
    this.#parts.counted('records_kept', 1);
    if (this.#acks.push(docId) === 1) process.nextTick(() => this.#acknowledge());
    if (this.#outstanding === 0) this.#talk.stir();
  }

  #acknowledge(): void {
    const { socket } = this.#connection;
    const ids = this.#acks;
    this.#acks = [];
    if (!socket.writable) return;
    if (socket.writableLength > this.#parts.options.session.maxAckBytes)
      return this.#parts.counted('acks_dropped', ids.length);
    const bytes = Buffer.allocUnsafe(4 * ids.length);
    for (const [n, id] of ids.entries()) bytes.writeUInt32BE(id, 4 * n);
    socket.write(bytes);
  }

  /** Nothing after it may be acknowledged: a spider counts them. */
  #lost(error: unknown): void {
    this.#outstanding--;
    this.#parts.counted('records_lost', 1);
    this.#parts.log.error('record given back to its spider', {
      peer: this.#connection.peer,
      reason: messageOf(error),
    });
    this.#connection.socket.destroy();
    this.#talk.stir();
  }

  #explain(error: unknown): void {
    const { log, counted, fail } = this.#parts;
    const { peer } = this.#connection;
    if (this.#reader.isInside) counted('records_cut', 1);
    if (error instanceof BadRecord && error.code === 'data.cut') {
      log.info('connection ended inside of a record', { peer, offset: error.offset });
    } else if (error instanceof BadRecord) {
      counted('streams_damaged', 1);
      log.warn('stream damaged, connection closed', { peer, offset: error.offset, reason: error.message });
    } else if (isFull(error)) {
      counted('records_lost', 1);
      log.error('disk full, connection closed; free some space', { peer, reason: messageOf(error) });
    } else if (error instanceof LccError && error.code === 'limit') {
      log.warn('connection closed', { peer, offset: this.#reader.offset, reason: error.message });
    } else if (error instanceof LccError) {
      log.debug('connection over', { peer, reason: error.message });
    } else {
      fail(error);
    }
  }

  /** Waits until all that is whole is kept and, where it can be, acknowledged. */
  async #settle(): Promise<void> {
    this.#talk.unlimited();
    this.#talk.calm();
    try {
      await this.#talk.until(() => this.#outstanding === 0);
    } catch {
      return this.#talk.destroy();
    }
    this.#acknowledge();
    await this.#talk.part(PARTING_MS, { reading: this.#reading, maxBytes: PARTING_BYTES });
  }
}
