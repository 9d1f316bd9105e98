/** Few bytes that are decoded to very many. */
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const zeros = Buffer.alloc(256 * 1024 * 1024);
export const BOMB = gzipSync(zeros, { level: 1 });
/** Few enough bytes to be decoded in one go. */
export const SMALL_BOMB = gzipSync(zeros.subarray(0, 16 * 1024 * 1024));
export const BROTLI_BOMB = brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });

/** Blocks that each say `128 KB of zeros` in four bytes; the window is 8 MB unless another is asked for. */
export function zstdBomb(blocks: number, window = 0x68): Buffer {
  const block = (last: number) => Buffer.from([0x02 | last, 0, 0x10, 0]);
  const repeated = Buffer.concat(Array.from({ length: blocks - 1 }, () => block(0)));
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, window]), repeated, block(1)]);
}
