/**
 * Figures of the LCC as a whole, which none of its daemons has: what it holds, the room that is left, the
 * oldest url that waits, and when each provider was heard of. lccd reads them from lcc.db when somebody asks
 * for its metrics.
 */
import { field, gauge, gaugeOf, listOf, type Figures, type Metric, type Status } from '../daemon/figures.js';
import type { Look } from '../daemon/ask.js';
import { countSilent, readRhythms } from '../db/providers/silence.js';
import type { Db } from '../db/sqlite/open.js';
import { readWhole } from '../db/queue/shape.js';
import type { Home } from '../config/home.js';
import { spaceOf } from '../lib/disk-space.js';
import type { Sampled } from '../web/metrics.js';
import { isOfKind } from './kinds.js';
import type { FiguresByKind } from './look/table.js';

/** Providers with metrics of their own, the silent ones first: the number of metrics stays bounded. */
const MOST_PROVIDERS = 1000;

const FREE = { name: 'lcc_disk_free_bytes', label: 'of', help: 'Free space of the disk, by what is on it' };
const SIZE = { name: 'lcc_disk_size_bytes', label: 'of', help: 'Size of the disk, by what is on it' };

type OfProvider = [name: string, help: string, number: (provider: Status) => number | undefined];

const OF_PROVIDERS: readonly OfProvider[] = [
  [
    'lcc_provider_silent',
    'Whether no set has come for three times the usual interval, and for a day: 1 or 0',
    ({ silent }) => Number(silent === true),
  ],
  ['lcc_provider_last_set_seconds', 'Seconds since the last set', ({ age_s: ageS }) => Number(ageS)],
  [
    'lcc_provider_interval_seconds',
    'Seconds between two sets, as is usual',
    ({ every }) => Number(every) || undefined,
  ],
];

export const WHOLE_FIGURES = {
  providers: gauge('lcc_providers', 'Providers there are'),
  pages: gauge('lcc_pages', 'Pages held'),
  store_bytes: gauge('lcc_store_bytes', 'Bytes of the pages held'),
  store_free_bytes: gaugeOf(FREE, 'store'),
  home_free_bytes: gaugeOf(FREE, 'home'),
  store_size_bytes: gaugeOf(SIZE, 'store'),
  home_size_bytes: gaugeOf(SIZE, 'home'),
  urls_waiting: gauge('lcc_queue_urls', 'Urls that wait'),
  oldest_waiting: gauge(
    'lcc_queue_oldest_seconds',
    'Seconds since the set of the oldest url waiting was taken; 0: none waits',
  ),
  providers_silent: gauge('lcc_providers_silent', 'Providers that have fallen silent'),
  rhythms: field<readonly object[]>({ metrics: OF_PROVIDERS.map(ofProviders) }),
};

/** Figures of each daemon below `run`, beside those of its kind. */
export const DAEMON_FIGURES = {
  answers: gauge<boolean>('lcc_daemon_answers', 'Whether the daemon answers: 1 or 0'),
  idle: gauge<boolean>('lcc_daemon_idle', 'Whether it has nothing to do: 1 or 0'),
  rss_bytes: gauge('lcc_daemon_memory_bytes', 'Memory it has (resident set)'),
};

function ofProviders([name, help, number]: OfProvider): Metric {
  const samples = (rhythms: unknown) =>
    Object.fromEntries(
      listOf({ rhythms }, 'rhythms').flatMap(one => {
        const value = number(one);
        return value === undefined ? [] : [[String(one['pid']), value] as const];
      }),
    );
  return { name, kind: 'gauge', help, label: 'pid', samples };
}

/** @param db undefined: it cannot be read now */
export function wholeStatus(
  { dir, store }: Pick<Home, 'dir' | 'store'>,
  db: Db | undefined,
  nowMs: number,
): Status {
  const nowS = Math.floor(nowMs / 1000);
  return { ...spaces({ home: dir, store }), ...(db === undefined ? {} : counts(db, nowS)) };
}

function counts(db: Db, nowS: number): Status {
  const read = db.transaction(() => {
    const { oldest, bytes, waiting, ...whole } = readWhole(db);
    const rhythms = readRhythms(db, nowS, MOST_PROVIDERS);
    return {
      ...whole,
      store_bytes: bytes,
      urls_waiting: waiting,
      oldest_waiting: oldest === 0 ? 0 : Math.max(0, nowS - oldest),
      providers_silent: countSilent(db, nowS),
      rhythms: rhythms.map(one => ({ ...one, age_s: Math.max(0, nowS - one.lastset) })),
    };
  });
  return read();
}

/** A disk that is not mounted has none. */
function spaces(dirs: Readonly<Record<string, string>>): Status {
  return Object.fromEntries(
    Object.entries(dirs).flatMap(([name, dir]) => {
      try {
        const { freeBytes, totalBytes } = spaceOf(dir);
        return [
          [`${name}_free_bytes`, freeBytes],
          [`${name}_size_bytes`, totalBytes],
        ];
      } catch {
        return [];
      }
    }),
  );
}

/** What all daemons say of themselves, each with its name as a label. */
export function sampledOf(looks: readonly Look[], figures: FiguresByKind): Sampled[] {
  return looks.flatMap((look): Sampled[] => {
    const labels = { daemon: look.name };
    if (!('status' in look)) return [{ figures: DAEMON_FIGURES, status: { answers: false }, labels }];
    const { status } = look;
    const kind = Object.keys(figures).find(each => isOfKind(look.name, each));
    const own: Figures = kind === undefined ? {} : (figures[kind] ?? {});
    return [
      { figures: DAEMON_FIGURES, status: { ...status, answers: true }, labels },
      { figures: own, status, labels },
    ];
  });
}
