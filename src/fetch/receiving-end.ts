/**
 * The receiving end of a connection: everything that comes is counted here, whatever it turns out to be,
 * reading can be held up, and it is known how it ended. An answer has an allowance; the read that exceeds it
 * ends the answer.
 */
import type { Socket } from 'node:net';
import { constants } from 'node:os';
import { TLSSocket } from 'node:tls';
import { errnoOf } from '../lib/errors.js';

/** The connection below TLS, as Node's own modules see it. */
interface Wire {
  /** Bytes of records of TLS. */
  readonly bytesRead: number;
  /** Nobody has stopped it; an end does not change that. */
  readonly reading: boolean;
  /** @returns 0, or a negative errno; what is reading already says -EALREADY */
  readStart(): number;
  readStop(): number;
}

export class ReceivingEnd {
  readonly socket: Socket;
  readonly #wire: Wire | undefined;
  #bytes = 0;
  #most = Infinity;
  #exceeded: (() => void) | undefined;
  #held = false;
  #wasReset = false;

  /** @param socket connected, where it has TLS also with that; not read yet */
  constructor(socket: Socket) {
    this.socket = socket;
    this.#wire = wireBelow(socket);
    const read = socket.read.bind(socket);
    // An own property hides the method of the same name.
    socket.read = (size?: number) => {
      if (this.#held) return null;
      const chunk: unknown = read(size);
      return chunk === null || this.#isExceeded() ? null : chunk;
    };
    const push = socket.push.bind(socket);
    socket.push = (chunk: unknown, encoding?: BufferEncoding) => {
      // Before anybody hears of it.
      if (chunk === null) this.#lookAtEnd();
      return push(chunk, encoding);
    };
  }

  /** The other side did not end the connection, but broke it off. */
  get wasReset(): boolean {
    // Undici ends sockets with codes of its own.
    return this.#wasReset || errnoOf(this.socket.errored)?.startsWith('E') === true;
  }

  /** Bytes received since the connection was made: with TLS, those of its records. */
  get bytes(): number {
    // Once closed, what is below TLS counts nothing.
    this.#bytes = Math.max(this.#bytes, (this.#wire ?? this.socket).bytesRead);
    return this.#bytes;
  }

  /** `exceeded` is called at most once, by the read that brings more than `bytes` from now on. */
  allow(bytes: number, exceeded: () => void): void {
    this.#most = this.bytes + bytes;
    this.#exceeded = exceeded;
  }

  /** Reads nothing more until `release`; what is read already still arrives. */
  hold(): void {
    this.#held = true;
  }

  release(): void {
    if (!this.#held) return;
    this.letRead();
    this.socket.emit('readable');
  }

  /** The same for an owner that reads already. */
  letRead(): void {
    this.#held = false;
  }

  #lookAtEnd(): void {
    if (this.socket instanceof TLSSocket) this.#wasReset ||= this.#wire === undefined || !isOpen(this.#wire);
    else this.#lookForReset();
  }

  /** libuv calls a reset an end where it came in the same moment as content; to write nothing tells them
   * apart. EPIPE: there was an end before it. */
  #lookForReset(): void {
    this.socket._write('', 'latin1', error => {
      this.#wasReset ||= errnoOf(error) === 'ECONNRESET';
    });
  }

  #isExceeded(): boolean {
    if (this.bytes <= this.#most) return false;
    const exceeded = this.#exceeded;
    this.#exceeded = undefined;
    exceeded?.();
    return true;
  }
}

/** Node counts what TLS has decrypted. A record for each byte, or records of nothing, are more than that. */
function wireBelow(socket: Socket): Wire | undefined {
  const { _handle: handle } = socket as { _handle?: { _parent?: Wire } | null };
  return handle?._parent;
}

/**
 * Nothing has ended the connection so far: the end that TLS tells in this moment, its only one, is its
 * goodbye (`close_notify`). Node tells the same end where the connection has ended without that, but libuv
 * has stopped reading there; what still reads, or was stopped by somebody else, has not come to its end.
 */
function isOpen(wire: Wire): boolean {
  if (!wire.reading) return true;
  const answer = wire.readStart();
  if (answer === 0) wire.readStop();
  return answer === -constants.errno.EALREADY;
}
