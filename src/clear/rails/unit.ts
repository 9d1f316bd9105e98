/**
 * One page for one rail.
 *
 *  waiting ──a worker is free──▶ executing ──done──▶ done
 *     ▲ ▲                          │  │ ╰─in vain, for the last time──▶ parked
 *     │ ╰─the one before is over── │  ├─in vain──▶ resting ──due──▶ waiting
 *     │                 blocked    │  ╰─done, once more later──▶ rebounding ──due, or wanted again──▶ waiting
 *     ╰────no connection───────────╯
 *  waiting, blocked, resting, rebounding ──the rail is down──▶ parked
 *  executing ──in vain, and a later one for the page waits──▶ merged, into that one
 *
 * `blocked`: a request for the same page is executing; there are never two at a time. `parked`: left to the
 * backlog of the rail. Until it executes, whatever is to be done with the page later joins it: several wait
 * for one unit.
 */
import type { BacklogOp } from '../../db/clear/backlog.js';
import type { BodyToSend } from '../../fetch/job.js';
import { transitions, type StateOf } from '../../lib/states.js';
import type { PageToClear } from '../drivers/types.js';

const enter = transitions('page', {
  waiting: ['executing', 'parked'],
  blocked: ['waiting', 'parked'],
  executing: ['done', 'waiting', 'resting', 'rebounding', 'parked', 'merged'],
  resting: ['waiting', 'parked'],
  rebounding: ['waiting', 'parked'],
  done: [],
  parked: [],
  merged: [],
});

type UnitState = StateOf<typeof enter>;

/** The content of a page, and which publication it is of. */
export interface PageBody {
  bytes: BodyToSend;
  /** sha256, hex; '' for a rail that is told of the page and gets its content itself. */
  sha: string;
  seq: number;
}

/** Work that must be done with a page. */
export interface PageTask extends PageToClear {
  op: BacklogOp;
  /** Body of a page that is put. */
  body?: PageBody;
  /** Number of a clearing that a publication asks for, as against later than all that was left so far. */
  seq?: number;
}

/** An entry of the backlog that is done with a unit. */
export interface BacklogEntry {
  seq: number;
  attempts: number;
  /** Since when the rail lacks something for the page, milliseconds since 1970. */
  firstMs: number;
}

/** Waits for a unit: it is done, or left to the backlog of its rail. */
export type Waiter = (how: 'done' | 'parked') => void;

export class RailUnit {
  readonly rail: string;
  task: PageTask;
  /** Requests for it that failed, since it was not in the backlog. */
  tries = 0;
  /** Requests that succeeded, of those that it takes. */
  sent = 0;
  /** Sent with no others in a request: one of them may be what a rail does not take. */
  isAlone = false;
  entry: BacklogEntry | undefined;
  /** Entries of the backlog up to this number were there when its last request began. */
  coveredSeq = 0;
  waiters: Waiter[] = [];
  #state: UnitState;

  constructor(rail: string, task: PageTask, state: 'waiting' | 'blocked') {
    this.rail = rail;
    this.task = task;
    this.#state = state;
  }

  get state(): UnitState {
    return this.#state;
  }

  get url(): string {
    return this.task.url;
  }

  become(next: UnitState): void {
    this.#state = enter(this.#state, next, `${this.url} for ${this.rail}`);
  }

  /** Later work with the same page takes the place of the earlier; that with an older page does not. */
  join(task: PageTask): void {
    const [old, young] = [this.task.body?.seq, task.body?.seq];
    if (old === undefined || young === undefined || young >= old) this.task = task;
  }

  /** Tells all that wait for it, once. */
  settle(how: 'done' | 'parked'): void {
    const { waiters } = this;
    this.waiters = [];
    for (const waiter of waiters) waiter(how);
  }
}
