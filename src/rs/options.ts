/** Settings of registration as the values that its parts take. */
import { join } from 'node:path';
import { slotsOf } from '../config/hours.js';
import type { NumberKey } from '../config/keys.js';
import { freeDiskOf } from '../config/free-disk.js';
import { xmlLimitsOf } from '../config/limits.js';
import type { Config } from '../config/load.js';
import { limitText } from '../config/settings/index.js';
import { formatEndpoint, parseEndpoint } from '../lib/endpoint.js';
import { parseNetwork } from '../lib/network.js';
import { mailOptions } from './mail/options.js';
import { mostTermsOf } from './terms.js';
import { engineOptionsOf } from './proof/site-fetcher.js';
import { vantageOptions } from './proof/vantage-options.js';

export function rsOptions(config: Config) {
  const limit = (key: NumberKey) => ({
    most: config.get(key),
    text: limitText(key, config.get(key)),
  });
  const allowAddresses = config.get('bot.allow_addresses');
  const ports = config.get('rs.ports');
  return {
    path: join(config.home.rs, 'rs.db'),
    lockPath: join(config.home.rs, 'rs.lock'),
    qmSocket: join(config.home.run, 'qm-rs.sock'),
    url: config.get('rs.url'),
    maxRoots: limit('rs.max_roots'),
    /** Where providers deliver to. */
    uns: config.get('rs.uns') || formatEndpoint(parseEndpoint(config.get('uns.listen')[0] ?? '')),
    contact: config.get('rs.contact'),
    mode: config.get('rs.mode') as 'open' | 'approve' | 'closed',
    proxies: config.get('rs.proxies').map(parseNetwork),
    /** What a new provider gets, as applicants are told; the Queue Manager has the say. */
    first: {
      filesmax: config.get('rs.filesmax'),
      spacemax: config.get('rs.spacemax_bytes'),
      fullsetsallowed: config.get('rs.fullsetsallowed'),
      priority: config.get('rs.priority'),
      bandwidth: config.get('rs.bandwidth_bytes_per_s'),
    },
    /** Of content that is taken. */
    mimetypes: config.get('uns.mime'),
    leaveMs: config.get('rs.leave_ms'),
    fullSetPeriodMs: config.get('qm.full_set_period_ms'),
    most: mostTermsOf(config),
    operator: {
      url: config.get('rs.operator_url'),
      series: {
        fineMs: config.get('rs.series_ms'),
        fineKeepMs: config.get('rs.series_keep_ms'),
        coarseMs: config.get('rs.series_coarse_ms'),
        coarseKeepMs: config.get('rs.series_coarse_keep_ms'),
      },
    },
    slots: slotsOf(config.get('qm.slots')),
    firstPid: config.get('rs.first_pid'),
    pairMs: config.get('rs.pair_ms'),
    waitMs: config.get('rs.wait_ms'),
    keepMs: config.get('rs.keep_ms'),
    auditMs: config.get('rs.audit_ms'),
    room: { maxBytes: config.get('rs.max_db_bytes'), minFree: freeDiskOf(config, 'rs') },
    limits: {
      openPairs: limit('rs.max_open_pairs'),
      perNetwork: limit('rs.pairs_per_network'),
      perHost: limit('rs.pairs_per_host'),
      checkInterval: limit('rs.check_interval_ms'),
      checksPerHour: limit('rs.checks_per_hour'),
      checks: limit('rs.max_checks'),
      checking: limit('rs.max_checking'),
      changes: limit('rs.changes_per_hour'),
    },
    sessions: {
      idleMs: config.get('rs.session_idle_ms'),
      lifetimeMs: config.get('rs.session_ms'),
      perAccount: config.get('rs.sessions_per_account'),
    },
    wrongLogins: limit('rs.wrong_logins_per_hour'),
    refusals: limit('rs.refusals_per_hour'),
    site: { ports, allowed: allowAddresses.map(parseNetwork) },
    proof: {
      ...engineOptionsOf(config),
      ports,
      checkTimeoutMs: config.get('rs.check_timeout_ms'),
      vantages: vantageOptions(config),
    },
    mail: mailOptions(config),
    unsDoor: {
      path: join(config.home.run, 'uns-door.sock'),
      xml: xmlLimitsOf(config),
      timeoutMs: config.get('rs.uns_timeout_ms'),
    },
    qm: {
      timeoutMs: config.get('rs.qm_timeout_ms'),
      askTimeoutMs: config.get('rs.ask_timeout_ms'),
      retryMs: config.get('rs.retry_ms'),
    },
  };
}

export type RsOptions = ReturnType<typeof rsOptions>;
