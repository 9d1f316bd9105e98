/** The UNSes of a history: what they accept, and how it reaches the Queue Manager. */
import assert from 'node:assert/strict';
import type { Event } from './history.js';
import { Crash, type Life } from './life.js';
import type { Ledger } from './ledger.js';
import type { Model, Url } from './model.js';
import { headOf, recordOf } from './translate.js';
import type { Entry, Uns, World } from './world.js';

export interface ForwardingParts {
  world: World;
  model: Model;
  ledger: Ledger;
  /** The Queue Manager that lives now. */
  life: () => Life;
  /** A set that was sent could not be judged. */
  failed: (error: unknown) => void;
}

export class Forwarding {
  readonly #world: World;
  readonly #model: Model;
  readonly #ledger: Ledger;
  readonly #life: () => Life;
  readonly #failed: (error: unknown) => void;

  constructor({ world, model, ledger, life, failed }: ForwardingParts) {
    this.#world = world;
    this.#model = model;
    this.#ledger = ledger;
    this.#life = life;
    this.#failed = failed;
  }

  /** A UNS accepts a set. */
  submit({ uns, pid, full, urls }: { uns: number; pid: number; full: boolean; urls: Url[] }): void {
    const seq = this.#ledger.promised(pid, full, urls);
    const head = headOf(seq, pid, full, urls);
    this.#world.accept(at(this.#world.unses, uns), head, full, urls);
  }

  /** A UNS sends more of its oldest set, so far as it is its turn. */
  async forward(which: number, event: Extract<Event, { do: 'forward' }>): Promise<void> {
    const uns = at(this.#world.unses, which);
    const entry = uns.spool[0];
    if (entry === undefined || !this.#world.mayForward(entry)) return;
    entry.damaged ||= event.fate === 'damaged';
    if (entry.damaged) return this.#damaged(uns, entry);
    uns.open ??= { intake: await this.#life().intake.begin(uns.id, entry.head), sent: 0, ending: false };
    const { open } = uns;
    if (open.ending) return event.fate === 'cut' ? uns.cut() : undefined;
    const next = entry.urls.slice(open.sent, open.sent + event.urls);
    open.intake.urls(next.map(recordOf));
    open.sent += next.length;
    if (event.fate === 'cut') return uns.cut();
    if (open.sent < entry.urls.length) return;
    open.ending = true;
    const life = this.#life();
    const answered = (answer: object) => {
      if (life !== this.#life() || uns.open !== open) return;
      uns.open = undefined;
      const text = JSON.stringify(answer);
      assert.ok(!('code' in answer), `a whole set is refused: ${text}`);
      assert.ok(entry.complete, 'a set is acknowledged before it is committed');
      assert.equal(text, (entry.answer ??= text), 'a set sent again is answered as before');
      // A UNS that did not hear the answer sends the set again.
      if (event.fate !== 'deaf') uns.spool.shift();
    };
    open.intake
      .end()
      .then(answered)
      .catch((error: unknown) => {
        if (error instanceof Crash) life.crashed = true;
        else this.#failed(error);
      });
  }

  /** The UNS finds its entry unreadable: what was taken of it is fetched, the rest has to come with a full set. */
  #damaged(uns: Uns, entry: Entry): void {
    uns.cut();
    this.#ledger.given(entry.head.pid);
    this.#model.provider(entry.head.pid).wanted = true;
    this.#life().intake.damaged(uns.id, entry.head.entry, entry.head.pid);
    uns.spool.shift();
  }
}

/** One of these by its number. */
export function at<T>(list: readonly T[], index: number): T {
  const found = list[index];
  if (found === undefined) throw new Error(`nothing at ${index}`);
  return found;
}
