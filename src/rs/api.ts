/** The JSON API, `/api/v1` below the base path (docs/frontdoor-api.md). It has no cookies: what a request may do is in it. */
import type { IncomingMessage } from 'node:http';
import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import ipaddr from 'ipaddr.js';
import type { Registration } from '../db/rs/registrations.js';
import { LccError } from '../lib/errors.js';
import { clientAddress } from '../web/client.js';
import { providerView, type ProviderViewOptions } from './me.js';
import type { RsOptions } from './options.js';
import { RsRequestRefused } from './refusal.js';
import type { IssuedPair, Registrar } from './registrar.js';
import { wishesOf } from './wishes.js';

/** How long a request waits for the end of a check, before it says that it is under way. */
const CHECK_WAIT_MS = 3000;
const NETWORK_BITS = { ipv4: 24, ipv6: 48 } as const;

/** What @hono/node-server hands on. */
export interface NodeBindings {
  incoming: IncomingMessage;
}
type Ask = Context<{ Bindings: NodeBindings }>;

export interface ApiOptions {
  registrar: Pick<Registrar, 'issue' | 'find' | 'check' | 'cancel'>;
  options: Pick<RsOptions, 'url' | 'uns' | 'proxies' | 'limits' | 'slots'>;
  /** Where providers are looked up. */
  view: ProviderViewOptions;
  maxBodyBytes: number;
  nowMs: () => number;
  /** Resolves after a time, or when what is waited for is over. */
  within: (over: Promise<void>, delayMs: number) => Promise<void>;
  /** What nobody outside can mend. */
  failed: (path: string, error: unknown) => void;
}

export function apiOf({ registrar, options, view, maxBodyBytes, nowMs, within, failed }: ApiOptions) {
  const api = new Hono<{ Bindings: NodeBindings }>({ strict: false });
  const { origin } = new URL(options.url);

  // Nothing that changes something comes from another site's page: a browser says where it is from, a program says nothing.
  api.use(async (c, next) => {
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') requireOwn(c, origin);
    await next();
  });
  api.use(
    bodyLimit({
      maxSize: maxBodyBytes,
      onError: () => {
        throw new RsRequestRefused(
          413,
          'too-large',
          'the body is too large',
          'send less (web.max_body_bytes)',
        );
      },
    }),
  );

  api.post('/pairs', async c => {
    const members = await membersOf(c);
    const [bandwidth, hours, zone] = ['bandwidth', 'hours', 'zone'].map(name => textOf(members, name));
    const wishes = wishesOf({ bandwidth, hours, zone }, options.slots, nowMs());
    const network = networkOf(clientAddress(c.env.incoming, options.proxies));
    const pair = registrar.issue(textOf(members, 'url') ?? '', wishes, network, textOf(members, 'email'));
    return c.json(shownOnce(pair, options), 201);
  });
  api.get('/pairs/:id', c => c.json(shown(registrar.find(c.req.param('id')), options)));
  api.delete('/pairs/:id', c => {
    registrar.cancel(c.req.param('id'));
    return c.body(null, 204);
  });
  api.post('/pairs/:id/check', async c => {
    const capability = c.req.param('id');
    await within(registrar.check(capability), CHECK_WAIT_MS);
    const registration = registrar.find(capability);
    return c.json(shown(registration, options), registration.state === 'checking' ? 202 : 200);
  });

  api.get('/me', async c => {
    const address = clientAddress(c.env.incoming, options.proxies);
    return c.json(await providerView(c.req.header('authorization'), address, view));
  });
  api.all('*', () => {
    throw new RsRequestRefused(404, 'unknown', 'there is nothing here', 'see lccd-rs(8)');
  });
  api.onError((error, c) => {
    if (error instanceof RsRequestRefused) return refuse(c, error);
    failed(c.req.path, error);
    const isFull = error instanceof LccError && ['io.full', 'try.later'].includes(error.code);
    return refuse(
      c,
      new RsRequestRefused(
        503,
        isFull ? 'busy' : 'failed',
        isFull ? 'this cannot be done now' : 'this failed',
        'try again later; the operator finds the reason in the log',
      ),
    );
  });
  return api;
}

function refuse(c: Ask, { status, code, what, advice, retryAfterS }: RsRequestRefused) {
  if (retryAfterS !== undefined) c.header('retry-after', String(retryAfterS));
  if (status === 401) c.header('www-authenticate', 'Basic realm="LCC", charset="UTF-8"');
  return c.json({ code, what, where: c.req.path.replace(/\/pairs\/[^/]+/, '/pairs/ID'), do: advice }, status);
}

/** @throws RsRequestRefused 403 when a browser says that another site's page sends it */
export function requireOwn(c: Pick<Ask, 'req'>, origin: string): void {
  const from = c.req.header('origin');
  const site = c.req.header('sec-fetch-site');
  if (
    (from !== undefined && from !== origin) ||
    (site !== undefined && !['same-origin', 'none'].includes(site))
  )
    throw new RsRequestRefused(
      403,
      'cross-site',
      'the request comes from the page of another site',
      'send it yourself',
    );
}

/** @throws RsRequestRefused 400, 415 */
async function membersOf(c: Ask): Promise<Record<string, unknown>> {
  const type = c.req.header('content-type') ?? '';
  // Forms of other pages can send everything but this without being asked first.
  if (!/^application\/json\b/i.test(type))
    throw new RsRequestRefused(415, 'type', 'the body is not JSON', 'send it as application/json');
  try {
    const value: unknown = JSON.parse(await c.req.text());
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch (error) {
    if (error instanceof RsRequestRefused) throw error;
  }
  throw new RsRequestRefused(400, 'malformed', 'the body is no JSON object', 'send {"url":"http://…/"}');
}

function textOf(members: Record<string, unknown>, name: string): string | undefined {
  const value = members[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'string')
    throw new RsRequestRefused(400, 'malformed', `"${name}" is no text`, 'send it as a string');
  return value;
}

/** Of an applicant: a part of the internet that one person may have to themselves. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return 'local';
  const parsed = ipaddr.process(address);
  const bits = NETWORK_BITS[parsed.kind()];
  const base =
    parsed.kind() === 'ipv4'
      ? ipaddr.IPv4.networkAddressFromCIDR(`${parsed.toString()}/${bits}`)
      : ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${bits}`);
  return `${base.toString()}/${bits}`;
}

/** A pair for everybody who may see it. */
function shown(registration: Registration, { uns, limits }: ApiOptions['options']) {
  const { state, pid, prefix, file, tries, reason, proven, endsMs } = registration;
  return {
    state,
    pid,
    url: prefix,
    file: `${prefix}${file}`,
    tries_left: Math.max(0, limits.checks.most - tries),
    ...(endsMs !== undefined && { expires: new Date(endsMs).toISOString() }),
    ...(reason !== undefined && { reason }),
    ...(proven.length > 0 && { proven }),
    uns,
  };
}

function shownOnce(
  { capability, secret, password, registration }: IssuedPair,
  options: ApiOptions['options'],
) {
  return { id: capability, secret, password, ...shown(registration, options) };
}
