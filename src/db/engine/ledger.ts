/**
 * The engine as the keeper sees it: for each database of a home a log of shipments and a base. The one that
 * counts is `db/engine/`; tests have a folder.
 *
 *     base ─▶ shipment base + 1 ─▶ … ─▶ shipment n        n: the last that counts
 *
 * The methods try again, on the next node of the engine, until the engine has answered or `stop` is aborted;
 * so none throws for a lost connection. What comes out of the engine is not checked here.
 */

import type { LedgerName } from '../../config/kept.js';

/** Row `file` of the engine. */
export interface FileState {
  /** The epoch of the owner that may ship. */
  epoch: number;
  /** Number of the last shipment that counts; 0: none. */
  n: number;
  /** The place in the log of SQLite up to which shipment n goes (place.ts). */
  pos: string;
  /** The shipment up to which the base has everything at least; 0: there is no base yet. */
  base: number;
}

/** All that was committed since the last shipment. */
export interface Shipment {
  name: LedgerName;
  n: number;
  pos: string;
  /** Deflated pieces of at most 256 pages (piece.ts), in order; made when they are asked for, for a shipment
   * may be larger than memory. Each time that it is gone through it begins with the first. */
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>;
}

/** `lost`: the home has another epoch, so this machine owns it no more. */
export type Shipped = 'done' | 'lost';

export interface Ledger {
  /** undefined: the engine has nothing of this database. */
  state(name: LedgerName, stop: AbortSignal): Promise<FileState | undefined>;
  /** Puts shipment n after shipment n - 1; sent again after a lost answer it is there once. One that was
   * given up (`stop`) may be there as well: `state` says so. */
  ship(shipment: Shipment, epoch: number, stop: AbortSignal): Promise<Shipped>;
  /** Writes one block (MiB i, deflated) of the base that is being made, number `base`. */
  putBlock(
    name: LedgerName,
    base: number,
    i: number,
    data: Buffer,
    epoch: number,
    stop: AbortSignal,
  ): Promise<Shipped>;
  /** The base is complete: it counts from now on, and what is older goes, in slices. */
  completeBase(name: LedgerName, base: number, epoch: number, stop: AbortSignal): Promise<Shipped>;
  /** Blocks of the base, in order. */
  base(name: LedgerName, base: number, stop: AbortSignal): AsyncIterable<{ i: number; data: Buffer }>;
  /** Pieces of the shipments after `after` up to and with `last`, in order. */
  log(
    name: LedgerName,
    after: number,
    last: number,
    stop: AbortSignal,
  ): AsyncIterable<{ n: number; k: number; data: Buffer }>;
}
