/** A real lccd-cu on a cache of a test, and content users at its socket. */
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { within } from './until.js';
import { startDaemon, type Daemon } from './daemon.js';
import type { TestCache } from './cache.js';
import { runCommand } from './command.js';

export interface CuDaemon extends Daemon {
  unix: string;
}

/** Listens on a Unix socket and on a port of the loopback, and where else it is said. */
export async function startCu(cache: TestCache, toml = '', ...more: string[]): Promise<CuDaemon> {
  writeFileSync(join(cache.home, 'lcc.toml'), toml);
  const unix = join(cache.home, 'cu.sock');
  const daemon = startDaemon('lccd-cu', cache.home, [
    `--listen=unix:${unix}`,
    '--listen=127.0.0.1:0',
    ...more,
  ]);
  await daemon.ready;
  return Object.assign(daemon, { unix });
}

/** `lccd-cu ARGS` that administers readers. */
export function administer(cache: TestCache, ...args: string[]): string {
  const { status, stdout, stderr } = runCommand(cache.home, 'lccd-cu', args);
  if (status !== 0) throw new Error(`lccd-cu ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** One conversation. */
export class Cu {
  readonly socket: Socket;
  /** All that was said, once the daemon has ended the connection. */
  readonly reply: Promise<string>;
  #heard = '';
  #wake: (() => void) | undefined;

  constructor(at: string | number) {
    this.socket = typeof at === 'string' ? connect({ path: at }) : connect({ port: at, host: '127.0.0.1' });
    this.socket.setEncoding('utf8').on('data', (text: string) => {
      this.#heard += text;
      this.#wake?.();
    });
    this.socket.on('error', () => undefined);
    this.reply = new Promise(resolve => {
      this.socket.on('close', () => {
        this.#wake?.();
        resolve(this.#heard);
      });
    });
  }

  send(text: string): this {
    this.socket.write(text);
    return this;
  }

  /** Sends byte by byte. */
  async drip(text: string): Promise<this> {
    for (const byte of Buffer.from(text))
      await new Promise(resolve => void this.socket.write(Buffer.from([byte]), resolve));
    return this;
  }

  /** The last word; what comes back is read on. */
  end(): this {
    this.socket.end();
    return this;
  }

  /** What has been heard once it matches. */
  async heard(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.#heard)) {
      if (this.socket.closed) throw new Error(`closed before ${String(pattern)}:\n${this.#heard}`);
      await within(
        `a content user hears ${String(pattern)}`,
        new Promise<void>(resolve => (this.#wake = resolve)),
      );
    }
    return this.#heard;
  }
}

/** Asks and reads the answer to its end. */
export function ask(at: string | number, ...elements: string[]): Promise<string> {
  return new Cu(at).send(elements.join('\n')).end().reply;
}
