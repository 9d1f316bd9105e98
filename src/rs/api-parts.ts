/** The common part of the JSON API: bodies, the network of a client, how a pair is shown. */
import type { IncomingMessage } from 'node:http';
import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import ipaddr from 'ipaddr.js';
import type { Registration } from '../db/rs/registrations.js';
import type { RsOptions } from './options.js';
import { RsRequestRefused } from './refusal.js';
import type { IssuedPair } from './registrar.js';

const NETWORK_BITS = { ipv4: 24, ipv6: 48 } as const;

/** Bindings that @hono/node-server hands on. */
export interface NodeBindings {
  incoming: IncomingMessage;
}
type Ask = Context<{ Bindings: NodeBindings }>;
type PairOptions = Pick<RsOptions, 'uns' | 'limits'>;

/** Refuses a longer body. @throws RsRequestRefused 413 */
export function boundedBody(maxBodyBytes: number) {
  return bodyLimit({
    maxSize: maxBodyBytes,
    onError: () => {
      throw new RsRequestRefused(413, 'too-large', 'the body is too large', 'send less (web.max_body_bytes)');
    },
  });
}

/** Members of a body that is a JSON object. @throws RsRequestRefused 400, 415 */
export async function membersOf(c: Ask): Promise<Record<string, unknown>> {
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

/** @throws RsRequestRefused 400 */
export function textOf(members: Record<string, unknown>, name: string): string | undefined {
  const value = members[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'string')
    throw new RsRequestRefused(400, 'malformed', `"${name}" is no text`, 'send it as a string');
  return value;
}

/** Network of an applicant: a part of the internet that one person may have to themselves. */
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
