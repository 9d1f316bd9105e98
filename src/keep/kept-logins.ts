/**
 * The file of logins for sites (db/providers/site-logins.ts) in the engine: whole, a shipment each time that
 * it has changed, of which the last is there.
 *
 *     lcc.db asked for ──▶ has the file changed? ──▶ shipped ──▶ the one before goes
 *
 * A login is in the file before its row is committed, so a row that is said to be in the engine has its login
 * there as well.
 */
import { hash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { LOGINS } from '../config/kept.js';
import type { FileState, Shipment } from '../db/engine/ledger.js';
import { writeFileDurably } from '../lib/durable.js';
import { LccError, messageOf } from '../lib/errors.js';
import { versionOf } from '../lib/keyed-lines.js';
import { readIfThere } from '../lib/read-if-there.js';
import { step } from '../lib/steps.js';
import type { BaseOptions } from './base.js';

const MODE = 0o600;
const PIECE_BYTES = 1 << 20;

type KeptLoginsOptions = Pick<BaseOptions, 'path' | 'ledger' | 'epoch'>;

export class KeptLogins {
  readonly #options: KeptLoginsOptions;
  #n: number;
  /** Sum of what the engine has; '' for nothing. */
  #sum: string;
  /** The file as it was when it was looked at last. */
  #seen = '';
  #going: Promise<void> = Promise.resolve();

  constructor(options: KeptLoginsOptions, { n, pos }: FileState) {
    this.#options = options;
    this.#n = n;
    this.#sum = pos;
  }

  /**
   * Resolves when the engine has the file as it is; one that is missing is restored.
   * @throws LccError `try.later` when that will not be
   */
  async shipped(stop: AbortSignal): Promise<void> {
    if (versionOf(this.#options.path) === this.#seen) return;
    const look = () => this.#look(stop);
    this.#going = this.#going.then(look, look);
    await this.#going;
  }

  /** The file becomes what the engine has, if that has one. @throws LccError as `shipped`, or
   * `data.malformed` */
  async restore(stop: AbortSignal): Promise<void> {
    const { path, ledger } = this.#options;
    if (this.#sum === '') return this.shipped(stop);
    const pieces: Buffer[] = [];
    for await (const { data } of ledger.log(LOGINS, this.#n - 1, this.#n, stop)) pieces.push(inflated(data));
    const text = Buffer.concat(pieces);
    if (sumOf(text) !== this.#sum) throw malformed('their sum is wrong');
    if (text.length > 0 || versionOf(path) !== 'none') writeFileDurably(path, text, MODE);
    step('keep.logins.restored');
    this.#seen = versionOf(path);
  }

  async #look(stop: AbortSignal): Promise<void> {
    const { path, ledger, epoch } = this.#options;
    const version = versionOf(path);
    if (version === this.#seen) return;
    const text = readIfThere(path);
    if (text === undefined && this.#sum !== '') return this.restore(stop);
    const bytes = Buffer.from(text ?? '');
    const sum = sumOf(bytes);
    if (sum !== this.#sum) {
      const n = this.#n + 1;
      const shipment: Shipment = { name: LOGINS, n, pos: sum, pieces: piecesOf(bytes) };
      if (
        (await ledger.ship(shipment, epoch, stop)) === 'lost' ||
        (n > 1 && (await ledger.completeBase(LOGINS, n - 1, epoch, stop)) === 'lost')
      )
        throw new LccError('try.later', 'logins: another machine has the home');
      [this.#n, this.#sum] = [n, sum];
    }
    this.#seen = version;
  }
}

function piecesOf(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    pieces.push(deflateRawSync(bytes.subarray(at, at + PIECE_BYTES)));
  return pieces;
}

function inflated(data: Buffer): Buffer {
  try {
    return inflateRawSync(data, { maxOutputLength: PIECE_BYTES });
  } catch (error) {
    throw malformed(messageOf(error));
  }
}

function sumOf(bytes: Buffer): string {
  return hash('md5', bytes, 'hex');
}

function malformed(why: string): LccError {
  return new LccError(
    'data.malformed',
    `${LOGINS} in the engine: ${why}; lcckeep init --again has this home take its place`,
  );
}
