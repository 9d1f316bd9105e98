/**
 * A record on its way into the store. A short one is held in memory until others come along with it into one
 * file; a long one has a file of its own, and goes there as it comes.
 *
 *     coming ──end of the record──▶ whole ──PendingRecords──▶ kept: acknowledged
 *       ╰── discard: the connection is over, or the disk is full
 */
import { createHash, type Hash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { writeAll } from '../../lib/durable.js';
import { reasonByte } from '../../wire/spider-codes.js';
import { urlText, type SpiderRecord } from '../../wire/spider-record.js';
import type { LastRecord } from '../../db/spider/documents.js';
import type { Draft, RecordFiles } from './record-files.js';

/** Longer documents have a file of their own. */
const SHORT_BYTES = 256 * 1024;

export const compressed = promisify(gzip);

/** Where a record is until it is kept. */
export type Content =
  /** In memory, as it is in the stream. */
  | { kind: 'short'; pieces: Buffer[] }
  /** In a file of its own, as it will stay. */
  | { kind: 'long'; draft: Draft; storedBytes: number };

/** A whole record. */
export interface ReceivedRecord {
  kind: 'received';
  last: Omit<LastRecord, 'atMs'>;
  docBytes: number;
  /** The md5 of the document; '' of a short one until its group is kept. */
  md5: string;
  content: Content;
  /** As received. */
  bytes: number;
  /** Called when it is on disk, or not needed there. */
  kept(): void;
  /** Called when it is lost: the disk was full. */
  lost(error: unknown): void;
}

export class IncomingRecord {
  readonly #record: SpiderRecord;
  readonly #head: Buffer;
  readonly #files: RecordFiles;
  readonly #isCompressed: boolean;
  /** Document of a short record. */
  #doc: Buffer | undefined;
  #filled = 0;
  /** Hash of a long record. */
  #hash: Hash | undefined;
  #draft: Draft | undefined;
  #storedBytes = 0;
  /** Bytes that are compressed next, as gzip(1) has several members in one file. */
  #slice: Buffer[] = [];
  #sliceBytes = 0;

  constructor(record: SpiderRecord, head: Buffer, files: RecordFiles, isCompressed: boolean) {
    this.#record = record;
    this.#head = head;
    this.#files = files;
    this.#isCompressed = isCompressed;
  }

  /**
   * The next bytes of the document, which nobody may change any more.
   * @returns a promise where it is compressed on its way to a file
   * @throws system errors of the disk
   */
  write(bytes: Buffer): Promise<void> | undefined {
    const { docBytes } = this.#record;
    if (docBytes > SHORT_BYTES) return this.#writeLong(bytes);
    this.#writeShort(bytes, docBytes);
    return undefined;
  }

  #writeShort(bytes: Buffer, docBytes: number): void {
    if (this.#doc === undefined && bytes.length === docBytes) {
      this.#doc = bytes;
      return;
    }
    // One that comes in small pieces has one place all the same.
    this.#doc ??= Buffer.allocUnsafeSlow(docBytes);
    this.#filled += bytes.copy(this.#doc, this.#filled);
  }

  #writeLong(bytes: Buffer): Promise<void> | undefined {
    this.#hash ??= createHash('md5');
    this.#hash.update(bytes);
    if (this.#draft === undefined) {
      this.#draft = this.#files.begin();
      if (this.#isCompressed) this.#slice.push(this.#head);
      else this.#append(this.#head);
    }
    if (!this.#isCompressed) {
      this.#append(bytes);
      return undefined;
    }
    this.#slice.push(bytes);
    this.#sliceBytes += bytes.length;
    return this.#sliceBytes < SHORT_BYTES ? undefined : this.#storeSlice();
  }

  async #storeSlice(): Promise<void> {
    const slice = Buffer.concat(this.#slice);
    this.#slice = [];
    this.#sliceBytes = 0;
    this.#append(await compressed(slice));
  }

  #append(bytes: Buffer): void {
    if (this.#draft?.fd === undefined) throw new Error('a record that was discarded goes on');
    writeAll(this.#draft.fd, bytes);
    this.#storedBytes += bytes.length;
  }

  /** All of it is there. @returns and throws as `write` */
  finish(): Omit<ReceivedRecord, 'kept' | 'lost'> | Promise<Omit<ReceivedRecord, 'kept' | 'lost'>> {
    return this.#sliceBytes === 0 ? this.#whole() : this.#storeSlice().then(() => this.#whole());
  }

  #whole(): Omit<ReceivedRecord, 'kept' | 'lost'> {
    const { docBytes } = this.#record;
    const doc = this.#doc;
    return {
      kind: 'received',
      last: lastOf(this.#record),
      docBytes,
      md5: this.#hash?.digest('hex') ?? '',
      content:
        this.#draft === undefined
          ? { kind: 'short', pieces: doc === undefined ? [this.#head] : [this.#head, doc] }
          : { kind: 'long', draft: this.#draft, storedBytes: this.#storedBytes },
      bytes: this.#head.length + docBytes,
    };
  }

  /** Removes what was written of it. */
  discard(): void {
    if (this.#draft !== undefined) this.#files.discard(this.#draft);
    this.#draft = undefined;
  }
}

/** The outcome that a record says, as its row has it. */
export function lastOf(record: SpiderRecord): ReceivedRecord['last'] {
  const { docId, url, newUrl, success, http, durationMs } = record;
  return {
    docId,
    url: urlText(url),
    newUrl: urlText(newUrl),
    success: success ? 1 : 0,
    reason: reasonByte(record),
    http,
    durationMs,
  };
}
