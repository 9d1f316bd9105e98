/**
 * The gate of a kept home: one connection to lccd-keep, over which databases are asked for and the lease is
 * told. One question of a database is on its way at a time; all that comes meanwhile waits for the next, for
 * an answer is of what was committed before it was asked. A question that is lost with its connection is
 * asked again.
 *
 *     shipped() ─▶ gathered ──none is on its way──▶ asked ──shipped──▶ resolved
 *                                   connection lost ↺ ╰──unshipped, standby──▶ rejected
 */
import { join } from 'node:path';
import type { KeptName } from '../config/kept.js';
import type { Clock } from '../lib/clock.js';
import { Conversation } from '../lib/conversation.js';
import type { Endpoint } from '../lib/endpoint.js';
import { LccError, messageOf } from '../lib/errors.js';
import { Lines } from '../lib/lines.js';
import type { Log } from '../lib/log.js';
import {
  formatKeepQuestion,
  KEEP_SOCKET,
  machineMs,
  MAX_KEEP_LINE,
  parseKeepWord,
  type KeepWord,
} from './keep-lines.js';
import type { Kept, Lease } from './kept.js';
import type { Connection, Peer } from './types.js';

export interface KeeperLinkParts {
  /** Keeps a connection to the keeper alive. */
  connect(onConnect: (connection: Connection) => void): Peer;
  clock: Clock;
  log: Log;
}

/** All that wait for one answer. */
interface Question {
  name: KeptName;
  /** 0: not asked yet. */
  id: number;
  answer: Promise<void>;
  shipped: () => void;
  unshipped: (why: LccError) => void;
}

export class KeeperLink implements Kept {
  readonly isKept = true;
  readonly #parts: KeeperLinkParts;
  readonly #peer: Peer;
  readonly #asked = new Map<KeptName, Question>();
  readonly #gathered = new Map<KeptName, Question>();
  readonly #watchers = new Set<(lease: Lease) => void>();
  #talk: Conversation | undefined;
  #lease: Lease | undefined;
  #lastId = 0;

  constructor(parts: KeeperLinkParts) {
    this.#parts = parts;
    this.#peer = parts.connect(connection => void this.#serve(connection));
  }

  get lease(): Lease | undefined {
    return this.#lease;
  }

  shipped(name: KeptName): Promise<void> {
    const question = this.#gathered.get(name) ?? questionOf(name);
    if (!this.#gathered.has(name)) {
      this.#gathered.set(name, question);
      // A lone one does not wait for what else this turn of the event loop has to do.
      if (!this.#asked.has(name)) queueMicrotask(() => this.#ask(name));
    }
    return question.answer;
  }

  watch(changed: (lease: Lease) => void): () => void {
    this.#watchers.add(changed);
    if (this.#lease !== undefined) changed(this.#lease);
    return () => void this.#watchers.delete(changed);
  }

  /** Questions that still wait have no answer. */
  close(): void {
    this.#peer.close();
    this.#talk?.destroy();
  }

  #ask(name: KeptName): void {
    const question = this.#gathered.get(name);
    if (question === undefined || this.#asked.has(name)) return;
    this.#gathered.delete(name);
    this.#asked.set(name, question);
    question.id = ++this.#lastId;
    this.#say(textOf(question));
  }

  async #serve({ socket }: Connection): Promise<void> {
    const { clock, log } = this.#parts;
    const lines = new Lines(
      MAX_KEEP_LINE,
      () => new LccError('peer.protocol', `a line of more than ${MAX_KEEP_LINE} characters`),
    );
    const talk = new Conversation(socket, KEEP_SOCKET, clock);
    talk.listen(
      chunk => {
        for (const line of lines.read(chunk)) this.#hear(parseKeepWord(line));
      },
      error => new LccError('peer.unavailable', error === undefined ? 'closed' : messageOf(error)),
    );
    this.#talk = talk;
    this.#say(`${formatKeepQuestion({ word: 'lease' })}${[...this.#asked.values()].map(textOf).join('')}`);
    try {
      await talk.until(() => false);
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      if (error.code !== 'peer.unavailable') log.warn('keeper not understood', { error: error.message });
    } finally {
      if (this.#talk === talk) this.#talk = undefined;
      talk.destroy();
    }
  }

  /** Lost with the connection, it is said again on the next. */
  #say(text: string): void {
    this.#talk?.write(text).catch(() => undefined);
  }

  #hear(word: KeepWord): void {
    switch (word.word) {
      case 'shipped':
        return this.#answered(word.id).shipped();
      case 'unshipped':
        return this.#answered(word.id).unshipped(notOwned(word.reason));
      case 'owner': {
        const untilMs = this.#parts.clock.monotonicMs() + word.untilMs - machineMs();
        return this.#changed({ state: 'owner', epoch: word.epoch, untilMs });
      }
      case 'standby':
        this.#changed({ state: 'standby', owner: word.owner });
        for (const questions of [this.#asked, this.#gathered])
          for (const { name, unshipped } of questions.values()) {
            questions.delete(name);
            unshipped(notOwned(ownedBy(word.owner)));
          }
    }
  }

  /** The question of this id is over. @throws LccError `peer.protocol` */
  #answered(id: number): Question {
    const question = [...this.#asked.values()].find(each => each.id === id);
    if (question === undefined) throw new LccError('peer.protocol', `an answer ${id} that was not asked for`);
    this.#asked.delete(question.name);
    this.#ask(question.name);
    return question;
  }

  #changed(lease: Lease): void {
    this.#lease = lease;
    for (const changed of this.#watchers) changed(lease);
  }
}

/** Where the keeper of a home listens. */
export function keeperAt(runDir: string): Endpoint & { kind: 'unix' } {
  return { kind: 'unix', path: join(runDir, KEEP_SOCKET) };
}

/** The lock that a keeper holds. */
export function keeperLock(runDir: string): string {
  return join(runDir, 'lccd-keep.lock');
}

/** How a standby says who has the home. */
export function ownedBy(owner: string): string {
  return owner === '' ? 'no machine serves this LCC for now' : `this LCC is served by ${owner}; do it there`;
}

function questionOf(name: KeptName): Question {
  let [shipped, unshipped] = [() => {}, (_why: LccError) => {}];
  const answer = new Promise<void>((resolve, reject) => ([shipped, unshipped] = [resolve, reject]));
  return { name, id: 0, answer, shipped, unshipped };
}

function textOf({ name, id }: Question): string {
  return formatKeepQuestion({ word: 'shipped', name, id });
}

function notOwned(reason: string): LccError {
  return new LccError('try.later', `what was committed is not in the engine: ${reason}`);
}
