/**
 * A piece of a shipment, as the engine has it: pages of a database and the size of its file after them, with
 * a sum, deflated. What comes back from the engine is checked before any of it is written.
 *
 *     u32 bytes of a page · u32 pages of the file · u32 pages here · u32 number of each · the pages · md5
 */
import { hash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { LccError, messageOf } from '../lib/errors.js';

/** Pages of a piece, at most. */
export const PIECE_PAGES = 256;
const MAX_PAGE_BYTES = 65_536;
const HEAD_BYTES = 12;
const SUM_BYTES = 16;
const MAX_BYTES = HEAD_BYTES + SUM_BYTES + PIECE_PAGES * (4 + MAX_PAGE_BYTES);
/** Pages compress well, and the engine's log is what is waited for. */
const LEVEL = 1;

export interface PagePiece {
  pageBytes: number;
  /** Size of the file after the commit it is of, in pages. */
  filePages: number;
  /** By number, from 1. */
  pages: ReadonlyMap<number, Buffer>;
}

/** @param piece of 1 to 256 pages */
export function encodePiece({ pageBytes, filePages, pages }: PagePiece): Buffer {
  const head = Buffer.alloc(HEAD_BYTES + 4 * pages.size);
  head.writeUInt32LE(pageBytes, 0);
  head.writeUInt32LE(filePages, 4);
  head.writeUInt32LE(pages.size, 8);
  [...pages.keys()].forEach((number, i) => head.writeUInt32LE(number, HEAD_BYTES + 4 * i));
  const body = Buffer.concat([head, ...pages.values()]);
  return deflateRawSync(Buffer.concat([body, md5Of(body)]), { level: LEVEL });
}

/** @param where named in the error @throws LccError `data.malformed` */
export function decodePiece(data: Buffer, where: string): PagePiece {
  const bytes = inflated(data, where);
  const body = bytes.subarray(0, -SUM_BYTES);
  if (bytes.length < HEAD_BYTES + SUM_BYTES || !md5Of(body).equals(bytes.subarray(-SUM_BYTES)))
    throw malformed(where, 'its sum is wrong');
  const pageBytes = body.readUInt32LE(0);
  const filePages = body.readUInt32LE(4);
  const count = body.readUInt32LE(8);
  if (count > PIECE_PAGES || body.length !== HEAD_BYTES + count * (4 + pageBytes))
    throw malformed(where, `${count} pages of ${pageBytes} bytes do not make ${body.length} bytes`);
  const pages = new Map<number, Buffer>();
  for (let i = 0; i < count; i++) {
    const at = HEAD_BYTES + 4 * count + i * pageBytes;
    pages.set(body.readUInt32LE(HEAD_BYTES + 4 * i), body.subarray(at, at + pageBytes));
  }
  return { pageBytes, filePages, pages };
}

function inflated(data: Buffer, where: string): Buffer {
  try {
    return inflateRawSync(data, { maxOutputLength: MAX_BYTES });
  } catch (error) {
    throw malformed(where, messageOf(error));
  }
}

const md5Of = (bytes: Buffer) => hash('md5', bytes, 'buffer');

function malformed(where: string, why: string): LccError {
  return new LccError('data.malformed', `${where}: damaged in the engine (${why})`);
}
