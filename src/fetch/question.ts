/** A request as it goes out. */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import type { BodyToSend, Method } from './job.js';

export interface Question {
  method: Method;
  path: string;
  /** Names in lower case and values by turns; not to be changed. */
  headers: string[];
  body: BodyToSend | undefined;
}

export function lengthOf(body: BodyToSend): number {
  return 'bytes' in body ? body.bytes.length : body.length;
}

/** @param failed gets the reason when the body to send cannot be read */
export function readable(body: BodyToSend, failed: (error: unknown) => void): Uint8Array | Readable {
  if ('bytes' in body) return body.bytes;
  if (body.length === 0) return new Uint8Array();
  // Never more than was said, whatever the file is by now; undici finds out that it is less.
  const stream = createReadStream(body.file, { end: body.length - 1 });
  return stream.on('error', failed);
}
