/**
 * A keeper that ships nothing: it answers at `run/keep.sock` as a test tells it to, and holds its answers while it is told to.
 */
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { keeperAt } from '../../src/daemon/keeper-link.js';
import { formatKeepWord, machineMs, parseKeepQuestion, type KeepWord } from '../../src/daemon/keep-lines.js';
import { until } from './until.js';
import { join } from 'node:path';

/** What a home needs to have one; nothing of the engine is ever asked for. */
export const KEPT_HOME = '[store]\nurl = "mariadb://lcc@127.0.0.1:1/lcc"\n';
const HOUR_MS = 3_600_000;

interface Asked {
  name: string;
  id: number;
  socket: Socket;
}

export class HeldKeeper {
  /** Names that were asked for, each as often as that was. */
  readonly asked: string[] = [];
  /** Told to each that asks how the lease stands. */
  lease: KeepWord = { word: 'owner', epoch: 1, untilMs: machineMs() + HOUR_MS };
  /** Connections so far. */
  came = 0;
  /** True while nothing is answered. */
  isHeld = false;
  readonly #runDir: string;
  readonly #held: Asked[] = [];
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  constructor(home: string) {
    this.#runDir = join(home, 'run');
  }

  async open(): Promise<this> {
    mkdirSync(this.#runDir, { recursive: true });
    const server = createServer(socket => this.#serve(socket));
    this.#server = server;
    server.listen(keeperAt(this.#runDir).path);
    await once(server, 'listening');
    return this;
  }

  /** Questions that wait for an answer, of one name or of all. */
  waiting(name?: string): number {
    return this.#held.filter(each => name === undefined || each.name === name).length;
  }

  /** From now on nothing is answered. */
  hold(): void {
    this.isHeld = true;
  }

  /** Resolves when somebody waits for an answer. */
  async holds(name?: string): Promise<void> {
    await until(`somebody asks the keeper for ${name ?? 'anything'}`, () => this.waiting(name) > 0);
  }

  /** Answers what waits, and from now on all at once. */
  release(): void {
    this.isHeld = false;
    for (const { socket, id } of this.#held.splice(0)) socket.write(formatKeepWord({ word: 'shipped', id }));
  }

  /** Answers what waits: it is not in the engine, and will not be. */
  refuse(reason: string): void {
    for (const { socket, id } of this.#held.splice(0))
      socket.write(formatKeepWord({ word: 'unshipped', id, reason }));
  }

  /** Tells all that are connected. */
  tell(word: KeepWord): void {
    this.lease = word;
    for (const socket of this.#sockets) socket.write(formatKeepWord(word));
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Cuts all connections; what waited is forgotten. */
  cut(): void {
    this.#held.length = 0;
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.cut();
    if (server !== undefined) await new Promise(resolve => void server.close(resolve));
  }

  #serve(socket: Socket): void {
    this.came++;
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => void this.#sockets.delete(socket));
    createInterface({ input: socket }).on('line', line => {
      const question = parseKeepQuestion(line);
      if (question.word === 'lease') return void socket.write(formatKeepWord(this.lease));
      const { name, id } = question;
      this.asked.push(name);
      if (this.isHeld) return void this.#held.push({ name, id, socket });
      socket.write(formatKeepWord({ word: 'shipped', id }));
    });
  }
}
