/**
 * A daemon in front that asks how a provider stands, with the password that its client gave: `<provider …
 * door="web" for="ADDR"/>`. It is answered as a CP is, takes no number and no session, and no errors count as
 * received; back-off is by the address of the client. One question a connection; sets are refused.
 */
import type { Connection } from '../daemon/types.js';
import { limitText } from '../config/settings/index.js';
import { Conversation } from '../lib/conversation.js';
import { LccError } from '../lib/errors.js';
import { CpReader, initAccepted, initRejected } from '../wire/cp-uns/server.js';
import { Refusal } from '../wire/refusal.js';
import type { SessionParts } from './session.js';

type WebDoorParts = Pick<SessionParts, 'options' | 'clock' | 'log' | 'logins' | 'share'>;

const LINGER_MS = 1000;
const MAX_ADDRESS_LENGTH = 64;

/** Never rejects but for a bug. */
export async function serveWebDoor(parts: WebDoorParts, { socket, peer }: Connection): Promise<void> {
  const { options, clock, log } = parts;
  const talk = new Conversation(socket, `door ${peer}`, clock);
  const limitMs = options.limits.loginTimeoutMs;
  const late = () => new Refusal(102, `no question for ${limitText('uns.login_timeout_ms', limitMs)}`);
  talk.limit(limitMs, late);
  try {
    talk.say(await answer(parts, talk));
  } catch (error) {
    if (error instanceof Refusal) {
      log.debug('look refused', { peer, code: error.code });
      talk.say(initRejected(error.code, error.message));
    } else if (!(error instanceof LccError)) throw error;
  }
  await talk.part(LINGER_MS, { maxBytes: options.xml.maxHelloBytes });
}

/** @throws Refusal; LccError when the client has gone */
async function answer({ options, logins, share }: WebDoorParts, talk: Conversation): Promise<string> {
  const reader = new CpReader(options.xml, 'door');
  for await (const slice of talk.slices(share.join()))
    for (const event of reader.read(slice)) {
      if (event.kind === 'problem') throw new Refusal(event.code, event.text);
      if (event.kind !== 'init') throw new Refusal(104, 'this door only looks: no sets');
      const { id, password, front } = event;
      if (front?.door !== 'web') throw new Refusal(104, 'this door is for door="web"');
      const address = front.for.slice(0, MAX_ADDRESS_LENGTH);
      talk.unlimited();
      return initAccepted(await logins.look({ id, password, address }, delayMs => talk.rest(delayMs)));
    }
  throw new Refusal(104, 'no <init>');
}
