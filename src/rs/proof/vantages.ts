/**
 * Views on the file of robots that listen elsewhere (`lccbot --listen`): somebody who controls one path to a
 * site, or what one resolver says of its name, does not prove the site by that.
 *
 *     connected ──greeting──▶ asked ──result──▶ same | other
 *         ╰── refused, malformed, closed, none before the check is over ──▶ away
 *
 * One at most may be other or away: one that is down decides nothing, and neither does one alone.
 */
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Settings } from '../../config/settings/index.js';
import { trustOf } from '../../daemon/machines.js';
import type { Clock } from '../../lib/clock.js';
import { dial, type Trust } from '../../lib/dial.js';
import { formatEndpoint, parseEndpoint, type Endpoint } from '../../lib/endpoint.js';
import { LccError, messageOf } from '../../lib/errors.js';
import { isLoopback } from '../../lib/loopback.js';
import { RobotPeer } from '../../wire/bm-bot.js';
import type { RobotResult } from '../../wire/fetch.js';
import { channelLimitsOf, type LinkLimits } from '../../wire/messages.js';
import type { ProofCode } from './reasons.js';

export interface VantageOptions {
  endpoints: readonly Endpoint[];
  channel: LinkLimits;
  /** Certificates shown to vantages and believed of them. Read each time: files may be replaced. */
  trust: () => Trust;
  /** Longest fetch of one. */
  fetchTimeoutMs: number;
}

/** The file as it was found from here. */
export interface SeenFile {
  url: string;
  /** Where it may be, that url among them. */
  places: readonly string[];
  maxBytes: number;
  /** The secret itself. */
  text: string;
  isSecret: (bytes: Buffer) => boolean;
}

/** View of one vantage. */
interface View {
  kind: 'same' | 'other' | 'away';
  /** For the audit. */
  says: string;
}

export interface Views {
  /** Undefined: all of them but one at most have seen the same. */
  failed: ProofCode | undefined;
  /** Those that have not, for the audit. */
  dissent: readonly string[];
}

/** Vantages that may see something else, or be away. */
const MAY_DIFFER = 1;
/** Fewer decide nothing. */
const FEWEST_VANTAGES = MAY_DIFFER + 1;
/** Each is asked once. */
const ID = 1;
/** On its machine, by a robot that cannot send content: each fetch replaces it. */
const FILE_THERE = '/tmp/lcc-vantage.txt';

/** `rs.vantages`: where the robots listen that look at sites from elsewhere.
 * @returns undefined where there are none
 * @throws LccError `usage` for what is no endpoint, `config` for one alone, and for one that would be asked
 *   in plain text from another machine: somebody on the way to the site may be on the way to it
 */
export function vantageOptions({ rs, net, ...settings }: Settings): VantageOptions | undefined {
  const endpoints = rs.vantages.map(text => parseEndpoint(text));
  if (endpoints.length === 0) return undefined;
  if (new Set(endpoints.map(formatEndpoint)).size < FEWEST_VANTAGES)
    throw new LccError(
      'config',
      'rs.vantages: one alone decides nothing, since one may differ; name two, or none',
    );
  for (const endpoint of endpoints)
    if (endpoint.kind === 'tcp' && !isLoopback(endpoint.host) && !net.allowPlain) {
      const where = formatEndpoint(endpoint);
      throw new LccError(
        'config',
        `rs.vantages: ${where}: plain text beyond loopback; use tls:${where}, or set net.allow_plain = true`,
      );
    }
  const trust = () => trustOf(net);
  if (endpoints.some(({ kind }) => kind === 'tls')) trust();
  return {
    endpoints,
    channel: channelLimitsOf(settings),
    trust,
    fetchTimeoutMs: rs.fetchTimeoutMs,
  };
}

/** @param over when the time of the check is over: who has not answered is away */
export async function lookFromElsewhere(
  { endpoints, ...options }: VantageOptions,
  file: SeenFile,
  clock: Clock,
  over: AbortSignal,
): Promise<Views> {
  const views = await Promise.all(endpoints.map(endpoint => viewOf(endpoint, options, file, clock, over)));
  const differing = views.filter(({ kind }) => kind !== 'same');
  const others = differing.filter(({ kind }) => kind === 'other').length;
  const failed = others > MAY_DIFFER ? 'vantages' : 'vantages-later';
  return {
    failed: differing.length > MAY_DIFFER ? failed : undefined,
    dissent: differing.map(({ says }) => says),
  };
}

function viewOf(
  endpoint: Endpoint,
  { channel, trust, fetchTimeoutMs }: Omit<VantageOptions, 'endpoints'>,
  file: SeenFile,
  clock: Clock,
  over: AbortSignal,
): Promise<View> {
  const where = `vantage ${formatEndpoint(endpoint)}`;
  const { url, places, maxBytes } = file;
  return new Promise(resolve => {
    let socket: Socket | undefined;
    const end = (view: View) => {
      over.removeEventListener('abort', late);
      socket?.destroy();
      resolve(view);
    };
    const away = (why: string) => end({ kind: 'away', says: `${where}: ${why}` });
    const late = () => away('no answer in time');
    if (over.aborted) return late();
    over.addEventListener('abort', late);
    const serve = (connected: Socket) => {
      let isAsked = false;
      const peer = new RobotPeer(
        connected,
        {
          hello(_slots, takesUnasked) {
            if (isAsked) return;
            isAsked = true;
            const terms = { url, roots: places, maxBytes, timeoutMs: fetchTimeoutMs };
            if (takesUnasked) peer.fetch(ID, undefined, { ...terms, inline: maxBytes });
            else peer.fetch(ID, FILE_THERE, terms);
          },
          fetched(result) {
            const other = differenceOf(result, file);
            end(
              other === undefined
                ? { kind: 'same', says: '' }
                : { kind: 'other', says: `${where}: ${other}` },
            );
          },
          closed: reason => away(reason === undefined ? 'connection closed' : messageOf(reason)),
        },
        { ...channel, clock, where },
      );
    };
    try {
      const dialled = dial(endpoint, endpoint.kind === 'tls' ? trust() : {}, () => serve(dialled));
      socket = dialled;
      dialled.on('error', error => away(messageOf(error)));
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      away(error.message);
    }
  });
}

/** Difference of a vantage's view from the secret; nothing of the content. */
function differenceOf(
  result: RobotResult,
  { url, places, maxBytes, text, isSecret }: SeenFile,
): string | undefined {
  if (result.status === 'error') return `error ${result.code}`;
  if (result.status !== 'ok' && result.status !== 'inline') return `status ${result.status}`;
  if (result.http !== 200) return `status ${result.http}`;
  if (!places.includes(result.finalUrl ?? url)) return 'another place';
  if (result.status === 'inline') {
    const { content, isCut } = result;
    const isSame = !isCut && content.length <= maxBytes && isSecret(Buffer.from(content));
    return isSame ? undefined : 'another content';
  }
  const { md5, len } = result;
  const forms = ['', '\n', '\r\n'].map(end => text + end);
  const isSame = forms.some(form => len === Buffer.byteLength(form) && md5 === md5Of(form));
  return isSame ? undefined : 'another content';
}

function md5Of(text: string): string {
  return createHash('md5').update(text).digest('hex');
}
