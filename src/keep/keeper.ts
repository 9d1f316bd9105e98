/**
 * A keeper: this machine owns the home and ships it, or copies it and would own it.
 *
 *     starting ──this machine had it──▶ opening ──all databases are those of the engine──▶ owner
 *        ╰──another has it, or none──▶ standby ──the lease is won──▶ opening
 *     opening, owner ──another has it──▶ lost      owner ──release()──▶ released      (the process ends)
 *     opening ──a newer program made them──▶ released
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { KEPT_NAMES, keptPath, LOGINS, type KeptName, type LedgerName } from '../config/kept.js';
import type { Home } from '../config/home.js';
import { machineMs, type KeepWord } from '../daemon/keep-lines.js';
import { ownedBy } from '../daemon/keeper-link.js';
import type { Engine } from '../db/engine/engine.js';
import { EngineLedger } from '../db/engine/engine-ledger.js';
import { HomeRows, standbyState } from '../db/engine/home-rows.js';
import { LeaseRows, type LeaseLook } from '../db/engine/lease-rows.js';
import { pause, within, type Clock } from '../lib/clock.js';
import { LccError } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { transitions, type StateOf } from '../lib/states.js';
import { HomeCopy } from './copy.js';
import { KeptLogins } from './kept-logins.js';
import { HomeLease } from './lease.js';
import { keepNoteOf, readKeepNote, requireHome, writeKeepNote } from './note.js';
import { Shipper } from './shipper.js';
import { setAside, standingOf } from './standing.js';
import { StandbyCopies } from './standby.js';

export interface KeeperParts {
  home: Home;
  engine: Engine;
  clock: Clock;
  log: Log;
  /** Name of this machine. */
  machine: string;
  shard: number;
  beatMs: number;
  leaseMs: number;
  /** Tells daemons and commands how the lease stands. */
  tell: (word: KeepWord) => void;
}

const become = transitions('keeper', {
  starting: ['standby', 'opening'],
  standby: ['opening'],
  opening: ['owner', 'lost', 'released'],
  owner: ['lost', 'released'],
  lost: [],
  released: [],
});

type Phase = StateOf<typeof become>;

const NOTE_MS = 1000;
const TOLD_MS = 2000;
/** Time for the rest at the end; what is not shipped by then, the next start ships. */
const END_MS = 5000;

export class HomeKeeper {
  readonly #parts: KeeperParts;
  readonly #statements: LeaseRows;
  readonly #rows: HomeRows;
  readonly ledger: EngineLedger;
  readonly lease: HomeLease;
  #phase: Phase = 'starting';
  #standby: StandbyCopies | undefined;
  readonly #shippers = new Map<KeptName, Shipper>();
  #logins: KeptLogins | undefined;
  #shipping: Promise<void> = Promise.resolve();
  readonly #shipStop = new AbortController();
  /** UUID of the whole LCC. */
  #lcc = '';
  /** The last note. */
  #noted = '';
  /** Those that ask what is in the engine before it is known how this machine stands. */
  #waiting: (() => void)[] = [];
  behindBytes = 0;
  standbys: number | undefined;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
    const { engine, shard, machine, clock, beatMs, leaseMs } = parts;
    this.#statements = new LeaseRows(engine, shard, machine);
    this.#rows = new HomeRows(engine, shard);
    this.ledger = new EngineLedger(engine, shard);
    this.lease = new HomeLease({
      statements: this.#statements,
      clock,
      beatMs,
      leaseMs,
      fitness: () => this.#standby?.fitness ?? 'unfit',
      changed: () => this.#tell(),
    });
  }

  get phase(): Phase {
    return this.#phase;
  }

  get shippers(): Iterable<Shipper> {
    return this.#shippers.values();
  }

  /** Why this machine could not take the home over. */
  get trouble(): string | undefined {
    return this.#standby?.trouble;
  }

  /**
   * Resolves when the home is another machine's, or was released; or `stop` is aborted.
   * @throws LccError `config` for an engine that is not the home's
   */
  async run(stop: AbortSignal): Promise<void> {
    const { machine, shard, home } = this.#parts;
    const state = await this.#rows.state(stop);
    const note = readKeepNote(keepNoteOf(home.dir));
    const look = requireHome(state, note, shard);
    // Nobody has worked on a home without a base but the one that has `lcckeep init`.
    const isKnown = note?.epoch === look.epoch || state.files.every(({ base }) => base === 0);
    const isMine =
      look.owner === machine &&
      (await (isKnown ? this.lease.resume(look, stop) : this.#takeBack(look, stop)));
    const over = new AbortController();
    const all = AbortSignal.any([stop, over.signal]);
    this.#lcc = look.lcc;
    const beside = [this.#noteAgain(all), this.#watchStandbys(all)];
    try {
      if (!isMine) await this.#follow(stop);
      if (stop.aborted) return;
      this.#enter('opening');
      const held = this.lease.hold(all);
      await Promise.race([this.#own(!isMine, all), held]);
      await held;
    } catch (error) {
      if (stop.aborted) return;
      // Shipping finds out before the next beat.
      if (!(error instanceof LccError && error.code === 'try.later')) throw error;
      this.#parts.log.warn('not the owner any more', { reason: error.message });
    } finally {
      over.abort();
      await Promise.all(beside);
    }
    if (stop.aborted || this.#phase === 'released') return;
    this.lease.owner = '';
    this.#enter('lost');
  }

  /**
   * Resolves when all that is committed in a database is in the engine; at once as long as the engine has no
   * whole of it.
   * @throws LccError `try.later` when that will not be
   */
  async shipped(name: KeptName): Promise<void> {
    while (this.#phase === 'starting' || this.#phase === 'opening')
      await new Promise<void>(resolve => this.#waiting.push(resolve));
    const shipper = this.#shippers.get(name);
    if (this.#phase !== 'owner' || shipper === undefined)
      throw new LccError('try.later', ownedBy(this.lease.owner));
    await Promise.all([
      name === 'lcc' && this.#logins?.shipped(this.#shipStop.signal),
      shipper.isComplete && shipper.shipped(),
    ]);
  }

  /** Hands the home over: all others have closed its databases. @throws LccError `try.later` for no owner */
  async release(stop: AbortSignal): Promise<void> {
    if (this.#phase !== 'owner') throw new LccError('try.later', ownedBy(this.lease.owner));
    await this.#endShipping(stop);
    await this.lease.release(stop);
    this.#enter('released');
  }

  /** Ships the rest, if that takes no long time. */
  async end(): Promise<void> {
    if (this.#phase !== 'owner') return;
    const over = new AbortController();
    const ended = this.#endShipping(over.signal).then(() => true);
    ended.catch(() => undefined);
    if ((await within(this.#parts.clock, ended, END_MS)) !== true) over.abort();
  }

  /** @throws LccError `config` when another home of this machine is at work as this shard */
  async #takeBack(look: LeaseLook, stop: AbortSignal): Promise<boolean> {
    const { machine, shard } = this.#parts;
    const end = await this.lease.takeBack(look, stop);
    if (end === 'beats')
      throw new LccError(
        'config',
        `another LCC_HOME of machine ${machine} serves shard ${shard}; give this one its own cluster.shard, or stop the other`,
      );
    return end === 'taken';
  }

  async #endShipping(stop: AbortSignal): Promise<void> {
    this.#shipStop.abort();
    await this.#shipping;
    await this.#logins?.shipped(stop);
    for (const shipper of this.#shippers.values()) await shipper.end(stop);
  }

  #enter(phase: Phase): void {
    this.#phase = become(this.#phase, phase);
    this.#parts.log.info(phase === 'lost' ? 'another machine has the home' : phase, {
      epoch: this.lease.epoch,
      owner: this.lease.owner === '' ? 'none' : this.lease.owner,
    });
    this.#tell();
    for (const go of this.#waiting.splice(0)) go();
  }

  #tell(): void {
    const { clock, tell, machine } = this.#parts;
    const { epoch, untilMs, owner } = this.lease;
    if (this.#phase === 'owner')
      tell({ word: 'owner', epoch, untilMs: Math.max(0, machineMs() + untilMs - clock.monotonicMs()) });
    // While its databases are put in their places nobody may have them open.
    else if (this.#phase !== 'starting' && (this.#phase !== 'opening' || this.#standby !== undefined))
      tell({ word: 'standby', owner: owner === machine ? '' : owner });
  }

  async #follow(stop: AbortSignal): Promise<void> {
    const { ledger } = this;
    const { home, clock, log } = this.#parts;
    this.#standby = new StandbyCopies({ ledger, clock, log, pathOf: name => keptPath(home.dir, name) });
    this.#enter('standby');
    const won = new AbortController();
    const following = this.#standby.follow(AbortSignal.any([stop, won.signal]));
    await this.lease.win(stop);
    won.abort();
    await following;
  }

  /** @param isTakenOver from another machine, or from none */
  async #own(isTakenOver: boolean, stop: AbortSignal): Promise<void> {
    // The owner before may have upgraded them with the last that it shipped.
    if (this.#standby !== undefined && !(await this.#standby.finish(stop))) {
      await this.lease.release(stop);
      return this.#enter('released');
    }
    for (const name of KEPT_NAMES) this.#shippers.set(name, await this.#open(name, isTakenOver, stop));
    this.#standby = undefined;
    const shipStop = AbortSignal.any([stop, this.#shipStop.signal]);
    this.#shipping = Promise.all([...this.#shippers.values()].map(each => each.run(shipStop))).then(() => {});
    // Guards stand now: a process that closes a database is not the last, which would take its log away.
    this.#parts.log.info('the home is served here', { epoch: this.lease.epoch });
    // The next keeper of a home that knows its epoch goes on at once.
    this.#note();
    this.#enter('owner');
    await this.#shipping;
  }

  /** A database of the home as the engine has it, or as it goes on from there. */
  async #open(name: KeptName, isTakenOver: boolean, stop: AbortSignal): Promise<Shipper> {
    const { ledger } = this;
    const { home, clock, log, machine } = this.#parts;
    const path = keptPath(home.dir, name);
    const { epoch } = this.lease;
    const options = { name, path, ledger, epoch, machine, clock, log };
    const state = await ledger.take(name, epoch, stop);
    if (state === undefined) throw lostOf(name);
    const standing = isTakenOver ? 'other' : standingOf(path, state, machine);
    if (standing === 'other' && !isTakenOver) {
      log.warn('not what the engine has, set aside', { path });
      this.#parts.tell({ word: 'standby', owner: '' });
    }
    // Before the database is what the engine has: a kill in between has it looked at once more.
    if (name === 'lcc') await this.#openLogins(standing === 'other', stop);
    if (standing !== 'other') return new Shipper(options, state, standing);
    if (state.base === 0 || !isTakenOver) {
      if (existsSync(path)) setAside(path, clock.nowMs());
      if (state.base === 0) return new Shipper(options, state, 'none');
    }
    await new HomeCopy(options).finish(stop);
    return new Shipper(options, state, 'ended');
  }

  async #openLogins(isOther: boolean, stop: AbortSignal): Promise<void> {
    const { ledger } = this;
    const { epoch } = this.lease;
    const state = await ledger.take(LOGINS, epoch, stop);
    if (state === undefined) throw lostOf(LOGINS);
    const path = join(this.#parts.home.dir, LOGINS);
    this.#logins = new KeptLogins({ path, ledger, epoch }, state);
    await (isOther ? this.#logins.restore(stop) : this.#logins.shipped(stop));
  }

  /** Notes beside the home how far the engine has come. */
  #note(): void {
    const shipped = [...this.#shippers].map(([name, shipper]) => [name, shipper.n] as const);
    const n = new Map(this.#standby?.seen ?? shipped);
    const { epoch } = this.lease;
    if (n.size === 0 || epoch === 0) return;
    const text = JSON.stringify([epoch, ...n]);
    if (text === this.#noted) return;
    writeKeepNote(keepNoteOf(this.#parts.home.dir), { lcc: this.#lcc, epoch, n });
    this.#noted = text;
  }

  async #noteAgain(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await pause(this.#parts.clock, NOTE_MS, stop);
      if (this.#phase === 'owner' || this.#standby !== undefined) this.#note();
    }
  }

  /** Standbys say how far they are; the owner reads it. */
  async #watchStandbys(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      try {
        if (this.#standby !== undefined) {
          this.behindBytes = await this.#standby.behindBytes(stop);
          if (this.#standby.fitness !== 'unfit') await this.#statements.behind(this.behindBytes, stop);
        } else if (this.#phase === 'owner') {
          const { standbys } = await this.#rows.state(stop);
          this.standbys = standbys.filter(each => standbyState(each) === 'complete').length;
        }
      } catch (error) {
        if (!stop.aborted) throw error;
      }
      await pause(this.#parts.clock, TOLD_MS, stop);
    }
  }
}

function lostOf(name: LedgerName): LccError {
  return new LccError('try.later', `${name}: another machine has the home`);
}
