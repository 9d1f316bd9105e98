/**
 * The file of a database, in pieces, while others write to it. A process that has no connection of SQLite
 * reads it: when a descriptor of the file is closed, all locks of its process on it are gone (POSIX).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { LccError } from '../lib/errors.js';
import { PIECE_PAGES, type PagePiece } from './piece.js';

const BLOCK_BYTES = 1 << 20;
/** Where a database says how many bytes a page has; 1 stands for 65536. */
const PAGE_BYTES_AT = 16;
const SMALLEST_PAGE = 512;

/** @throws LccError `io` */
export async function* filePieces(path: string): AsyncGenerator<PagePiece> {
  const child = spawn('cat', [path], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close') as Promise<[status: number | null]>;
  // Waited for at the end only.
  ended.catch(() => undefined);
  let complaint = '';
  child.stderr.on('data', (text: Buffer) => (complaint = text.toString().slice(0, 200).trim()));
  try {
    let pageBytes = 0;
    let first = 1;
    for await (const block of inBlocks(child.stdout)) {
      if (first === 1) pageBytes = pageBytesOf(path, block);
      const filePages = Math.floor(statSync(path).size / pageBytes);
      for (let at = 0; at + pageBytes <= block.length;) {
        const pages = new Map<number, Buffer>();
        for (; pages.size < PIECE_PAGES && at + pageBytes <= block.length; at += pageBytes)
          pages.set(first++, block.subarray(at, at + pageBytes));
        yield { pageBytes, filePages, pages };
      }
    }
    const [status] = await ended;
    if (status !== 0) throw new LccError('io', `${path}: cannot be read (${complaint || `cat: ${status}`})`);
  } finally {
    child.kill('SIGKILL');
  }
}

async function* inBlocks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  let filled = 0;
  for await (const chunk of chunks)
    for (let at = 0; at < chunk.length;) {
      const taken = chunk.copy(block, filled, at);
      at += taken;
      filled += taken;
      if (filled < BLOCK_BYTES) continue;
      yield block;
      block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
      filled = 0;
    }
  if (filled > 0) yield block.subarray(0, filled);
}

function pageBytesOf(path: string, head: Buffer): number {
  if (head.length < SMALLEST_PAGE) throw new LccError('io', `${path}: not a database`);
  const bytes = head.readUInt16BE(PAGE_BYTES_AT);
  return bytes === 1 ? 1 << 16 : bytes;
}
