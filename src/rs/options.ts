/** Settings of registration as the values that its parts take. */
import { join } from 'node:path';
import { freeDiskOf } from '../config/free-disk.js';
import { xmlLimitsOf } from '../config/limits.js';
import { limitIn, valueOf, type NumberKey } from '../config/settings/index.js';
import type { Services } from '../daemon/types.js';
import { formatEndpoint, parseEndpoint } from '../lib/endpoint.js';
import { parseNetwork } from '../lib/network.js';
import { usesOf } from './limits.js';
import { mailOptions } from './mail/options.js';
import { firstTermsOf, mostTermsOf } from '../wire/terms.js';
import { engineOptionsOf } from './proof/site-fetcher.js';
import { vantageOptions } from './proof/vantage-options.js';

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
    most: mostTermsOf(rs),
    operator: {
      url: rs.operatorUrl,
      series: {
        fineMs: rs.seriesMs,
        fineKeepMs: rs.seriesKeepMs,
        coarseMs: rs.seriesCoarseMs,
        coarseKeepMs: rs.seriesCoarseKeepMs,
      },
    },
    slots: qm.slots,
    firstPid: rs.firstPid,
    pairMs: rs.pairMs,
    waitMs: rs.waitMs,
    keepMs: rs.keepMs,
    auditMs: rs.auditMs,
    room: { maxBytes: rs.maxDbBytes, minFree: freeDiskOf(settings, 'rs') },
    limits: {
      openPairs: limit('rs.max_open_pairs'),
      perHost: limit('rs.pairs_per_host'),
      checkInterval: limit('rs.check_interval_ms'),
      checksPerHour: limit('rs.checks_per_hour'),
      checks: limit('rs.max_checks'),
      checking: limit('rs.max_checking'),
    },
    uses: usesOf(rs),
    sessions: {
      idleMs: rs.sessionIdleMs,
      lifetimeMs: rs.sessionMs,
      perAccount: rs.sessionsPerAccount,
    },
    refusals: limit('rs.refusals_per_hour'),
    site: { ports: rs.ports, allowed: bot.allowAddresses.map(parseNetwork) },
    proof: {
      ...engineOptionsOf(settings),
      ports: rs.ports,
      checkTimeoutMs: rs.checkTimeoutMs,
      vantages: vantageOptions(settings),
    },
    mail: mailOptions(rs),
    unsDoor: {
      path: join(home.run, 'uns-door.sock'),
      xml: xmlLimitsOf(settings.xml),
      timeoutMs: rs.unsTimeoutMs,
    },
    qm: {
      timeoutMs: rs.qmTimeoutMs,
      askTimeoutMs: rs.askTimeoutMs,
      retryMs: rs.retryMs,
    },
  };
}

export type RsOptions = ReturnType<typeof rsOptions>;
