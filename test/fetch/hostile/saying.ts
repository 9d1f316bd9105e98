/** What servers that do everything wrong are made of. */
import type { ErrorReach } from '../../../src/wire/fetch.js';
import type { Behaviour } from '../support.js';

export interface HostileCase {
  name: string;
  serve: Behaviour;
  /** `ok`, `unchanged`, or the code of the error. */
  expect: string | number;
  /** Comes as well: who is first, the server or the client, is not for either to say. */
  orElse?: number;
  /** How far the error reaches, where that is not plain. */
  reach?: ErrorReach;
  /** Talks before it is asked. */
  onConnect?: Behaviour;
}

/** Says so much whatever it is asked. @param end whether it hangs up then */
export const say =
  (text: string | Buffer, end = true): Behaviour =>
  socket => {
    socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text);
    if (end) socket.end();
  };

/** The beginning of an answer with these headers. */
export const head = (...lines: string[]) =>
  `HTTP/1.1 200 OK\r\n${lines.map(line => `${line}\r\n`).join('')}\r\n`;

export const CHUNKED = 'Transfer-Encoding: chunked';

/** Bytes that do not compress, the same in every run. */
export function noise(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = 1;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    bytes[i] = state >>> 16;
  }
  return bytes;
}
