/** Connections of Registration Servers: a line, an answer. What is asked is for rs-operations.ts to judge. */
import type { Kept } from '../daemon/kept.js';
import type { Bound, Connection, Listener, Services } from '../daemon/types.js';
import { limitText } from '../config/settings/index.js';
import { Conversation } from '../lib/conversation.js';
import type { Endpoint } from '../lib/endpoint.js';
import { LccError, messageOf } from '../lib/errors.js';
import { FairShare } from '../lib/fair-share.js';
import { Lines } from '../lib/lines.js';
import { formatRsAnswer, MAX_RS_LINE_LENGTH, readRsAsk, type RsAnswer } from '../wire/qm-rs.js';
import type { RsLook } from '../wire/rs-looks.js';
import type { RsLooks } from './rs-looks.js';
import type { RsOperations } from './rs-operations.js';

const PLACES: Bound = {
  key: 'qm.max_connections',
  whose: 'Registration Servers',
  machines: true,
  say: ({ message }) => formatRsAnswer({ error: message }),
};
const LINGER_MS = 2000;
const MAX_PASSED_BYTES = 128 * 1024;

export interface RsLinksOptions {
  services: Pick<Services, 'settings' | 'clock' | 'log' | 'listen'>;
  endpoints: readonly Endpoint[];
  operations: Pick<RsOperations, 'answer'>;
  looks: Pick<RsLooks, 'answer' | 'stop'>;
  /** Asked before each answer to an operation. */
  kept: Kept;
  /** A transaction failed; true: try again later. */
  failed: (error: unknown) => boolean;
}

export class RsLinks {
  readonly #options: RsLinksOptions;
  readonly #share = new FairShare();
  readonly #talks = new Set<Conversation>();
  #listeners: Listener[] = [];

  constructor(options: RsLinksOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { services, endpoints } = this.#options;
    this.#listeners = await Promise.all(
      endpoints.map(endpoint => services.listen(endpoint, each => void this.#serve(each), PLACES)),
    );
  }

  stop(): void {
    for (const listener of this.#listeners) void listener.close();
    for (const talk of this.#talks) talk.destroy();
    this.#options.looks.stop();
  }

  async #serve({ socket, peer }: Connection): Promise<void> {
    const { settings, clock, log } = this.#options.services;
    const idleMs = settings.rs.idleTimeoutMs;
    const stallMs = settings.wire.stallTimeoutMs;
    const where = `rs ${peer}`;
    const talk = new Conversation(socket, where, clock);
    this.#talks.add(talk);
    const lines = new Lines(
      MAX_RS_LINE_LENGTH,
      () => new LccError('limit', `a line of more than ${MAX_RS_LINE_LENGTH} characters`),
    );
    const silent = () =>
      new LccError('peer.unavailable', `silent for ${limitText('rs.idle_timeout_ms', idleMs)}`);
    const deaf = () =>
      new LccError('peer.unavailable', `reads nothing for ${limitText('wire.stall_timeout_ms', stallMs)}`);
    try {
      talk.limit(idleMs, silent);
      for await (const slice of talk.slices(this.#share.join()))
        for (const line of lines.read(slice)) {
          talk.unlimited();
          await talk.write(formatRsAnswer(await this.#answer(line)), stallMs, deaf);
          talk.limit(idleMs, silent);
          await talk.turn();
        }
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      if (!talk.isOver) {
        log.warn('connection of a Registration Server closed', { peer, error: messageOf(error) });
        talk.say(formatRsAnswer({ error: error.message }));
      }
    } finally {
      this.#talks.delete(talk);
    }
    await talk.part(LINGER_MS, { maxBytes: MAX_PASSED_BYTES });
  }

  async #answer(line: string): Promise<RsAnswer> {
    const ask = readRsAsk(line);
    if ('look' in ask) return this.#look(ask.look);
    const answer = this.#operate(ask);
    // safeguard: the answer to a Registration Server waiting for the engine
    await this.#options.kept.shipped('lcc');
    return answer;
  }

  #operate(ask: Parameters<RsOperations['answer']>[0]): RsAnswer {
    try {
      return this.#options.operations.answer(ask);
    } catch (error) {
      if (error instanceof LccError && this.#options.failed(error)) return { later: error.message };
      throw error;
    }
  }

  async #look(look: RsLook): Promise<RsAnswer> {
    try {
      return await this.#options.looks.answer(look);
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      return { later: error.message };
    }
  }
}
