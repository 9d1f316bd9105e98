/** Settings of registration as the values that its parts take. */
import { join } from 'node:path';
import { DAY, HOUR, MINUTE, SECOND } from '../config/amounts.js';
import { freeDiskOf } from '../config/free-disk.js';
import { xmlLimitsOf } from '../config/limits.js';
import { limitIn, valueOf, type NumberKey } from '../config/settings/index.js';
import type { Services } from '../daemon/types.js';
import { formatEndpoint, parseEndpoint } from '../lib/endpoint.js';
import { parseNetwork } from '../lib/network.js';
import { usesOf } from './limits.js';
import { AUDIT_MS, mailOptions } from './mail/options.js';
import { DOOR_LIMITS } from '../wire/door-sets.js';
import { firstTermsOf, MOST_TERMS } from '../wire/terms.js';
import { engineOptionsOf } from './proof/site-fetcher.js';
import { vantageOptions } from './proof/vantages.js';

/** Times of a pair to be proven, of a site to be approved, of one that is over to be kept. */
const TIMES = { pairMs: 7 * DAY, waitMs: 30 * DAY, keepMs: 30 * DAY };
/** A login: over after this time without a request, in any case, and when there are more of an account. */
const SESSIONS = { idleMs: 30 * MINUTE, lifetimeMs: 12 * HOUR, perAccount: 10 };
/** Operators' graphs: for which figures are kept; time of a mean of them, and for which means are kept. */
const SERIES = {
  fineKeepMs: HOUR,
  coarseMs: 5 * MINUTE,
  coarseKeepMs: 30 * DAY,
};
/** The longest check, with all its fetches. */
const CHECK_TIMEOUT_MS = 15 * SECOND;
/** Waits for an answer: of the UNS; of the Queue Manager, for an operation, and for a page or a request. */
const UNS_TIMEOUT_MS = 5 * SECOND;
const QM_TIMEOUT_MS = 30 * SECOND;
const ASK_TIMEOUT_MS = 3 * SECOND;

/** A limit that no setting has. */
const fixed = (most: number) => ({ most, text: String(most) });

/** A page below rs.url, which may end with a slash or not. */
export function urlBelow(url: string, path: string): string {
  return `${url.replace(/\/$/, '')}/${path}`;
}

export function rsOptions({ home, settings }: Pick<Services, 'home' | 'settings'>) {
  const { rs, bot, uns, qm } = settings;
  const limit = (key: NumberKey) => ({ most: valueOf(settings, key), text: limitIn(settings, key) });
  return {
    path: join(home.rs, 'rs.db'),
    lockPath: join(home.rs, 'rs.lock'),
    qmSocket: join(home.run, 'qm-rs.sock'),
    url: rs.url,
    maxRoots: limit('rs.max_roots'),
    /** Where providers deliver to. */
    uns: rs.uns || formatEndpoint(parseEndpoint(uns.listen[0] ?? '')),
    contact: rs.contact,
    mode: rs.mode,
    proxies: rs.proxies.map(parseNetwork),
    /** Terms that a new provider gets, as applicants are told; the Queue Manager has the say. */
    first: firstTermsOf(rs),
    /** Types of content that is taken. */
    mimetypes: uns.mime,
    leaveMs: rs.leaveMs,
    fullSetPeriodMs: qm.fullSetPeriodMs,
    most: MOST_TERMS,
    operator: {
      url: rs.operatorUrl,
      series: { ...SERIES, fineMs: rs.seriesMs },
    },
    slots: qm.slots,
    firstPid: rs.firstPid,
    ...TIMES,
    auditMs: AUDIT_MS,
    room: { maxBytes: rs.maxDbBytes, minFree: freeDiskOf(settings, 'rs') },
    limits: {
      openPairs: fixed(10_000),
      perHost: fixed(20),
      checkInterval: limit('rs.check_interval_ms'),
      checksPerHour: limit('rs.checks_per_hour'),
      checks: fixed(30),
      checking: fixed(4),
    },
    uses: usesOf(rs),
    sessions: SESSIONS,
    refusals: fixed(1000),
    site: { ports: rs.ports, allowed: bot.allowAddresses.map(parseNetwork) },
    proof: {
      ...engineOptionsOf(settings),
      ports: rs.ports,
      checkTimeoutMs: CHECK_TIMEOUT_MS,
      vantages: vantageOptions(settings),
    },
    mail: mailOptions(rs),
    unsDoor: {
      path: join(home.run, 'uns-door.sock'),
      xml: xmlLimitsOf(settings.xml),
      timeoutMs: UNS_TIMEOUT_MS,
    },
    push: {
      door: {
        ...DOOR_LIMITS,
        door: { kind: 'unix', path: join(home.run, 'uns-push.sock') } as const,
        limits: xmlLimitsOf(settings.xml),
      },
      urlIntervalMs: settings.push.urlIntervalMs,
    },
    qm: { timeoutMs: QM_TIMEOUT_MS, askTimeoutMs: ASK_TIMEOUT_MS, retryMs: rs.retryMs },
  };
}

export type RsOptions = ReturnType<typeof rsOptions>;
