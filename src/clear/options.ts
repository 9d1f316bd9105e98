/** Settings of cache clearing as the values that its parts take. */
import { join } from 'node:path';
import { DAY, MB } from '../config/amounts.js';
import { limitIn, type Settings } from '../config/settings/index.js';
import type { Services } from '../daemon/types.js';
import { LccError, messageOf } from '../lib/errors.js';
import { isLocked } from '../lib/lock.js';

/** Pages, each for one rail, at which no more requests are taken. */
const WINDOW_PAGES = 100_000;
/** Pages of one request on one target. */
const MAX_REQUEST_PAGES = 1000;
/** Pages that are generated at a time. */
const SOFT_GENERATORS = 4;
/** Pages on their way to rails at which no more are generated. */
const SOFT_WINDOW_PAGES = 2000;
/** The longest that what is done waits for more of its commit. */
const COMMIT_MS = 20;
/** Of what was cleared, for `lccrail resync`. */
const MAX_JOURNAL_ROWS = 1_000_000;
/** Of a load balancer: time to answer, or between two bytes of a page; and for the whole page. */
const SOFT_ANSWER_MS = 30_000;
const SOFT_TOTAL_MS = 120_000;
/** For which rejected requests are kept. */
const REJECTED_MS = 30 * DAY;
/** Time between two tries to connect to a rail, which is DOWN when both fail. */
const SUSPECT_MS = 200;
/** Requests to a rail whose mean time is looked at, and the mean above which it is logged as SLOW. */
const SLOW_WINDOW = 50;
const SLOW_MS = 2000;
/** Pages that wait for a rail beyond those of the best of its target before it is logged as DELAYED. */
const DELAYED_PAGES = 1000;
/** Requests in a row without an answer in time after which a rail is DOWN. */
const HUNG_AFTER = 3;
/** Time an idle connection to a rail is kept. */
const KEEP_ALIVE_MS = 4000;

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
      maxPages: MAX_REQUEST_PAGES,
    },
    window: { maxRequests: clear.windowRequests, maxPages: WINDOW_PAGES },
    isPaper: clear.dedupe === 'paper',
    commits: {
      maxChanges: clear.commitRequests,
      maxWaitMs: COMMIT_MS,
      timeoutMs: clear.databaseTimeoutMs,
    },
    upkeep: { ...clear, maxJournalRows: MAX_JOURNAL_ROWS, rejectedMs: REJECTED_MS },
    rail: {
      ...clear,
      hungAfter: HUNG_AFTER,
      suspectMs: SUSPECT_MS,
      slowWindow: SLOW_WINDOW,
      slowMs: SLOW_MS,
      delayedPages: DELAYED_PAGES,
      backoff: { minMs: clear.backoffMinMs, maxMs: clear.backoffMaxMs },
      backlogMaxAgeMs: clear.backlogMaxAgeMs || Infinity,
    },
    sender: { ...clear, keepAliveMs: KEEP_ALIVE_MS } as SenderLimits,
    soft: {
      bodiesDir: join(home.clear, 'bodies'),
      generators: SOFT_GENERATORS,
      windowPages: SOFT_WINDOW_PAGES,
      answerTimeoutMs: SOFT_ANSWER_MS,
      totalTimeoutMs: SOFT_TOTAL_MS,
      maxPageBytes: clear.softMaxPageBytes,
      maxPageText: limitIn({ clear }, 'clear.soft_max_page_bytes'),
      mustMatch: patternOf('clear.soft_must_match', clear.softMustMatch),
      onGone: clear.softOnGone,
      memoryPageBytes: MB,
      memoryBytes: clear.softMemoryBytes,
      spoolBytes: clear.softSpoolBytes,
    },
  };
}

/** Which daemons of cache clearing do not run: what is queued waits for them. */
export function stoppedDaemons({ lockPath }: Pick<ClearOptions, 'lockPath'>): string[] {
  const daemons = ['hard', 'soft'] as const;
  return daemons.filter(daemon => !isLocked(lockPath(daemon))).map(daemon => `lccd-${daemon}`);
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
  'connectTimeoutMs' | 'answerTimeoutMs' | 'totalTimeoutMs' | 'allowPlain'
> & { keepAliveMs: number };
