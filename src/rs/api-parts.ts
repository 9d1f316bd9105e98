/** The common part of the JSON API: bodies, the network of a client, how a pair is shown. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { Registration } from '../db/rs/registrations.js';
import { clientAddress } from '../web/client.js';
import { WEB_LIMITS } from '../web/limits.js';
import { networkOf } from './limits.js';
import type { RsOptions } from './options.js';
import { RsRequestRefused } from './refusal.js';
import { refusing } from './refused-requests.js';
import type { IssuedPair } from './registrar.js';
import type { WrittenWishes } from './wishes.js';

/** Bindings that @hono/node-server hands on. */
export interface NodeBindings {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
}

/** The client of a request. */
export function clientOf(
  c: { env: Pick<NodeBindings, 'incoming'> },
  { proxies }: Pick<RsOptions, 'proxies'>,
): { address: string; network: string } {
  const address = clientAddress(c.env.incoming, proxies);
  return { address, network: networkOf(address) };
}

type PairOptions = Pick<RsOptions, 'uns' | 'limits'>;

/** Refuses a longer body than a form or a request has. @throws RsRequestRefused 413 */
export function boundedBody(what = 'the body is too large') {
  return bodyLimit({
    maxSize: WEB_LIMITS.maxBodyBytes,
    onError: () => {
      throw new RsRequestRefused(413, 'too-large', what, 'send less');
    },
  });
}

/** What is not there, and what is refused or fails, as JSON; after the last route. */
export function sealApi<E extends { Bindings: NodeBindings }>(
  api: Hono<E>,
  { realm, failed, whyOf }: SealOptions,
): void {
  const refuse = (c: Context<E>, refused: RsRequestRefused) => {
    const { status, code, what, advice } = refused;
    refusing(c, refused);
    if (status === 401) c.header('www-authenticate', `Basic realm="${realm}", charset="UTF-8"`);
    return c.json(
      { code, what, where: c.req.path.replace(/\/pairs\/[^/]+/, '/pairs/ID'), do: advice },
      status,
    );
  };
  api.all('*', () => {
    throw new RsRequestRefused(404, 'unknown', 'there is nothing here', 'see lccd-rs(8)');
  });
  api.onError((error, c) => {
    if (error instanceof RsRequestRefused) return refuse(c, error);
    failed(c.req.path, error);
    return refuse(c, new RsRequestRefused(503, ...whyOf(error)));
  });
}

export interface SealOptions {
  realm: string;
  /** What nobody outside can mend. */
  failed: (path: string, error: unknown) => void;
  /** How that is told. */
  whyOf: (error: unknown) => [code: string, what: string, advice: string];
}

/** Of a body that is a JSON object. @param example of one @throws RsRequestRefused 400, 415 */
export async function membersOf(
  c: Pick<Context, 'req'>,
  example = '{"url":"http://…/"}',
): Promise<Record<string, unknown>> {
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
  throw new RsRequestRefused(400, 'malformed', 'the body is no JSON object', `send ${example}`);
}

/** @throws RsRequestRefused 400 */
export function textOf(members: Record<string, unknown>, name: string): string | undefined {
  const value = members[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'string')
    throw new RsRequestRefused(400, 'malformed', `"${name}" is no text`, 'send it as a string');
  return value;
}

/** When and how fast to be fetched from. @throws RsRequestRefused 400 */
export function wishesIn(members: Record<string, unknown>): WrittenWishes {
  const of = (name: string) => textOf(members, name);
  return { bandwidth: of('bandwidth'), hours: of('hours'), zone: of('zone') };
}

/** A pair for everybody who may see it. */
export function shown(registration: Registration, { uns, limits }: PairOptions) {
  const { kind, state, pid, prefix, file, tries, reason, proven, endsMs } = registration;
  return {
    ...(kind !== 'new' && { kind }),
    state,
    pid,
    url: prefix,
    ...(file !== '' && {
      file: `${prefix}${file}`,
      tries_left: Math.max(0, limits.checks.most - tries),
    }),
    ...(endsMs !== undefined && { expires: new Date(endsMs).toISOString() }),
    ...(reason !== undefined && { reason }),
    ...(proven.length > 0 && { proven }),
    uns,
  };
}

/** The one answer with the secrets. */
export function shownOnce({ capability, secret, password, registration }: IssuedPair, options: PairOptions) {
  return {
    id: capability,
    ...(secret !== '' && { secret }),
    ...(password !== '' && { password }),
    ...shown(registration, options),
  };
}
