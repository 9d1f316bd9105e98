/** The copies of a standby: all databases of the home, as the engine has them, in files beside them. */
import { closeSync, openSync, readSync } from 'node:fs';
import { KEPT_NAMES, type KeptName } from '../config/kept.js';
import { CLEAR_KIND } from '../db/clear/open.js';
import type { EngineLedger } from '../db/engine/engine-ledger.js';
import type { FileState } from '../db/engine/ledger.js';
import { RS_SCHEMA_VERSION } from '../db/rs/database.js';
import { SCHEMA_VERSION } from '../db/sqlite/open.js';
import { pause, type Clock } from '../lib/clock.js';
import { messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { HomeCopy } from './copy.js';
import type { Fitness } from './lease.js';

const FOLLOW_MS = 250;
const AFTER_ERROR_MS = 1000;
/** The place of `user_version` in the first page of a database. */
const VERSION_AT = 60;
const KNOWN_VERSIONS = { lcc: SCHEMA_VERSION, rs: RS_SCHEMA_VERSION, clear: CLEAR_KIND.steps.length };

interface StandbyParts {
  ledger: EngineLedger;
  clock: Clock;
  log: Log;
  pathOf: (name: KeptName) => string;
}

/** The copy of one database, and what the engine had when it was looked at last. */
interface Followed {
  name: KeptName;
  copy: HomeCopy;
  state: FileState | undefined;
}

export class StandbyCopies {
  readonly #parts: StandbyParts;
  readonly #all: readonly Followed[];
  #trouble: string | undefined;

  constructor(parts: StandbyParts) {
    this.#parts = parts;
    this.#all = KEPT_NAMES.map(name => {
      const { ledger, clock, pathOf } = parts;
      return { name, copy: new HomeCopy({ name, path: pathOf(name), ledger, clock }), state: undefined };
    });
    this.#lookForNewer();
  }

  get fitness(): Fitness {
    const lcc = this.#all.find(({ name }) => name === 'lcc');
    if (lcc?.state === undefined || lcc.state.base === 0 || this.#trouble !== undefined) return 'unfit';
    const isWhole = this.#all.every(({ copy, state }) => state?.base === 0 || copy.n !== undefined);
    return isWhole ? 'complete' : 'partial';
  }

  /** Why this machine cannot take the home over. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** The last shipment of each database that the engine was seen to have. */
  get seen(): [KeptName, number][] {
    return this.#all.map(({ name, state }) => [name, state?.n ?? 0]);
  }

  /** Copies until `stop`. */
  async follow(stop: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts;
    while (!stop.aborted) {
      let delayMs = FOLLOW_MS;
      try {
        await this.#copyAll(stop);
      } catch (error) {
        if (stop.aborted) break;
        const reason = messageOf(error);
        if (reason !== this.#trouble) log.error('cannot copy', { reason });
        this.#trouble = reason;
        delayMs = AFTER_ERROR_MS;
      }
      await pause(clock, delayMs, stop);
    }
    await this.#rest();
  }

  /**
   * Copies what there is, when nobody ships any more. @returns false: this program is too old for it, and the
   * copies stay as they are
   * @throws LccError `data.malformed`; system errors
   */
  async finish(stop: AbortSignal): Promise<boolean> {
    await this.#copyAll(stop);
    await this.#rest();
    return this.#trouble === undefined;
  }

  async #copyAll(stop: AbortSignal): Promise<void> {
    for (const each of this.#all) {
      each.state = await this.#parts.ledger.state(each.name, stop);
      await each.copy.follow(stop);
    }
    this.#lookForNewer();
  }

  /** A copy of an earlier keeper counts from the start. */
  #lookForNewer(): void {
    const { log, pathOf } = this.#parts;
    const newer = this.#all.find(
      ({ name, copy }) => copy.n !== undefined && versionIn(`${pathOf(name)}.copy`) > KNOWN_VERSIONS[name],
    );
    const trouble = newer && `${pathOf(newer.name)}: a newer LCC made it; install that one on this machine`;
    if (trouble !== undefined && trouble !== this.#trouble)
      log.error('cannot take the home over', { reason: trouble });
    this.#trouble = trouble;
  }

  async #rest(): Promise<void> {
    for (const { copy } of this.#all) await copy.stop();
  }

  /** Bytes that the engine has and this machine has not. */
  async behindBytes(stop: AbortSignal): Promise<number> {
    let bytes = 0;
    for (const { name, copy, state } of this.#all) {
      if (state === undefined || state.base === 0 || copy.n === state.n) continue;
      const all = await this.#parts.ledger.bytesAfter(name, state.base, copy.n, stop);
      bytes += Math.max(0, all - (copy.n === undefined ? copy.bytes : 0));
    }
    return bytes;
  }
}

/** The version of the schema of a database file; 0 of one that is none. */
function versionIn(path: string): number {
  const fd = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(4);
    return readSync(fd, bytes, 0, 4, VERSION_AT) === 4 ? bytes.readUInt32BE() : 0;
  } finally {
    closeSync(fd);
  }
}
