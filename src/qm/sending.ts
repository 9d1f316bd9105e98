/**
 * Urls of a provider on their way into a lane: taken in their order, sent where they may be fetched now. What
 * needs no fetch is passed on to the batch of results: it was deleted, waits for its hours, or is outside its
 * provider's roots.
 */
import { ALWAYS, type Hours } from '../config/hours.js';
import { isGated, isNeedless, isRefreshOnly, rowStateOf, UNASKED, type WaitingRow } from '../db/queue/row.js';
import { OUTSIDE_ROOTS } from '../wire/codes.js';
import { AS_SERVED } from '../wire/url.js';
import type { WaitingSet } from '../db/queue/sets.js';
import type { QueueStore } from '../db/queue/store.js';
import type { Passage } from './robots-gate/gate.js';
import type { Unasked } from './robots-gate/unasked.js';
import type { Known, KnownProviders } from './known-providers.js';
import { refusalOf, requestOf, sentOf, validatorsOf } from './request.js';
import type { ResultBatch } from './results.js';
import type { Retries } from './retries.js';
import { hostOf } from './hosts-of.js';
import type { Lane } from './schedule/lane.js';
import type { LaneTable } from './schedule/lanes.js';
import type { Taken } from './schedule/progress.js';
import type { TimeSlots } from './time-slots.js';
import type { Waits } from './waits.js';
import type { FetchWorker, Workers } from './workers.js';

export interface SendingParts {
  store: QueueStore;
  table: Pick<LaneTable, 'mayCarry' | 'rest'>;
  providers: KnownProviders;
  workers: Workers;
  slots: TimeSlots;
  waits: Waits;
  retries: Retries;
  unasked: Unasked;
  batch: ResultBatch;
  /** Ids of requests. */
  nextId: () => number;
  /** Wall clock, seconds. */
  nowS: () => number;
  /** Sets of the provider may have no url left. */
  finish: (known: Known) => void;
}

/** Where urls are sent, and when. */
interface Way {
  worker: FetchWorker;
  lane: Lane;
  known: Known;
  nowMs: number;
}

/**
 * A url whose turn has come, and that may have been deleted, or its provider changed, since it was announced:
 * one to fetch, or one that leaves its place without a request (docs/design/states.md). `later`: its own
 * hours do not include the present.
 */
type Turn = 'fetch' | 'cancelled' | 'outside-roots' | 'later';

/** Readings of the queue for one filling of a lane. */
const MAX_ROUNDS = 16;
/** Until a provider is looked at again whose urls an old robot would be given. */
const OLD_WORKER_REST_MS = 1000;
/**
 * Urls taken at a time of a provider with several hosts: those after the first of another host are put back.
 */
const SPREAD_URLS = 16;

export class Sending {
  readonly #parts: SendingParts;

  constructor(parts: SendingParts) {
    this.#parts = parts;
  }

  /** Sends up to `room` urls into a lane, and says whether there are more; `isLate`: other providers wait. */
  fill(lane: Lane, room: number, nowMs: number, isLate: () => boolean): { sent: number; more: boolean } {
    const { table, providers, workers, waits, retries, finish, unasked } = this.#parts;
    const known = providers.get(lane.pid);
    const worker = workers.get(lane.worker);
    if (known === undefined || worker === undefined) return { sent: 0, more: false };
    let sent = 0;
    // Urls deleted while they waited may follow each other by the million: other providers go in between.
    for (let round = 0; round < MAX_ROUNDS && sent < room && !(round > 0 && isLate()); round++) {
      // They go into a lane that counts as what they are.
      if (providers.rank(known)) return { sent, more: true };
      const most = Math.min(room - sent, known.isSpread ? SPREAD_URLS : Infinity);
      let taken = known.order.take(most, nowMs);
      if (known.order.isCutShort && taken.length === 0) continue;
      const isLeft = taken.length === 0;
      if (isLeft) taken = known.order.takeBehind(most);
      if (taken.length === 0) {
        finish(known);
        retries.plan(known);
        return { sent, more: false };
      }
      for (const [index, { set, row }] of taken.entries()) {
        if (!isLeft && known.silent.has(row) && known.order.behind(set, row.pos)) continue;
        const hours = row.tod === null ? ALWAYS : providers.hoursOf(known, row.tod);
        const turn = turnOf(row, known, hours, this.#parts.slots);
        if (turn !== 'fetch') {
          this.#pass(turn, set, row, hours);
          continue;
        }
        if ((row.flags & UNASKED) !== 0 && this.#isNeedless(row)) {
          this.#pass('needless', set, row, hours);
          continue;
        }
        const passage = this.#passageOf(row, { known, worker: lane.worker, nowMs });
        if (passage === 'forbidden') {
          this.#pass('forbidden', set, row, hours);
          continue;
        }
        if (passage === 'closed') {
          const againMs = unasked.againMs(row);
          const url = { set, pos: row.pos };
          // safeguard: one origin that is left alone not holding up another
          if (known.silent.isSpread && unasked.origins.setAside(lane.pid, url, againMs)) continue;
          unasked.origins.wait(lane.pid, againMs);
        }
        if (passage === 'wait' || passage === 'later' || passage === 'closed') {
          for (const rest of taken.slice(index)) known.order.again(rest.set, rest.row.pos);
          if (passage === 'later') waits.nextMayDiffer(known);
          // A failed url of its owner may be due before.
          retries.plan(known);
          return { sent, more: passage === 'later' };
        }
        const isEmpty = lane.inFlight + sent === 0;
        // safeguard: a lane being at one host at a time
        if (known.isSpread && !table.mayCarry(lane, hostOf(row.furl ?? row.curl), isEmpty)) {
          for (const rest of taken.slice(index)) known.order.again(rest.set, rest.row.pos);
          return { sent, more: true };
        }
        this.#send({ worker, lane, known, nowMs }, { set, row }, hours, passage === 'ask');
        sent++;
      }
    }
    if (known.order.isCutShort) finish(known);
    return { sent, more: true };
  }

  /** Looked at again when its turn comes: it may have waited for days. */
  #isNeedless(row: WaitingRow): boolean {
    const { content, known, queue } = this.#parts.store;
    const { pid, curl, mimetype } = row;
    const held =
      content.find(pid, curl, mimetype) ?? (isRefreshOnly(row) ? undefined : content.findAny(pid, curl));
    // safeguard: what is there by its turn not being fetched as a link
    const isKnown = () => queue.isAnnounced(pid, curl) || known.isKnown(pid, curl, this.#parts.nowS());
    return isNeedless(row, held, isKnown);
  }

  /** Passage of a url that nobody announced; `later`: after a pause, or at another Bot Manager. */
  #passageOf(
    row: WaitingRow,
    { known, worker, nowMs }: { known: Known; worker: number; nowMs: number },
  ): Passage | 'later' {
    const { unasked, waits, workers, table } = this.#parts;
    const { gate } = unasked;
    const { terms } = known;
    if (unasked.mustWait(row, nowMs)) return 'closed';
    const passage = gate.passageOf(row, terms);
    if ((passage !== 'go' && passage !== 'ask') || !isGated(row)) return passage;
    if (!workers.takesUnasked(worker)) {
      table.rest(row.pid, nowMs + OLD_WORKER_REST_MS);
      return 'later';
    }
    return waits.mustWait(known, gate.crawlDelayMs(row, terms), nowMs) ? 'later' : passage;
  }

  /** Nothing is sent for the row. */
  #pass(
    turn: Exclude<Turn, 'fetch'> | 'forbidden' | 'needless',
    set: WaitingSet,
    row: WaitingRow,
    hours: Hours,
  ): void {
    this.#parts.batch.add({
      sent: sentOf(row, set, { conditional: false, held: false, backoffs: 0 }),
      result:
        turn === 'outside-roots'
          ? refusalOf(OUTSIDE_ROOTS)
          : turn === 'forbidden'
            ? this.#parts.unasked.gate.forbidden()
            : undefined,
      hours: turn === 'later' ? hours : undefined,
      isNeedless: turn === 'needless',
    });
  }

  #send(
    { worker, lane, known, nowMs }: Way,
    { set, row }: Taken<WaitingSet, WaitingRow>,
    hours: Hours,
    asksRobots: boolean,
  ): void {
    const { store, workers, waits, nextId, unasked } = this.#parts;
    const id = nextId();
    const { backoffs } = known.provider;
    if (asksRobots) {
      const request = unasked.gate.request(row, { id, lane: lane.name, terms: known.terms });
      workers.sent(id, {
        worker: lane.worker,
        lane,
        arrival: sentOf(row, set, { conditional: false, held: false, backoffs }),
        expected: waits.charge(known, null, nowMs),
        sentMs: nowMs,
        hours,
        url: request.url,
        login: undefined,
        isRobots: true,
      });
      worker.fetch(request);
      return;
    }
    const held =
      row.held === 1 || row.mimetype === AS_SERVED
        ? store.content.find(row.pid, row.curl, row.mimetype)
        : undefined;
    const validators = validatorsOf(row, held, known.terms.enforce === true);
    const conditional = validators.etag !== undefined || validators.lastModified !== undefined;
    workers.sent(id, {
      worker: lane.worker,
      lane,
      arrival: sentOf(row, set, { conditional, held: held !== undefined, backoffs }),
      expected: waits.charge(known, row.len, nowMs),
      sentMs: nowMs,
      hours,
      url: row.furl ?? row.curl,
      login: known.terms.login,
    });
    unasked.sent(row, nowMs);
    const isLastTry = store.results.retries.isLast(row.tries);
    worker.fetch(requestOf(row, { id, lane: lane.name, terms: known.terms, isLastTry }, validators));
  }
}

function turnOf(row: WaitingRow, known: Known, hours: Hours, slots: TimeSlots): Turn {
  if (rowStateOf(row) === 'cancelled') return 'cancelled';
  // safeguard: the roots a provider has when the turn of a url comes
  if (!known.isInside(row.furl ?? row.curl)) return 'outside-roots';
  // safeguard: the hours of a url
  return slots.permits(hours) ? 'fetch' : 'later';
}
