/**
 * A WebSub hub for tests, written from the Recommendation (https://www.w3.org/TR/websub/, 5 to 7) and knowing nothing of LCC: it
 * takes subscriptions, verifies what the subscriber meant, and distributes content. What a test wants wrong of it, it does.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface HubSubscription {
  topic: string;
  callback: string;
  secret: string;
  leaseSeconds: number;
}

export interface HubHeard {
  status: number;
  body: string;
  type: string;
}

/** How it treats the next requests. */
export interface HubManners {
  /** What is answered to a request; 202 unless a test says otherwise. */
  status: number;
  /** Where it leads, with a status that redirects. */
  location: string | undefined;
  /** Subscribers are asked whether they meant it. */
  verifies: boolean;
  /** They are told that they are refused, with this reason. */
  denies: string | undefined;
  /** Granted, whatever was asked; undefined: what was asked. */
  leaseSeconds: number | undefined;
  /** Named in the verification, instead of the one that was asked for. */
  topic: string | undefined;
}

/** What a distribution is like. */
export interface HubPush {
  body?: string | Buffer;
  type?: string;
  /** `sha256` unless a test says otherwise; '' for no signature. */
  method?: string;
  /** Instead of the subscriber's. */
  secret?: string;
  /** Instead of what would be right. */
  signature?: string;
}

const USUAL: HubManners = {
  status: 202,
  location: undefined,
  verifies: true,
  denies: undefined,
  leaseSeconds: undefined,
  topic: undefined,
};

export class TestHub {
  /** Those that are verified, by callback. */
  readonly subscriptions = new Map<string, HubSubscription>();
  /** Requests for a subscription, as they were sent. */
  readonly asked: URLSearchParams[] = [];
  /** Answers of subscribers to verifications and denials. */
  readonly verified: HubHeard[] = [];
  manners: HubManners = { ...USUAL };
  readonly #server = createServer((asked, answer) => void this.#serve(asked, answer));
  #work: Promise<void> = Promise.resolve();

  static async listen(): Promise<TestHub> {
    const hub = new TestHub();
    hub.#server.listen(0, '127.0.0.1');
    await once(hub.#server, 'listening');
    return hub;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hub`;
  }

  /** @param manners what is not said is as a hub should be */
  behave(manners: Partial<HubManners> = {}): void {
    this.manners = { ...USUAL, ...manners };
  }

  /** Resolves when what was asked for is verified, or denied. */
  async settled(): Promise<void> {
    await this.#work;
  }

  /** Distributes content to all subscribers of a topic (7). @returns how each answered */
  async publish(topic: string, push: HubPush = {}): Promise<HubHeard[]> {
    const subscribers = [...this.subscriptions.values()].filter(each => each.topic === topic);
    return Promise.all(subscribers.map(each => this.deliver(each, push)));
  }

  async deliver({ topic, callback, secret }: HubSubscription, push: HubPush = {}): Promise<HubHeard> {
    const { body = '', type = 'application/rss+xml', method = 'sha256' } = push;
    const right = () =>
      createHmac(method, push.secret ?? secret)
        .update(body)
        .digest('hex');
    const signature = push.signature ?? (method === '' ? undefined : `${method}=${right()}`);
    const heard = await ask(callback, 'POST', body, {
      'content-type': type,
      link: `<${this.url}>; rel=hub, <${topic}>; rel=self`,
      ...(signature !== undefined && { 'x-hub-signature': signature }),
    });
    // 410: the subscriber has ended it (7, last paragraph).
    if (heard.status === 410) this.subscriptions.delete(callback);
    return heard;
  }

  /** The publisher no longer wants that subscriber (5.2). */
  async deny(subscription: HubSubscription, reason: string): Promise<HubHeard> {
    this.subscriptions.delete(subscription.callback);
    return this.#tell(subscription, { 'hub.mode': 'denied', 'hub.reason': reason });
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(asked));
    const { status, location } = this.manners;
    if (
      asked.method !== 'POST' ||
      !asked.headers['content-type']?.startsWith('application/x-www-form-urlencoded')
    )
      return void answer.writeHead(400).end('POST a form\n');
    if (status >= 300 && location !== undefined) return void answer.writeHead(status, { location }).end();
    this.asked.push(form);
    const subscription = readSubscription(form);
    if (typeof subscription === 'string') return void answer.writeHead(400).end(`${subscription}\n`);
    answer.writeHead(status, { 'content-type': 'text/plain' }).end(status === 202 ? '' : 'no\n');
    if (status !== 202) return;
    // A subscriber that is gone by then has not meant it.
    const gone = () => void this.verified.push({ status: 0, body: '', type: '' });
    this.#work = this.#work.then(() => this.#consider(subscription)).catch(gone);
  }

  /** Validation and verification of intent (5.2, 5.3), after the answer. */
  async #consider(subscription: HubSubscription): Promise<void> {
    const { denies, verifies, leaseSeconds = subscription.leaseSeconds, topic } = this.manners;
    if (denies !== undefined)
      return void this.verified.push(
        await this.#tell(subscription, { 'hub.mode': 'denied', 'hub.reason': denies }),
      );
    if (!verifies) return;
    const challenge = randomBytes(16).toString('hex');
    const heard = await this.#tell(
      { ...subscription, topic: topic ?? subscription.topic },
      { 'hub.mode': 'subscribe', 'hub.challenge': challenge, 'hub.lease_seconds': String(leaseSeconds) },
    );
    this.verified.push(heard);
    const isMeant = heard.status >= 200 && heard.status <= 299 && heard.body === challenge;
    if (isMeant) this.subscriptions.set(subscription.callback, { ...subscription, leaseSeconds });
  }

  #tell({ callback, topic }: HubSubscription, fields: Record<string, string>): Promise<HubHeard> {
    const url = new URL(callback);
    for (const [name, value] of Object.entries({ ...fields, 'hub.topic': topic }))
      url.searchParams.append(name, value);
    return ask(url.href, 'GET');
  }
}

/** A request of a subscriber (5.1), or what is wrong with it. */
function readSubscription(form: URLSearchParams): HubSubscription | string {
  const [mode, topic, callback] = ['mode', 'topic', 'callback'].map(name => form.get(`hub.${name}`));
  if (mode !== 'subscribe' && mode !== 'unsubscribe') return 'hub.mode';
  if (!topic || !URL.canParse(topic)) return 'hub.topic';
  if (!callback || !URL.canParse(callback)) return 'hub.callback';
  const secret = form.get('hub.secret') ?? '';
  if (Buffer.byteLength(secret) >= 200) return 'hub.secret';
  return { topic, callback, secret, leaseSeconds: Number(form.get('hub.lease_seconds') ?? 864_000) };
}

function ask(
  url: string,
  method: string,
  body?: string | Buffer,
  headers: Record<string, string> = {},
): Promise<HubHeard> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent: false }, answer => {
      void text(answer).then(
        said =>
          resolve({
            status: answer.statusCode ?? 0,
            body: said,
            type: answer.headers['content-type'] ?? '',
          }),
        reject,
      );
    });
    asked.on('error', reject).end(body);
  });
}
