/** `run/keep.sock`: daemons and commands of this machine ask what is in the engine, and hear of the lease. */
import { isKeptName, type KeptName } from '../config/kept.js';
import {
  formatKeepWord,
  KEEP_SOCKET,
  MAX_KEEP_LINE,
  parseKeepQuestion,
  type KeepWord,
} from '../daemon/keep-lines.js';
import type { Bound, Connection } from '../daemon/types.js';
import type { Clock } from '../lib/clock.js';
import { Conversation } from '../lib/conversation.js';
import { LccError, messageOf } from '../lib/errors.js';
import { Lines } from '../lib/lines.js';
import type { Log } from '../lib/log.js';

/** Limit of connections: each daemon has one, and each command while it waits. */
export const KEEP_PLACES: Bound = {
  key: 100,
  whose: 'askers',
  say: ({ message }) => formatKeepWord({ word: 'unshipped', id: 0, reason: message }),
};

/** Questions of one connection at a time, and bytes of answers that it has not read. */
const MAX_QUESTIONS = 1000;
const MAX_UNREAD_BYTES = 65_536;

interface DoorParts {
  clock: Clock;
  log: Log;
  /** @throws when it is not in the engine, and will not be */
  shipped: (name: KeptName) => Promise<void>;
}

export class Door {
  readonly #parts: DoorParts;
  readonly #talks = new Set<Conversation>();
  readonly #watchers = new Set<Conversation>();
  #lease: KeepWord | undefined;

  constructor(parts: DoorParts) {
    this.#parts = parts;
  }

  async serve({ socket, peer }: Connection): Promise<void> {
    const { clock, log } = this.#parts;
    const talk = new Conversation(socket, peer, clock);
    const lines = new Lines(
      MAX_KEEP_LINE,
      () => new LccError('peer.protocol', `a line of more than ${MAX_KEEP_LINE} characters`),
    );
    const asked = { count: 0 };
    this.#talks.add(talk);
    talk.listen(
      chunk => {
        for (const line of lines.read(chunk)) this.#hear(talk, line, asked);
      },
      error => new LccError('peer.unavailable', error === undefined ? 'closed' : messageOf(error)),
    );
    try {
      await talk.until(() => false);
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      if (error.code !== 'peer.unavailable') log.warn(`${KEEP_SOCKET}: cut`, { error: error.message });
    } finally {
      this.#talks.delete(talk);
      this.#watchers.delete(talk);
      talk.destroy();
    }
  }

  /** Tells all that want to know, and those that ask from now on. */
  tell(lease: KeepWord): void {
    this.#lease = lease;
    for (const talk of this.#watchers) say(talk, lease);
  }

  close(): void {
    for (const talk of this.#talks) talk.destroy();
  }

  #hear(talk: Conversation, line: string, asked: { count: number }): void {
    const question = parseKeepQuestion(line);
    if (question.word === 'lease') {
      this.#watchers.add(talk);
      if (this.#lease !== undefined) say(talk, this.#lease);
      return;
    }
    const { name, id } = question;
    if (!isKeptName(name)) throw new LccError('peer.protocol', `no database "${name}" is kept`);
    if (++asked.count > MAX_QUESTIONS)
      throw new LccError('peer.protocol', `more than ${MAX_QUESTIONS} questions at a time`);
    const answer = (word: KeepWord) => {
      asked.count--;
      say(talk, word);
    };
    this.#parts.shipped(name).then(
      () => answer({ word: 'shipped', id }),
      (error: unknown) => answer({ word: 'unshipped', id, reason: messageOf(error) }),
    );
  }
}

function say(talk: Conversation, word: KeepWord): void {
  if (talk.isOver) return;
  if (talk.waitingBytes > MAX_UNREAD_BYTES) talk.destroy();
  else talk.write(formatKeepWord(word)).catch(() => undefined);
}
