/** A proxy between two of our processes that cuts connections in the middle of what one side says. */
import { rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** The side with the bytes that are counted: the one that connects, or the one that listens. */
export type Speaker = 'caller' | 'listener';

/** Path of a socket, or a port of the loopback. */
export type Place = string | number;

export class Cutter {
  /** Cuts that were made. */
  made = 0;
  /** What the speaker said over the last connection that was not cut. */
  saidBytes = 0;
  readonly #server: Server;
  readonly #at: Place;
  readonly #speaker: Speaker;
  /** Bytes before each of the next cuts. */
  #cuts: number[] = [];
  readonly #sockets = new Set<Socket>();

  #isSilent = false;

  /** @param target what it connects to; it need not be there yet */
  constructor(at: Place, target: Place, speaker: Speaker) {
    this.#at = at;
    this.#speaker = speaker;
    this.#server = createServer(caller =>
      this.#join(
        caller,
        connect(typeof target === 'number' ? { port: target, host: '127.0.0.1' } : { path: target }),
      ),
    );
  }

  async listen(): Promise<this> {
    const at = this.#at;
    if (typeof at === 'string') rmSync(at, { force: true });
    const where = typeof at === 'number' ? { port: at, host: '127.0.0.1' } : { path: at };
    await new Promise<void>(resolve => void this.#server.listen(where, resolve));
    return this;
  }

  /** Nothing passes any more, and nobody is told: a network that loses all packets. */
  silence(): void {
    this.#isSilent = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Ends that: what was said meanwhile arrives. */
  speak(): void {
    this.#isSilent = false;
    for (const socket of this.#sockets) socket.resume();
  }

  /** After `bytes` more of the speaker, over whichever connections, the one that has the last of them is cut. */
  cutAfter(bytes: number): void {
    this.#cuts.push(bytes);
  }

  /** Cuts nothing any more. */
  calm(): void {
    this.#cuts = [];
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #join(caller: Socket, listener: Socket): void {
    const both = [caller, listener];
    let saidBytes = 0;
    const end = () => both.forEach(socket => void socket.destroy());
    const pass = (from: Socket, to: Socket, speaks: boolean) => {
      from.on('data', (chunk: Buffer) => {
        const passed = speaks ? this.#spend(chunk) : chunk;
        if (passed.length > 0 && !to.write(passed)) {
          from.pause();
          to.once('drain', () => this.#isSilent || from.resume());
        }
        if (speaks) saidBytes += passed.length;
        if (passed.length === chunk.length) return;
        this.made += 1;
        // What was passed arrives: closing at once might take it back.
        to.end(() => setImmediate(end));
        from.destroy();
      });
      from.on('end', () => {
        if (speaks) this.saidBytes = saidBytes;
        to.end();
      });
      from.on('error', end);
      from.on('close', () => {
        this.#sockets.delete(from);
        to.end();
      });
      this.#sockets.add(from);
      if (this.#isSilent) from.pause();
    };
    caller.allowHalfOpen = listener.allowHalfOpen = true;
    pass(caller, listener, this.#speaker === 'caller');
    pass(listener, caller, this.#speaker === 'listener');
  }

  /** What may pass of what the speaker says. */
  #spend(chunk: Buffer): Buffer {
    const [left] = this.#cuts;
    if (left === undefined) return chunk;
    if (chunk.length <= left) {
      this.#cuts[0] = left - chunk.length;
      return chunk;
    }
    this.#cuts.shift();
    return chunk.subarray(0, left);
  }
}
