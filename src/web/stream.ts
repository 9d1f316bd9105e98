/**
 * Answers that are made piece by piece, for as long as their reader takes them. No limit of time is on the
 * whole: a reader that takes nothing for a while is cut off, and so bounds what waits for it.
 */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { constants, createGzip, type Gzip } from 'node:zlib';
import type { Clock } from '../lib/clock.js';
import { LccError } from '../lib/errors.js';

/** Most bytes that wait for a reader, besides what the system holds. */
const SLICE_BYTES = 64 * 1024;
/** 48 KB for each reader, where zlib would take 270. */
const GZIP = { level: 5, windowBits: 13, memLevel: 5 };

export interface StreamAnswer {
  /** Content-Type. */
  type: string;
  headers?: OutgoingHttpHeaders;
  /** The body is compressed already. */
  isPacked?: true;
  /** An empty piece: all before it is to arrive now. Its errors cut the answer. */
  body: AsyncIterable<string | Uint8Array>;
}

interface StreamParts {
  clock: Clock;
  /** Time in which a reader takes 64 KB. */
  stallMs: number;
  counted: (bytes: number) => void;
}

/**
 * Sends an answer, of HEAD its headers. They are not sent before the first piece is there.
 * @throws LccError `peer.unavailable` where the reader has gone, `limit` where it took nothing; what the body
 *   throws: before its first piece nothing was sent
 */
export async function sendStream(
  request: IncomingMessage,
  response: ServerResponse,
  { type, headers = {}, isPacked, body }: StreamAnswer,
  parts: StreamParts,
): Promise<void> {
  const pieces = body[Symbol.asyncIterator]();
  try {
    const first = request.method === 'HEAD' ? undefined : await pieces.next();
    const zips = first !== undefined && isPacked !== true && takesGzip(request);
    const zip = zips ? createGzip(GZIP) : undefined;
    response.setHeader('content-type', type).appendHeader('vary', 'accept-encoding');
    if (zip !== undefined) response.setHeader('content-encoding', 'gzip');
    response.writeHead(200, headers);
    if (first === undefined) return void response.end();
    const reader = new Reader(response, zip, parts);
    for (let next = first; next.done !== true; next = await pieces.next()) await reader.take(next.value);
    reader.end();
  } catch (error) {
    if (response.headersSent) response.destroy();
    throw error;
  } finally {
    await pieces.return?.();
  }
}

class Reader {
  readonly #response: ServerResponse;
  readonly #zip: Gzip | undefined;
  readonly #parts: StreamParts;
  #lost: ((error: LccError) => void) | undefined;

  constructor(response: ServerResponse, zip: Gzip | undefined, parts: StreamParts) {
    this.#response = response;
    this.#zip = zip;
    this.#parts = parts;
    response.flushHeaders();
    zip?.on('error', () => response.destroy());
    zip?.pipe(response);
    response.once('close', () => {
      zip?.destroy();
      this.#lost?.(gone());
    });
  }

  async take(piece: string | Uint8Array): Promise<void> {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    if (bytes.length === 0) return this.#flush();
    this.#parts.counted(bytes.length);
    const out = this.#zip ?? this.#response;
    for (let at = 0; at < bytes.length; at += SLICE_BYTES)
      await this.#within(done => void out.write(bytes.subarray(at, at + SLICE_BYTES), done));
  }

  async #flush(): Promise<void> {
    const zip = this.#zip;
    if (zip !== undefined) await this.#within(done => zip.flush(constants.Z_SYNC_FLUSH, done));
  }

  end(): void {
    (this.#zip ?? this.#response).end();
    // The rest is bounded: a reader that does not take it loses its connection.
    const cancel = this.#parts.clock.after(this.#parts.stallMs, () => this.#response.destroy());
    this.#response.once('close', cancel);
  }

  #within(write: (done: (error?: Error | null) => void) => void): Promise<void> {
    const { clock, stallMs } = this.#parts;
    const response = this.#response;
    return new Promise<void>((resolve, reject) => {
      const cancel = clock.after(stallMs, () => {
        this.#lost?.(new LccError('limit', 'takes nothing'));
        response.destroy();
      });
      this.#lost = error => {
        this.#lost = undefined;
        cancel();
        reject(error);
      };
      if (response.closed || response.destroyed) return this.#lost(gone());
      write(error => {
        if (error !== undefined && error !== null) return this.#lost?.(gone());
        cancel();
        resolve();
      });
    });
  }
}

function gone(): LccError {
  return new LccError('peer.unavailable', 'the client has gone');
}

/** `gzip;q=0` refuses it; a star is not taken for it. */
function takesGzip({ headers }: IncomingMessage): boolean {
  return [headers['accept-encoding'] ?? []].flat().some(value =>
    value.split(',').some(each => {
      const [name = '', ...parameters] = each
        .trim()
        .toLowerCase()
        .split(/\s*;\s*/);
      return name === 'gzip' && !parameters.some(parameter => /^q=0(?:\.0*)?$/.test(parameter));
    }),
  );
}
