/**
 * A folder as the engine (src/db/engine/ledger.ts), with its rules: a shipment counts by its number, the epoch is a fence, the log
 * up to the base is removed. It can lose answers, before a change and after it.
 *
 *     state.json · log/N/K · base/B/I
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { LedgerName } from '../../src/config/kept.js';
import type { FileState, Ledger, Shipment, Shipped } from '../../src/db/engine/ledger.js';
import { errnoOf } from '../../src/lib/errors.js';
import { step } from '../../src/lib/steps.js';

export class FolderLedger implements Ledger {
  readonly #folder: string;
  readonly #isLosing: () => boolean;
  /** Shipments that were applied, and those that came again. */
  applied = 0;
  again = 0;
  basesMade = 0;

  /** @param isLosing asked before and after each change: whether its answer is lost there */
  constructor(folder: string, isLosing = () => false) {
    this.#folder = folder;
    this.#isLosing = isLosing;
  }

  /** As `lcckeep init`. */
  init(name: LedgerName, epoch: number): void {
    for (const part of ['log', 'base']) mkdirSync(join(this.#folder, name, part), { recursive: true });
    this.#write(name, { epoch, n: 0, pos: '', base: 0 });
  }

  /** As a claim of another machine. */
  claim(name: LedgerName): number {
    const state = this.#read(name);
    this.#write(name, { ...state, epoch: state.epoch + 1 });
    return state.epoch + 1;
  }

  state(name: LedgerName): Promise<FileState | undefined> {
    return Promise.resolve(existsSync(this.#path(name, 'state.json')) ? this.#read(name) : undefined);
  }

  async ship({ name, n, pos, pieces }: Shipment, epoch: number, stop: AbortSignal): Promise<Shipped> {
    for (;;) {
      stop.throwIfAborted();
      const state = this.#read(name);
      if (state.epoch !== epoch) return 'lost';
      if (state.n === n && state.pos === pos) {
        this.again++;
        return 'done';
      }
      if (state.n !== n - 1) throw new Error(`${name}: shipment ${n} after ${state.n}`);
      if (this.#isLosing()) continue;
      const folder = this.#path(name, 'log', number(n));
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder);
      let k = 0;
      for await (const piece of pieces) writeFileSync(join(folder, number(k++)), piece);
      this.#write(name, { ...this.#read(name), n, pos });
      this.applied++;
      if (!this.#isLosing()) return 'done';
    }
  }

  putBlock(name: LedgerName, base: number, i: number, data: Buffer, epoch: number): Promise<Shipped> {
    if (this.#read(name).epoch !== epoch) return Promise.resolve('lost');
    mkdirSync(this.#path(name, 'base', number(base)), { recursive: true });
    writeFileSync(this.#path(name, 'base', number(base), number(i)), data);
    return Promise.resolve('done');
  }

  completeBase(name: LedgerName, base: number, epoch: number): Promise<Shipped> {
    const state = this.#read(name);
    if (state.epoch !== epoch) return Promise.resolve('lost');
    this.#write(name, { ...state, base });
    this.basesMade++;
    step('keep.base.noted');
    for (const part of ['base', 'log'])
      for (const n of readdirSync(this.#path(name, part)))
        if (Number(n) < base || (part === 'log' && Number(n) === base))
          rmSync(this.#path(name, part, n), { recursive: true });
    step('keep.base.old-removed');
    return Promise.resolve('done');
  }

  async *base(name: LedgerName, base: number): AsyncGenerator<{ i: number; data: Buffer }> {
    for (const i of listed(this.#path(name, 'base', number(base)))) {
      const data = bytesOf(this.#path(name, 'base', number(base), i));
      if (data !== undefined) yield await Promise.resolve({ i: Number(i), data });
    }
  }

  async *log(
    name: LedgerName,
    after: number,
    last: number,
  ): AsyncGenerator<{ n: number; k: number; data: Buffer }> {
    for (let n = after + 1; n <= last; n++)
      for (const k of listed(this.#path(name, 'log', number(n)))) {
        const data = bytesOf(this.#path(name, 'log', number(n), k));
        if (data !== undefined) yield await Promise.resolve({ n, k: Number(k), data });
      }
  }

  /** Bytes of all that lies in the log. */
  logBytes(name: LedgerName): number {
    let bytes = 0;
    for (const n of listed(this.#path(name, 'log')))
      for (const k of listed(this.#path(name, 'log', n)))
        bytes += statSync(this.#path(name, 'log', n, k)).size;
    return bytes;
  }

  #read(name: LedgerName): FileState {
    return JSON.parse(readFileSync(this.#path(name, 'state.json'), 'utf8')) as FileState;
  }

  #write(name: LedgerName, state: FileState): void {
    const path = this.#path(name, 'state.json');
    writeFileSync(`${path}.new`, JSON.stringify(state));
    renameSync(`${path}.new`, path);
  }

  #path(...parts: string[]): string {
    return join(this.#folder, ...parts);
  }
}

const number = (n: number) => String(n).padStart(12, '0');

/** What the keeper removes while a copy is made of it is not there, as in the engine. */
function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

const bytesOf = (path: string) => ifThere(() => readFileSync(path));
const listed = (folder: string) => ifThere(() => readdirSync(folder).sort()) ?? [];
