/**
 * The receiving end of a connection: everything that comes is counted here, whatever it turns out to be, reading can be
 * held up, and it is known how it ended. An answer has an allowance; the read that exceeds it ends the answer.
 *
 * TLS runs over a stream of this end. Node would read the connection itself, and call it an end when that is closed without the
 * goodbye of TLS (`close_notify`), which anybody on the way can do.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { errnoOf } from '../lib/errors.js';

export class ReceivingEnd {
  readonly #wire: Socket;
  #socket: Socket;
  #most = Infinity;
  #exceeded: (() => void) | undefined;
  #held = false;
  #isDrained = false;
  #wasReset = false;

  /** @param wire connected, not read yet */
  constructor(wire: Socket) {
    this.#wire = wire;
    this.#socket = wire;
    onEndOf(wire, () => this.#lookForReset());
    this.#watchReads(wire);
  }

  /** What is read: the connection, or what TLS makes of it. */
  get socket(): Socket {
    return this.#socket;
  }

  /** The other side did not end the connection, but broke it off. */
  get wasReset(): boolean {
    // Undici ends sockets with codes of its own.
    return this.#wasReset || [this.#wire, this.#socket].some(each => errnoOf(each.errored)?.startsWith('E'));
  }

  /** Bytes received since the connection was made: with TLS, those of its records. */
  get bytes(): number {
    return this.#wire.bytesRead;
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
    this.#socket.emit('readable');
  }

  /** The same for an owner that reads already. */
  letRead(): void {
    this.#held = false;
  }

  /** The connection for TLS to run over; `carries` tells what comes of it. */
  stream(): Duplex {
    const wire = this.#wire;
    const stream = new Duplex({
      read: () => void wire.resume(),
      write: (chunk: Buffer, _encoding, done) => void wire.write(chunk, done),
      final: done => void wire.end(done),
      destroy: (error, done) => {
        wire.destroy();
        done(error);
      },
    });
    wire
      .on('data', (chunk: Buffer) => {
        if (!this.#isExceeded() && !stream.push(chunk)) wire.pause();
      })
      .on('end', () => stream.push(null))
      .on('error', error => stream.destroy(error))
      .on('close', () => stream.destroy());
    // Before TLS hears of it: all that came has been given to it.
    return stream.once('end', () => (this.#isDrained = true));
  }

  carries(socket: Socket): void {
    this.#socket = socket;
    this.#watchReads(socket);
    onEndOf(socket, () => {
      this.#wasReset ||= this.#isDrained;
    });
  }

  #watchReads(socket: Socket): void {
    const read = socket.read.bind(socket);
    // An own property hides the method of the same name.
    socket.read = (size?: number) => {
      if (this.#held && socket === this.#socket) return null;
      const chunk: unknown = read(size);
      return chunk === null || this.#isExceeded() ? null : chunk;
    };
  }

  /**
   * libuv calls a reset an end where it came in the same moment as content; to write nothing tells them apart. EPIPE: there was an
   * end before it.
   */
  #lookForReset(): void {
    this.#wire._write('', 'latin1', error => {
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

/** Runs `action` when an end comes, before anybody hears of it. */
function onEndOf(socket: Socket, action: () => void): void {
  const push = socket.push.bind(socket);
  socket.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk === null) action();
    return push(chunk, encoding);
  };
}
