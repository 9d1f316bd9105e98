/** Coded content that is broken, or a bomb. */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { decodesZstd } from '../../../src/fetch/zstd.js';
import { drip } from '../support.js';
import { BOMB, BROTLI_BOMB, SMALL_BOMB, zstdBomb } from './bombs.js';
import { CHUNKED, head, noise, say, type HostileCase } from './saying.js';

const coded = (coding: string, body: Buffer) =>
  say(
    Buffer.concat([Buffer.from(head(`Content-Encoding: ${coding}`, `Content-Length: ${body.length}`)), body]),
    false,
  );

export const CODINGS: HostileCase[] = [
  { name: 'a gzip bomb of 256 MiB', serve: coded('gzip', BOMB), expect: 606 },
  { name: 'a small gzip bomb', serve: coded('gzip', SMALL_BOMB), expect: 606 },
  { name: 'a brotli bomb', serve: coded('br', BROTLI_BOMB), expect: 606 },
  { name: 'a double gzip bomb', serve: coded('gzip, gzip', gzipSync(BOMB)), expect: 611 },
  {
    name: 'a double gzip bomb in two headers',
    serve: coded('gzip\r\nContent-Encoding: gzip', gzipSync(BOMB)),
    expect: 611,
  },
  {
    name: 'corrupt gzip',
    serve: coded('gzip', Buffer.concat([gzipSync('a'.repeat(999)).subarray(0, 12), Buffer.alloc(40, 7)])),
    expect: 611,
  },
  { name: 'a wrong gzip checksum', serve: coded('gzip', flipped(gzipSync('content'))), expect: 611 },
  { name: 'cut gzip', serve: coded('gzip', gzipSync('a'.repeat(999)).subarray(0, 20)), expect: 611 },
  {
    name: 'cut gzip, large',
    serve: coded('gzip', gzipSync(noise(300_000)).subarray(0, 200_000)),
    expect: 611,
  },
  {
    name: 'cut brotli',
    serve: coded('br', brotliCompressSync('a'.repeat(999)).subarray(0, -3)),
    expect: 611,
  },
  {
    name: 'cut brotli, large',
    serve: coded('br', brotliCompressSync(noise(300_000)).subarray(0, 200_000)),
    expect: 611,
  },
  { name: 'not gzip at all', serve: coded('gzip', Buffer.from('plain text')), expect: 611 },
  { name: 'not brotli at all', serve: coded('br', Buffer.from('plain text')), expect: 611 },
  {
    name: 'garbage behind gzip',
    serve: coded('gzip', Buffer.concat([gzipSync('content'), Buffer.from('garbage')])),
    expect: 611,
  },
  {
    name: 'much garbage behind gzip',
    serve: coded('gzip', Buffer.concat([gzipSync('content'), noise(300_000)])),
    expect: 611,
  },
  {
    name: 'padding behind gzip',
    serve: coded('gzip', Buffer.concat([gzipSync('content'), Buffer.alloc(300_000)])),
    expect: 'ok',
  },
  {
    name: 'padding behind gzip that never ends',
    serve: socket => {
      socket.write(
        Buffer.concat([Buffer.from(head('Content-Encoding: gzip', CHUNKED)), Buffer.from('14\r\n')]),
      );
      socket.write(gzipSync(''));
      drip(socket, '\r\n1\r\n\0');
    },
    expect: 603,
  },
  { name: 'deflate, unasked', serve: coded('deflate', Buffer.from('x')), expect: 611 },
  { name: 'a zstd bomb', serve: coded('zstd', zstdBomb(4000)), expect: decodesZstd() ? 606 : 611 },
  { name: 'cut zstd', serve: coded('zstd', zstdBomb(2).subarray(0, -1)), expect: 611 },
  { name: 'zstd that wants 2 GB at once', serve: coded('zstd', zstdBomb(2, 0xa8)), expect: 611 },
  {
    name: 'a second frame of zstd, which Node would leave out',
    serve: coded('zstd', Buffer.from('28b52ffd200109000061'.repeat(2), 'hex')),
    expect: 611,
  },
  { name: 'not zstd at all', serve: coded('zstd', Buffer.from('plain text')), expect: 611 },
  { name: 'gzip in zstd', serve: coded('gzip, zstd', zstdBomb(2)), expect: 611 },
];

function flipped(coded: Buffer): Buffer {
  const at = coded.length - 6;
  coded.writeUInt8(coded.readUInt8(at) ^ 0xff, at);
  return coded;
}
