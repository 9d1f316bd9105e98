/**
 * Puts what is committed to one database of a home into the engine, and says when it is there.
 *
 *     asked, or 250 ms over ──▶ guard moved ──▶ log read on ──▶ shipped ──▶ those answered who asked before
 *
 * While a shipment is under way more is committed, and more is asked: the next one has all of it. What was
 * not shipped is never moved into the database by anybody, for a guard (db/sqlite/guards.ts) stands at or
 * before the last shipment (docs/design/keeping.md has the argument).
 *
 *     const standing = standingOf(path, state, machine);   // 'other': setAside, then a HomeCopy
 *     const shipper = new Shipper(options, state, standing);
 *     await shipper.run(stop);      // until `stop`, or it throws: close() then
 *     await shipper.end(stop);      // when all daemons have ended in order
 */
import { statSync } from 'node:fs';
import type { FileState } from '../db/engine/ledger.js';
import { LccError } from '../lib/errors.js';
import { step } from '../lib/steps.js';
import { Thread, threadFile } from '../lib/thread.js';
import { BaseMaker, type BaseOptions } from './base.js';
import { filePieces } from './file-pieces.js';
import { bytesOf } from './log-file.js';
import { OpenLog, type LogMoment } from './open-log.js';
import { encodePiece } from './piece.js';
import { BEGINNING, fileMark, readPosition, textOfPosition, type ShippedPosition } from './place.js';
import { continues, type HomeStanding } from './standing.js';

const POLL_MS = 250;
/** Bytes of a log that goes into the database when all is shipped. */
const SHORT_BYTES = 4 << 20;
/** Frames that are left for the keeper itself to move, … */
const FEW_FRAMES = 256;
/** … or for the thread, once more, while all the time something is committed. */
const MANY_FRAMES = 4096;

interface ShipperOptions extends BaseOptions {
  /** Name of this machine. */
  machine: string;
}

/** The bytes since the base are counted apart. */
type Unsized = Omit<ShippedPosition, 'sinceBytes'>;

type Pieces = () => AsyncIterable<Buffer>;
const NO_PIECES: Pieces = async function* () {};

interface Asked {
  resolve: () => void;
  reject: (error: unknown) => void;
}

export class Shipper {
  readonly #options: ShipperOptions;
  readonly #base: BaseMaker;
  readonly figures = { shipments: 0, shippedBytes: 0, shipSeconds: 0 };
  #n: number;
  #position: Unsized = { place: BEGINNING, isWhole: true };
  #sinceBytes = 0;
  /** How the database stands as long as nothing was done about that; undefined: it goes on. */
  #standing: HomeStanding | undefined;
  #open: OpenLog | undefined;
  #mover: 'resting' | 'asked' | 'moved' = 'resting';
  #thread: Thread<'checkpoint', void> | undefined;
  #triedMs = -Infinity;
  /** A shipment: a base may be read once that number of frames of the log is in the file. */
  #noted: { n: number; salts: string; frames: number; sinceBytes: number } | undefined;
  #asked: Asked[] = [];
  #served: Asked[] = [];
  #wake = () => {};
  #failure: { error: unknown } | undefined;

  /** @param state of the ledger @param standing of the home (`standingOf`) */
  constructor(options: ShipperOptions, state: FileState, standing: Exclude<HomeStanding, 'other'>) {
    this.#options = options;
    this.#n = state.n;
    this.#standing = standing;
    if (standing !== 'none') this.#take(state);
    this.#base = new BaseMaker(options, state.base);
  }

  /**
   * Ships until `stop`; once.
   * @throws LccError `try.later` when another machine owns the home, or the database is gone
   */
  async run(stop: AbortSignal): Promise<void> {
    const over = new AbortController();
    const end = () => {
      over.abort();
      this.#wake();
    };
    stop.addEventListener('abort', end);
    try {
      while (!stop.aborted) {
        await this.#round(over.signal);
        if (this.#asked.length === 0 && !stop.aborted) await this.#pause();
      }
    } catch (error) {
      if (!stop.aborted) throw error;
    } finally {
      stop.removeEventListener('abort', end);
      over.abort();
      await this.#base.ended();
    }
  }

  /**
   * Resolves when all that is committed so far is in the engine.
   * @throws LccError `try.later` when that will not be
   */
  shipped(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ resolve, reject });
      this.#wake();
    });
  }

  /** The last shipment that surely counts. */
  get n(): number {
    return this.#n;
  }

  /** Bytes of the log that are not in the engine. */
  get unshippedBytes(): number {
    const look = this.#look();
    return look === undefined ? 0 : bytesOf(look.header, Math.max(0, look.frames - look.before));
  }

  /** The engine has all of the database. */
  get isComplete(): boolean {
    return this.#base.n > 0;
  }

  /**
   * Ships the rest, and notes the file as it is left: all others have closed the database, and `run` has
   * ended.
   */
  async end(stop: AbortSignal): Promise<void> {
    const { name, path, ledger, machine } = this.#options;
    const state = await ledger.state(name, stop);
    // The answer to a shipment may have been cut off by the end of `run`.
    if (state?.n === this.#n + 1) this.#take(state);
    await this.#shipAny(stop);
    const isOut = this.#open !== undefined && (await this.#moveOut(stop));
    const ended = fileMark(path, machine);
    if (isOut && ended !== undefined) await this.#ship({ ...this.#position, ended }, NO_PIECES, 0, stop);
    for (const { resolve } of this.#served.splice(0)) resolve();
    this.close();
  }

  /** Lets go of the database; questions after it are refused. */
  close(): void {
    for (const { reject } of [...this.#served.splice(0), ...this.#asked.splice(0)])
      reject(new LccError('try.later', `${this.#options.path}: the keeper has ended`));
    this.#letGo();
  }

  #take({ n, pos }: FileState): void {
    const position = readPosition(pos);
    this.#n = n;
    if (position === undefined) return;
    this.#position = position;
    this.#sinceBytes = position.sinceBytes;
  }

  async #round(stop: AbortSignal): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    const open = await this.#shipAny(stop);
    for (const { resolve } of this.#served.splice(0)) resolve();
    if (open !== undefined) await this.#tidy(open, stop);
  }

  async #shipAny(stop: AbortSignal): Promise<OpenLog | undefined> {
    this.#served.push(...this.#asked.splice(0));
    const open = this.#opened();
    if (open === undefined) return undefined;
    if (this.#standing === undefined) await this.#shipNews(open, stop);
    else await this.#begin(open, this.#standing, stop);
    return open;
  }

  /** undefined: there is no database yet. */
  #opened(): OpenLog | undefined {
    const { path } = this.#options;
    const target = this.#open?.target;
    if (target === 'none') throw new LccError('try.later', `${path}: is gone; the keeper begins again`);
    if (target === 'another') {
      this.#letGo();
      this.#standing = 'other';
    }
    return (this.#open ??= OpenLog.open(path));
  }

  /** Only now the guards stand. */
  async #begin(open: OpenLog, standing: HomeStanding, stop: AbortSignal): Promise<void> {
    const { path, log } = this.#options;
    const look = open.look(this.#position.place);
    // SQLite may write over a log of which all was moved into the database, at any time.
    const isMoved = look !== undefined && look.frames !== look.before && look.moved === look.frames;
    if (standing === 'none') {
      const place = open.end();
      await this.#ship({ place, isWhole: place === BEGINNING }, NO_PIECES, 0, stop);
    } else if (
      !isMoved &&
      (standing === 'ended' || (standing === 'continues' && continues(path, this.#position)))
    )
      await this.#shipNews(open, stop);
    else {
      log.warn('the log does not go on from the last shipment: all of the database is shipped', { path });
      await this.#shipAll(open, stop);
    }
    this.#standing = undefined;
  }

  async #shipNews(open: OpenLog, stop: AbortSignal): Promise<void> {
    const news = await open.news(this.#position.place, () => step('keep.guard.moved'));
    if (news === undefined) return;
    const bytes = news.latest.length * news.pageBytes;
    await this.#ship({ place: news.place, isWhole: false }, () => open.file.pieces(news), bytes, stop);
  }

  /** Ships the pages of the file, and what of the log is not in it. */
  async #shipAll(open: OpenLog, stop: AbortSignal): Promise<void> {
    const { path } = this.#options;
    const { place, changes } = await open.unmoved();
    const pieces = async function* () {
      for await (const piece of filePieces(path)) yield encodePiece(piece);
      if (changes !== undefined) yield* open.file.pieces(changes);
    };
    await this.#ship({ place, isWhole: changes === undefined }, pieces, statSync(path).size, stop);
  }

  /** @param bytes of the pages */
  async #ship(position: Unsized, pieces: Pieces, bytes: number, stop: AbortSignal): Promise<void> {
    const { name, ledger, epoch, clock } = this.#options;
    const beganMs = clock.monotonicMs();
    let deflated = 0;
    const sent = async function* () {
      deflated = 0;
      for await (const piece of pieces()) {
        deflated += piece.length;
        yield piece;
      }
      step('keep.shipped.sent');
    };
    const n = this.#n + 1;
    const pos = textOfPosition({ ...position, sinceBytes: this.#sinceBytes + bytes });
    const shipment = { name, n, pos, pieces: { [Symbol.asyncIterator]: sent } };
    if ((await ledger.ship(shipment, epoch, stop)) === 'lost')
      throw new LccError(
        'try.later',
        `${name}: another machine owns the home; this one begins again as a standby`,
      );
    step('keep.shipped.committed');
    this.#n = n;
    this.#position = position;
    this.#sinceBytes += bytes;
    this.figures.shipments++;
    this.figures.shippedBytes += deflated;
    this.figures.shipSeconds = (clock.monotonicMs() - beganMs) / 1000;
  }

  /** Moves what is shipped into the database, and begins a base. */
  async #tidy(open: OpenLog, stop: AbortSignal): Promise<void> {
    const { place, isWhole } = this.#position;
    const look = open.look(place);
    const isDue = this.#base.isDue(this.#sinceBytes);
    const isAll = look === undefined || look.frames === look.before;
    const isOut = look === undefined || (isWhole && isAll && look.moved === look.frames);
    if (isDue) this.#noteBase(look, isOut, stop);
    if (isOut || look === undefined || (!isDue && bytesOf(look.header, look.frames) < SHORT_BYTES)) return;
    if (this.#mover === 'asked') return;
    const nowMs = this.#options.clock.monotonicMs();
    const isEarly = nowMs - this.#triedMs < POLL_MS;
    const hasMoved = this.#mover === 'moved';
    if (look.frames - look.moved > (hasMoved && !isDue ? MANY_FRAMES : FEW_FRAMES)) {
      // In vain, where a reader holds the log: not again at once.
      if (hasMoved && isEarly) return;
      // The guard behind stands before the last shipment, of which nothing could be moved.
      if (isAll) open.follow(place);
      this.#triedMs = nowMs;
      this.#mover = 'asked';
      this.#threaded().ask('checkpoint');
      return;
    }
    if (!isAll || (!hasMoved && isEarly)) return;
    this.#triedMs = nowMs;
    this.#mover = 'resting';
    await this.#moveOut(stop);
  }

  /** Before the log may begin again the engine knows that it does. */
  async #moveOut(stop: AbortSignal): Promise<boolean> {
    if (!this.#position.isWhole) {
      const { place } = this.#position;
      await this.#ship({ place, isWhole: true }, NO_PIECES, 0, stop);
    }
    return this.#open?.moveOut(this.#position.place) ?? false;
  }

  #noteBase(look: LogMoment | undefined, isOut: boolean, stop: AbortSignal): void {
    const sinceBytes = this.#sinceBytes;
    const salts = String(look?.header.salts);
    const noted = (this.#noted ??= { n: this.#n, salts, frames: look?.before ?? 0, sinceBytes });
    // Once it has begun again, all of the last one is in the file.
    const isInFile = isOut || noted.salts !== salts || (look !== undefined && look.moved >= noted.frames);
    if (!isInFile) return;
    this.#noted = undefined;
    const begun = isOut ? { n: this.#n, sinceBytes } : noted;
    this.#base.begin(begun.n, stop, failure => {
      if (failure === undefined) this.#sinceBytes -= begun.sinceBytes;
      else if (!stop.aborted) this.#failure = { error: failure };
      this.#wake();
    });
  }

  #threaded(): Thread<'checkpoint', void> {
    const { path, log } = this.#options;
    return (this.#thread ??= new Thread({
      script: threadFile('checkpoint-worker.cjs'),
      data: path,
      answered: () => {
        this.#mover = 'moved';
        this.#wake();
      },
      lost: ({ message }) => {
        log.warn('checkpoint thread lost', { reason: message });
        this.#thread = undefined;
        this.#mover = 'moved';
      },
    }));
  }

  #look(): LogMoment | undefined {
    return this.#open?.look(this.#position.place);
  }

  #letGo(): void {
    this.#thread?.stop();
    this.#open?.close();
    this.#thread = this.#open = this.#noted = undefined;
    this.#mover = 'resting';
  }

  #pause(): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#options.clock.after(POLL_MS, () => this.#wake());
      this.#wake = () => {
        cancel();
        this.#wake = () => {};
        resolve();
      };
    });
  }
}
