/** Settings of cache clearing as the values that its parts take. */
import { join } from 'node:path';
import type { Config } from '../config/load.js';
import { limitText } from '../config/settings/index.js';

export function clearOptions(config: Config) {
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
  };
}

export type ClearOptions = ReturnType<typeof clearOptions>;
export type RailLimits = ClearOptions['rail'];
export type SenderLimits = ClearOptions['sender'];
