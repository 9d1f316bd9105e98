/**
 * The receiving end of a connection: everything that comes is counted here, whatever it turns out to be, and reading can be
 * held up. An answer has an allowance; the read that exceeds it ends the answer.
 *
 * HTTP/1.1 reads the socket itself. HTTP/2 would read it inside of Node, where frames without meaning show in no event: it
 * reads a stream of this end.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** Below TLS: the bytes of its records. */
interface Wire {
  readonly bytesRead: number;
}

export class ReceivingEnd {
  readonly socket: Socket;
  readonly #wire: Wire;
  #bytes = 0;
  #most = Infinity;
  #exceeded: (() => void) | undefined;
  #held = false;

  constructor(socket: Socket) {
    this.socket = socket;
    this.#wire = wireOf(socket);
    const read = socket.read.bind(socket);
    // An own property hides the method of the same name.
    socket.read = (size?: number) => {
      if (this.#held) return null;
      const chunk: unknown = read(size);
      return chunk === null || this.#isExceeded() ? null : chunk;
    };
  }

  /** Bytes received since the connection was made. */
  get bytes(): number {
    // Once closed, TLS counts what was decrypted.
    this.#bytes = Math.max(this.#bytes, this.#wire.bytesRead);
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

  /** The connection as a stream for those who would read it where nothing can be counted. */
  stream(): Duplex {
    const socket = this.socket;
    const stream = new Duplex({
      read: () => void socket.resume(),
      write: (chunk: Buffer, _encoding, done) => void socket.write(chunk, done),
      final: done => void socket.end(done),
      destroy: (error, done) => {
        socket.destroy();
        done(error);
      },
    });
    socket
      .on('data', (chunk: Buffer) => {
        if (!this.#isExceeded() && !stream.push(chunk)) socket.pause();
      })
      .on('end', () => stream.push(null))
      .on('error', error => stream.destroy(error))
      .on('close', () => stream.destroy());
    return stream;
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
function wireOf(socket: Socket): Wire {
  const { _handle: handle } = socket as { _handle?: { _parent?: Partial<Wire> } | null };
  const below = handle?._parent;
  return typeof below?.bytesRead === 'number' ? (below as Wire) : socket;
}
