/** Streams of records with all that a record may have, the same for the same seed. */
import { createHash } from 'node:crypto';
import { SPIDER_REASONS, type SpiderReason } from '../../src/wire/spider-codes.js';
import { recordBytes } from './store-server.js';

const REASON_NAMES = Object.keys(SPIDER_REASONS) as SpiderReason[];

/** Numbers below a bound, one after the other, by a seed. */
export function dice(seed: string): (below: number) => number {
  let n = 0;
  return below => createHash('md5').update(`${seed} ${n++}`).digest().readUInt32BE(0) % below;
}

/** @param maxDocBytes of a document; some are empty */
export function randomRecord(roll: (below: number) => number, docId: number, maxDocBytes: number): Buffer {
  const text = (length: number) => Array.from({ length }, () => String.fromCharCode(roll(256))).join('');
  const size = roll(4) === 0 ? 0 : roll(maxDocBytes);
  const seed = roll(256);
  return recordBytes({
    docId,
    success: roll(2) === 0,
    reason: REASON_NAMES[roll(REASON_NAMES.length)] ?? 'ok',
    redirected: roll(2) === 0,
    cut: roll(2) === 0,
    http: roll(256),
    durationMs: roll(2) === 0 ? roll(1000) : 0xffff_ffff - roll(2),
    url: `${['http', 'HTTPS', 'x+y-z.9'][roll(3)]}:${text(roll(60))}`,
    newUrl: roll(2) === 0 ? '' : `ftp:${text(roll(60))}`,
    // Every value of a byte comes.
    doc: Uint8Array.from({ length: size }, (_, i) => (i * 7 + (i >> 8) + seed) & 0xff),
  });
}

export function randomStream(seed: string, count: number, maxDocBytes: number): Buffer {
  const roll = dice(seed);
  const id = () => (roll(10) === 0 ? 0xffff_ffff - roll(3) : roll(1000));
  return Buffer.concat(Array.from({ length: count }, () => randomRecord(roll, id(), maxDocBytes)));
}

/** The stream with a byte changed, or without its end. */
export function damaged(stream: Buffer, roll: (below: number) => number): Buffer {
  const copy = Buffer.from(stream);
  if (roll(3) === 0) return copy.subarray(0, roll(copy.length));
  const at = roll(copy.length);
  copy[at] = (copy[at] ?? 0) ^ (1 + roll(255));
  return copy;
}
