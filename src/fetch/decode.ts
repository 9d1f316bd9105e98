/** Content codings: one of gzip, br and, where Node can, zstd, decoded as it comes, hardly ahead of what is
 * asked for. */
import type { Transform } from 'node:stream';
import { brotliDecompressSync, createBrotliDecompress, createGunzip, gunzipSync } from 'node:zlib';
import { errnoOf } from '../lib/errors.js';
import { createZstdDecoder, decodesZstd } from './zstd.js';

/** The value of Accept-Encoding. */
export function acceptEncoding(): string {
  return decodesZstd() ? 'gzip, br, zstd' : 'gzip, br';
}

export type Coded = 'gzip' | 'br' | 'zstd';
export type Coding = 'identity' | Coded;

/** Codings that are some, and are not decoded here: registered ones (RFC 9110, 16.6), and others that were in
 * use. */
const FOREIGN = new Set(
  'aes128gcm bzip2 compress dcb dcz deflate exi lzma pack200-gzip sdch x-bzip2 x-compress xz'.split(' '),
);

/**
 * The coding a Content-Encoding header names; undefined for one that was not asked for, and for several. What
 * is no coding at all, a charset or `none` say, is passed over, as browsers do.
 * @param header in lower case
 */
export function codingOf(header: string | undefined, asked: 'all' | 'gzip' = 'all'): Coding | undefined {
  if (header === undefined) return 'identity';
  const codings = header.split(',').map(token => namedBy(token.trim()));
  const [coding = 'identity', ...more] = codings.filter(each => each !== 'identity');
  if (more.length > 0 || coding === 'foreign') return undefined;
  return asked === 'all' || coding === 'gzip' || coding === 'identity' ? coding : undefined;
}

function namedBy(token: string): Coding | 'foreign' {
  switch (token) {
    case 'gzip':
    case 'x-gzip':
      return 'gzip';
    case 'br':
      return 'br';
    case 'zstd':
      return decodesZstd() ? 'zstd' : 'foreign';
    default:
      return FOREIGN.has(token) ? 'foreign' : 'identity';
  }
}

/** Coded bodies up to this size are decoded in one go at their end; a decoder stream costs more than a small
 * page. */
export const ONE_GO_BYTES = 64 * 1024;
/** Bytes that one go may produce: keeps a bomb from holding up everything else while it inflates. */
const ONE_GO_DECODED_BYTES = 1024 * 1024;

/**
 * Decodes a whole small body; undefined when it must be streamed: it holds more than one go may produce, or
 * is zstd.
 * @throws zlib's error for a malformed or cut body
 */
export function decodeInOneGo(coding: Coded, body: Uint8Array): Buffer | undefined {
  if (coding === 'zstd') return undefined;
  const options = { maxOutputLength: ONE_GO_DECODED_BYTES };
  try {
    return coding === 'gzip' ? gunzipSync(body, options) : brotliDecompressSync(body, options);
  } catch (error) {
    if (errnoOf(error) === 'ERR_BUFFER_TOO_LARGE') return undefined;
    throw error;
  }
}

interface DecoderEvents {
  data(chunk: Buffer): void;
  end(): void;
  /** There is room again after `write` returned false. */
  drain(): void;
  error(error: Error): void;
}

/** A decoder stream. After `error`, `end` or `destroy` there are no further events. */
export class Decoder {
  readonly #stream: Transform & { readonly bytesWritten?: number };
  readonly #coding: Coded;
  #written = 0;
  #dead = false;

  constructor(coding: Coded, events: DecoderEvents) {
    this.#coding = coding;
    this.#stream = createDecoder(coding, 64 * 1024);
    this.#stream
      .on('data', (chunk: Buffer) => void (this.#dead || events.data(chunk)))
      .on('drain', () => void (this.#dead || events.drain()))
      .on('end', () => {
        if (!this.#die()) return;
        if (this.#isWhole) events.end();
        else events.error(new Error('more follows the first frame'));
      })
      // The listener stays for good: an error event nobody listens to ends the process.
      .on('error', error => void (this.#die() && events.error(error)));
  }

  /** Returns false when the caller should wait for `drain`. */
  write(chunk: Uint8Array): boolean {
    this.#written += chunk.length;
    return this.#dead || this.#stream.write(chunk);
  }

  end(): void {
    if (!this.#dead) this.#stream.end();
  }

  destroy(): void {
    this.#dead = true;
    this.#stream.destroy();
  }

  /** Node drops what follows the end of a zstd frame, also when it is another frame. */
  get #isWhole(): boolean {
    return this.#coding !== 'zstd' || this.#stream.bytesWritten === this.#written;
  }

  #die(): boolean {
    const alive = !this.#dead;
    this.#dead = true;
    return alive;
  }
}

function createDecoder(coding: Coded, chunkSize: number): Transform {
  switch (coding) {
    case 'gzip':
      return createGunzip({ chunkSize });
    case 'br':
      return createBrotliDecompress({ chunkSize });
    case 'zstd':
      return createZstdDecoder(chunkSize);
  }
}
