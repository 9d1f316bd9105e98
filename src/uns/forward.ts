/**
 * Sets from the spool to the Queue Manager, oldest first, one at a time; those whose turn it is not (turns.ts) are left
 * for later, and the ones of other providers go on.
 *
 *     idle ──an entry──▶ verified ──▶ sent ──absorbed──▶ removed
 *                           │           ├──refused──▶ set aside
 *                           │           ╰──connection lost: sent again, from its beginning
 *                           ╰──damaged──▶ QM told ──noted──▶ set aside
 *
 * An entry goes only after the QM has answered, so a crash anywhere sends it again; the QM knows it by its id. It is
 * read twice, verified first: half of a damaged set must not reach the queue.
 */
import { createHash } from 'node:crypto';
import type { Connection } from '../daemon/types.js';
import type { SessionStore, Unnoted } from '../db/sessions.js';
import type { Clock } from '../lib/clock.js';
import { LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import type { Spool } from '../lib/spool.js';
import type { SpoolEntry, SpoolHeader } from '../lib/spool-frames.js';
import { step } from '../lib/steps.js';
import { damageNote, SET_END, sessionNote, setStart, unsHello, type SetHead } from '../wire/uns-qm.js';
import { parseLabel } from './label.js';
import type { UnsOptions } from './options.js';
import { QmLink } from './qm-link.js';
import { LOOK_MS, type Turns } from './turns.js';

/** Notes sent between two sets. */
const NOTES_AT_A_TIME = 100;

export interface ForwarderParts {
  options: UnsOptions;
  spool: Spool;
  sessions: SessionStore;
  turns: Turns;
  clock: Clock;
  log: Log;
}

export class Forwarder {
  readonly #parts: ForwarderParts;
  #wake: (() => void) | undefined;
  #woken = false;
  #link: QmLink | undefined;
  #absorbed = 0;
  #notesWait = true;

  constructor(parts: ForwarderParts) {
    this.#parts = parts;
  }

  get connected(): boolean {
    return this.#link !== undefined;
  }

  /** Sets the QM has taken since the start. */
  get absorbed(): number {
    return this.#absorbed;
  }

  /** There may be something new to send. */
  wake(): void {
    this.#woken = true;
    this.#wake?.();
  }

  /** There is a session the QM has not heard of. */
  noteSession(): void {
    this.#notesWait = true;
    this.wake();
  }

  /** Serves a new connection to the QM until it closes; never rejects but for a bug. */
  async serve(connection: Connection): Promise<void> {
    const { options, log, clock } = this.#parts;
    const link = new QmLink(connection.socket, { xml: options.xml, timeoutMs: options.qmTimeoutMs, clock });
    let endHandOver = () => {};
    try {
      await link.ask(unsHello(`${options.id}.${this.#parts.spool.id}`), 'qm');
      endHandOver = this.#parts.turns.handOver(() => this.#parts.spool.entries.length > 0);
      this.#link = link;
      // Whatever was confirmed over the connection before may have been lost with it.
      this.#notesWait = true;
      for (;;) await this.#step(link);
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      log.info('Queue Manager away', { reason: messageOf(error), waiting: this.#parts.spool.entries.length });
    } finally {
      endHandOver();
      if (this.#link === link) this.#link = undefined;
      connection.socket.destroy();
    }
  }

  async #step(link: QmLink): Promise<void> {
    this.#woken = false;
    const entry = this.#next();
    if (entry !== undefined) await this.#forward(link, entry);
    if (this.#notesWait) await this.#sendNotes(link);
    else if (entry === undefined) await this.#idle(link);
  }

  /** The oldest entry whose turn it is. */
  #next(): SpoolEntry | undefined {
    const { spool, turns } = this.#parts;
    const passed = new Set<number>();
    for (const entry of spool.entries) {
      const label = parseLabel(entry.label);
      if (label === undefined) return entry;
      if (passed.has(label.pid)) continue;
      if (turns.isNext(label)) return entry;
      passed.add(label.pid);
    }
    return undefined;
  }

  async #idle(link: QmLink): Promise<void> {
    if (this.#woken) return;
    const woken = new Promise<void>(resolve => (this.#wake = resolve));
    const waits = this.#parts.spool.entries.length > 0;
    const cancel = waits ? this.#parts.clock.after(LOOK_MS, () => this.wake()) : undefined;
    try {
      await link.unlessClosed(woken);
    } finally {
      cancel?.();
    }
  }

  /** The entry will not be sent again. */
  #done(entry: SpoolEntry, how: 'remove' | 'setAside'): void {
    const { spool, turns } = this.#parts;
    spool[how](entry.id);
    turns.done(parseLabel(entry.label));
  }

  async #forward(link: QmLink, entry: SpoolEntry): Promise<void> {
    const { spool, log } = this.#parts;
    // Taken here, not while the CP waits for its answer.
    const content = createHash('md5');
    let said: SpoolHeader;
    try {
      said = await spool.verify(entry.id, piece => void content.update(piece));
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      return this.#reportDamage(link, entry, error);
    }
    const label = parseLabel(entry.label);
    const errseen = Number(said['errseen'] ?? 0);
    const set = said['set'] === 'full' ? 'full' : 'partial';
    const urlprefix = String(said['urlprefix'] ?? '');
    const head: SetHead = {
      entry: entry.id,
      pid: Number(said['pid']),
      seq: Number(said['seq']),
      set,
      urlprefix,
      received: label?.received ?? 0,
      errseen,
      ip: String(said['ip'] ?? ''),
      atS: Number(said['atS'] ?? 0),
      ...(label?.deletes === undefined ? {} : { deletes: label.deletes }),
      digest: digestOf(set, urlprefix, content.digest('hex')),
    };
    await link.send(setStart(head));
    for await (const piece of spool.read(entry.id).content) await link.send(piece);
    const answer = await link.ask(SET_END, 'absorbed', 'refused');
    step('uns.forwarded');
    if (answer.kind === 'refused') {
      log.error('set refused by the Queue Manager, set aside', {
        entry: entry.id,
        pid: head.pid,
        code: answer.code,
        reason: answer.reason,
      });
      return this.#done(entry, 'setAside');
    }
    if (answer.kind !== 'absorbed' || answer.entry !== entry.id) {
      throw new LccError('peer.protocol', `Queue Manager: answered another set than ${entry.id}`);
    }
    this.#absorbed += 1;
    const { queued, duplicate, unchanged, deleted } = answer;
    this.#done(entry, 'remove');
    log.info('set absorbed', { entry: entry.id, pid: head.pid, queued, duplicate, unchanged, deleted });
    this.#parts.sessions.confirm(head.pid, head.seq, errseen);
  }

  /** The provider must be asked for everything: what it was promised can no longer be read. */
  async #reportDamage(link: QmLink, entry: SpoolEntry, error: LccError): Promise<void> {
    const { log } = this.#parts;
    const pid = parseLabel(entry.label)?.pid;
    log.error('damaged set, set aside', { entry: entry.id, pid, error: messageOf(error) });
    if (pid !== undefined) await link.ask(damageNote({ entry: entry.id, pid }), 'noted');
    this.#done(entry, 'setAside');
  }

  async #sendNotes(link: QmLink): Promise<void> {
    const notes: Unnoted[] = this.#parts.sessions.unnoted(NOTES_AT_A_TIME);
    this.#notesWait = notes.length === NOTES_AT_A_TIME;
    for (const note of notes) {
      await link.ask(sessionNote(note), 'noted');
      this.#parts.sessions.confirm(note.pid, note.seq, note.errseen);
    }
  }
}

/** Sets that ask for the same have the same: urls mean nothing without what stands in front of them. */
function digestOf(set: string, urlprefix: string, content: string): string {
  return createHash('md5').update(`${set} ${urlprefix} ${content}`).digest('hex');
}
