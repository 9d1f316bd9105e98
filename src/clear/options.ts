/** Settings of cache clearing as the values that its parts take. */
import { join } from 'node:path';
import { limitIn, type Settings } from '../config/settings/index.js';
import type { Services } from '../daemon/types.js';
import { LccError, messageOf } from '../lib/errors.js';

/** @throws LccError `config` for a pattern that is none */
export function clearOptions({ home, settings: { clear } }: Pick<Services, 'home' | 'settings'>) {
  return {
    path: join(home.clear, 'clear.db'),
    lockPath: (daemon: 'hard' | 'soft') => join(home.clear, `${daemon}.lock`),
    secretsFile: clear.secretsFile || join(home.clear, 'secrets.toml'),
    pollMs: clear.pollMs,
    refreshMs: clear.refreshMs,
    graceMs: clear.graceMs,
    resolve: {
      utf8: clear.utf8,
      maxPages: clear.maxRequestPages,
      maxPagesText: limitIn({ clear }, 'clear.max_request_pages'),
    },
    window: { maxRequests: clear.windowRequests, maxPages: clear.windowPages },
    isPaper: clear.dedupe === 'paper',
    commits: {
      maxChanges: clear.commitRequests,
      maxWaitMs: clear.commitMs,
      timeoutMs: clear.databaseTimeoutMs,
    },
    upkeep: clear,
    rail: {
      ...clear,
      backoff: { minMs: clear.backoffMinMs, maxMs: clear.backoffMaxMs },
      backlogMaxAgeMs: clear.backlogMaxAgeMs || Infinity,
    },
    sender: clear as SenderLimits,
    soft: {
      bodiesDir: join(home.clear, 'bodies'),
      generators: clear.softGenerators,
      windowPages: clear.softWindowPages,
      answerTimeoutMs: clear.softAnswerTimeoutMs,
      totalTimeoutMs: clear.softTotalTimeoutMs,
      maxPageBytes: clear.softMaxPageBytes,
      maxPageText: limitIn({ clear }, 'clear.soft_max_page_bytes'),
      mustMatch: patternOf('clear.soft_must_match', clear.softMustMatch),
      onGone: clear.softOnGone,
      memoryPageBytes: clear.softMemoryPageBytes,
      memoryBytes: clear.softMemoryBytes,
      spoolBytes: clear.softSpoolBytes,
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
export type SenderLimits = Pick<
  Settings['clear'],
  'connectTimeoutMs' | 'answerTimeoutMs' | 'totalTimeoutMs' | 'keepAliveMs' | 'allowPlain'
>;
