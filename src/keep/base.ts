/**
 * The base of a database: its file, MiB by MiB, while work goes on. So it is of no single moment, but right
 * together with the log from the shipment on that it was noted for, all of which was in the file then.
 *
 *     due ──all of shipment n is in the file──▶ read ──▶ complete ──▶ older ones go
 */
import { statSync } from 'node:fs';
import type { KeptName } from '../config/kept.js';
import type { Ledger, Shipped } from '../db/engine/ledger.js';
import { stayFor, type Clock } from '../lib/clock.js';
import type { Log } from '../lib/log.js';
import { step } from '../lib/steps.js';
import { filePieces } from './file-pieces.js';
import { encodePiece } from './piece.js';

/** A log that is shorter is not worth a new base. */
const SHORT_BYTES = 64 << 20;
const HOUR_MS = 3_600_000;
/** Databases with passwords in what is free of them. */
const HOURLY: readonly KeptName[] = ['rs'];

export interface BaseOptions {
  name: KeptName;
  /** The database. */
  path: string;
  ledger: Ledger;
  /** Epoch of this machine's ownership. */
  epoch: number;
  clock: Clock;
  log: Log;
}

export class BaseMaker {
  readonly #options: BaseOptions;
  #madeMs: number;
  #making: Promise<void> | undefined;
  /** The shipment that the last complete one is of; 0: none. */
  n: number;

  constructor(options: BaseOptions, n: number) {
    this.#options = options;
    this.n = n;
    this.#madeMs = options.clock.monotonicMs();
  }

  /** @param sinceBytes of the log since the last one */
  isDue(sinceBytes: number): boolean {
    const { name, path, clock } = this.#options;
    if (this.#making !== undefined) return false;
    if (this.n === 0) return true;
    const isOld = HOURLY.includes(name) && clock.monotonicMs() - this.#madeMs > HOUR_MS;
    if (isOld && sinceBytes > 0) return true;
    return sinceBytes > SHORT_BYTES && sinceBytes > (statSync(path, { throwIfNoEntry: false })?.size ?? 0);
  }

  /** Begins to make one. @param n a shipment of which the file has everything @param done called once it
   * counts, or could not be made */
  begin(n: number, stop: AbortSignal, done: (failure?: unknown) => void): void {
    this.#making = this.#make(n, stop)
      .then(isMade => (isMade ? done() : undefined), done)
      .finally(() => (this.#making = undefined));
  }

  /** Resolves when none is being made. */
  async ended(): Promise<void> {
    await this.#making;
  }

  async #make(n: number, stop: AbortSignal): Promise<boolean> {
    const { name, path, ledger, epoch, clock, log } = this.#options;
    const beganMs = clock.monotonicMs();
    let i = 0;
    let beganPieceMs = beganMs;
    for await (const piece of filePieces(path)) {
      const data = encodePiece(piece);
      // Half a processor, at most.
      await stayFor(clock, clock.monotonicMs() - beganPieceMs, stop);
      if (stop.aborted || isLost(await ledger.putBlock(name, n, i++, data, epoch, stop))) return false;
      step('keep.base.block');
      beganPieceMs = clock.monotonicMs();
    }
    if (isLost(await ledger.completeBase(name, n, epoch, stop))) return false;
    this.n = n;
    this.#madeMs = clock.monotonicMs();
    log.info('base made', { name, shipment: n, pieces: i, ms: Math.round(this.#madeMs - beganMs) });
    return true;
  }
}

/** Shipping finds out as well, and ends. */
const isLost = (answer: Shipped) => answer === 'lost';
