/** One request as HTTP/1.0, and its answer as far as it can be read, on a connection of its own: for servers
 * that undici does not understand. The same promises as `Exchange`. */
import type { Socket } from 'node:net';
import { messageOf } from '../lib/errors.js';
import type { Connector } from './connect.js';
import {
  checkInterim,
  endWith,
  guarded,
  watchIntake,
  type ExchangeLimits,
  type ExchangeOwner,
} from './exchange-owner.js';
import { connectFailure, fail, FetchError, type FetchFailure } from './failure.js';
import type { Manners } from './manners.js';
import { readLenientHead } from './lenient-head.js';
import { LenientChunks } from './lenient-chunks.js';
import type { BodyToSend } from './job.js';
import { readable, type Question } from './question.js';
import type { ReceivingEnd } from './receiving-end.js';

const SWITCHED = 101;

/** With what the manners of the one who asks say. */
type LenientLimits = ExchangeLimits & Pick<Manners, 'takesOldAnswers'>;

export class LenientExchange {
  readonly #connect: Connector;
  readonly #origin: string;
  readonly #address: string | undefined;
  readonly #owner: ExchangeOwner;
  readonly #limits: LenientLimits;
  #connecting: Socket | undefined;
  #intake: ReceivingEnd | undefined;
  /** Bytes that came and are no whole head yet; undefined once there was one. */
  #early: Buffer | undefined = Buffer.alloc(0);
  /** Bytes of the body that must still come; undefined: it ends with the connection, or its chunks. */
  #left: number | undefined;
  #chunks: LenientChunks | undefined;
  #interim = 0;
  #received = 0;
  #over = false;

  constructor(
    connect: Connector,
    origin: string,
    address: string | undefined,
    owner: ExchangeOwner,
    limits: LenientLimits,
  ) {
    this.#connect = connect;
    this.#origin = origin;
    this.#address = address;
    this.#owner = owner;
    this.#limits = limits;
  }

  start(question: Question): void {
    const { hostname, host, port, protocol } = new URL(this.#origin);
    // As the system wants it: IPv6 without brackets.
    const name = hostname.replace(/^\[|\]$/g, '');
    const target = { hostname: name, host, port, protocol, address: this.#address };
    this.#connecting = this.#connect(target, (error, intake) => {
      this.#connecting = undefined;
      if (this.#over) intake?.socket.destroy();
      else if (error !== null || intake === null) this.#fail(connectFailure(error, host, false));
      else this.#ask(intake, host, question);
    });
  }

  get wireBytes(): number {
    return this.#over ? this.#received : (this.#intake?.bytes ?? 0);
  }

  get wasReset(): boolean {
    return this.#intake?.wasReset === true;
  }

  cancel(): void {
    if (!this.#over) this.#finish();
  }

  hold(): void {
    this.#intake?.socket.pause();
  }

  release(): void {
    if (!this.#over) this.#intake?.socket.resume();
  }

  #ask(intake: ReceivingEnd, host: string, { method, path, headers, body }: Question): void {
    this.#intake = intake;
    const { socket } = intake;
    watchIntake(intake, this, this.#owner);
    let text = `${method} ${path} HTTP/1.0\r\nHost: ${host}\r\n`;
    for (let i = 0; i + 1 < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
    socket
      .on('data', (chunk: Buffer) => guarded(this, this.#owner, () => this.#onData(chunk)))
      .on('end', () => this.#onEnd())
      // The listener stays for good: an error event nobody listens to ends the process.
      .on('error', error => this.#lose(messageOf(error)))
      .on('close', () => this.#lose('the connection closed'));
    socket.write(`${text}\r\n`, 'latin1');
    this.#owner.onSent();
    if (body !== undefined) this.#send(socket, body);
  }

  #send(socket: Socket, body: BodyToSend): void {
    const source = readable(body, error => endWith(this, this.#owner, { kind: 'source', error }));
    if (source instanceof Uint8Array) socket.write(source);
    else {
      source.on('data', () => void (this.#over || this.#owner.onProgress())).pipe(socket, { end: false });
      socket.on('close', () => void source.destroy());
    }
  }

  #onData(chunk: Buffer): void {
    if (this.#over) return;
    if (this.#early === undefined) return this.#onBody(chunk);
    this.#early = Buffer.concat([this.#early, chunk]);
    while (!this.#over && this.#early !== undefined) {
      const early: Buffer = this.#early;
      const found = readLenientHead(early, this.#limits.takesOldAnswers);
      const headBytes = found !== undefined && 'head' in found ? found.bodyAt : early.length;
      if (headBytes > this.#limits.maxHeaderBytes)
        return endWith(
          this,
          this.#owner,
          fail('headers-too-big', `headers larger than ${this.#limits.headerLimitText}`),
        );
      if (found === undefined) return;
      if (!('head' in found)) return endWith(this, this.#owner, found);
      const { head, bodyAt } = found;
      const rest = early.subarray(bodyAt);
      if (head.status >= 100 && head.status < 200) {
        this.#early = rest;
        checkInterim(this, this.#owner, ++this.#interim, head.status);
        if (head.status === SWITCHED)
          endWith(this, this.#owner, fail('unexpected-status', 'the server switched protocols'));
        continue;
      }
      this.#early = undefined;
      this.#left = head.contentLength;
      if (head.transferCoding !== undefined) this.#chunks = new LenientChunks();
      this.#owner.onHead(head);
      this.#onBody(rest);
    }
  }

  #onBody(chunk: Buffer): void {
    if (this.#over) return;
    if (this.#chunks !== undefined) {
      const isEnd = this.#chunks.take(chunk, piece => void (this.#over || this.#owner.onBody(piece)));
      if (typeof isEnd !== 'boolean') this.#fail(isEnd);
      else if (isEnd) this.#end();
      return;
    }
    const part = this.#left === undefined ? chunk : chunk.subarray(0, this.#left);
    if (this.#left !== undefined) this.#left -= part.length;
    if (part.length > 0) this.#owner.onBody(part);
    if (this.#left === 0) this.#end();
  }

  #onEnd(): void {
    if (this.#early === undefined && this.#left === undefined && this.#chunks === undefined) this.#end();
    else this.#lose('the connection ended');
  }

  #end(): void {
    if (this.#over) return;
    this.#finish();
    guarded(this, this.#owner, () => this.#owner.onEnd());
  }

  #lose(why: string): void {
    this.#fail(fail(this.#early === undefined ? 'cut' : 'reset', why));
  }

  #fail(reason: FetchFailure): void {
    if (this.#over) return;
    this.#finish();
    guarded(this, this.#owner, () => this.#owner.onFailure(reason, false));
  }

  #finish(): void {
    this.#received = this.#intake?.bytes ?? 0;
    this.#over = true;
    this.#early = undefined;
    this.#intake?.socket.destroy();
    this.#connecting?.destroy(new FetchError(fail('cancelled', 'given up')));
  }
}
