/** Settings of cache clearing as the values that its parts take. */
import { join } from 'node:path';
import type { Config } from '../config/load.js';
import { limitText } from '../config/settings/index.js';
import { LccError, messageOf } from '../lib/errors.js';

/** @throws LccError `config` for a pattern that is none */
export function clearOptions(config: Config) {
  const maxPageBytes = config.get('clear.soft_max_page_bytes');
  const maxPages = config.get('clear.max_request_pages');
  return {
    path: join(config.home.clear, 'clear.db'),
    lockPath: (daemon: 'hard' | 'soft') => join(config.home.clear, `${daemon}.lock`),
    secretsFile: config.get('clear.secrets_file') || join(config.home.clear, 'secrets.toml'),
    pollMs: config.get('clear.poll_ms'),
    refreshMs: config.get('clear.refresh_ms'),
    graceMs: config.get('clear.grace_ms'),
    resolve: {
      utf8: config.get('clear.utf8'),
      maxPages,
      maxPagesText: limitText('clear.max_request_pages', maxPages),
    },
    window: {
      maxRequests: config.get('clear.window_requests'),
      maxPages: config.get('clear.window_pages'),
    },
    isPaper: config.get('clear.dedupe') === 'paper',
    commits: {
      maxChanges: config.get('clear.commit_requests'),
      maxWaitMs: config.get('clear.commit_ms'),
      timeoutMs: config.get('clear.database_timeout_ms'),
    },
    upkeep: {
      journalMs: config.get('clear.journal_ms'),
      maxJournalRows: config.get('clear.max_journal_rows'),
      rejectedMs: config.get('clear.rejected_ms'),
    },
    rail: {
      suspectMs: config.get('clear.suspect_ms'),
      hungAfter: config.get('clear.hung_after'),
      slowWindow: config.get('clear.slow_window'),
      slowMs: config.get('clear.slow_ms'),
      delayedPages: config.get('clear.delayed_pages'),
      backoff: { minMs: config.get('clear.backoff_min_ms'), maxMs: config.get('clear.backoff_max_ms') },
      parkAfter: config.get('clear.park_after'),
      backlogRetryMs: config.get('clear.backlog_retry_ms'),
      backlogMaxAgeMs: config.get('clear.backlog_max_age_ms') || Infinity,
      reboundMs: config.get('clear.rebound_ms'),
    },
    sender: {
      connectTimeoutMs: config.get('clear.connect_timeout_ms'),
      answerTimeoutMs: config.get('clear.answer_timeout_ms'),
      totalTimeoutMs: config.get('clear.total_timeout_ms'),
      keepAliveMs: config.get('clear.keep_alive_ms'),
      allowPlain: config.get('clear.allow_plain'),
    },
    soft: {
      bodiesDir: join(config.home.clear, 'bodies'),
      generators: config.get('clear.soft_generators'),
      windowPages: config.get('clear.soft_window_pages'),
      answerTimeoutMs: config.get('clear.soft_answer_timeout_ms'),
      totalTimeoutMs: config.get('clear.soft_total_timeout_ms'),
      maxPageBytes,
      maxPageText: limitText('clear.soft_max_page_bytes', maxPageBytes),
      mustMatch: patternOf('clear.soft_must_match', config.get('clear.soft_must_match')),
      onGone: config.get('clear.soft_on_gone') === 'keep' ? ('keep' as const) : ('delete' as const),
      memoryPageBytes: config.get('clear.soft_memory_page_bytes'),
      memoryBytes: config.get('clear.soft_memory_bytes'),
      spoolBytes: config.get('clear.soft_spool_bytes'),
    },
  };
}

function patternOf(key: string, pattern: string): RegExp | undefined {
  if (pattern === '') return undefined;
  try {
    return new RegExp(pattern, 'u');
  } catch (error) {
    throw new LccError('config', `${key}: no regular expression: ${messageOf(error)}`);
  }
}

export type ClearOptions = ReturnType<typeof clearOptions>;
export type RailLimits = ClearOptions['rail'];
export type SenderLimits = ClearOptions['sender'];
