/** Overviews as a Queue Manager gives them. */
import type { RsOverview, RsProviderRow, TakenSet } from '../../src/wire/rs-looks.js';
import type { UrlLife } from '../../src/wire/url-life.js';

/** @param counted since the start of the Queue Manager */
export function overviewAt(atMs: number, counted: Record<string, number> = {}, ages = [1, 2, 3]): RsOverview {
  const all = Array.from({ length: 10 }, (_, i) => ages[i] ?? 0);
  return {
    at_ms: atMs,
    took_ms: 3,
    summary: '6 urls wait for 1 provider',
    reasons: [],
    providers: 1,
    sites: [],
    queue: {
      age_minutes: [5, 10, 20, 40, 80, 160, 320, 640, 1280],
      total: { waiting: all.reduce((sum, count) => sum + count, 0), ages: all, exact: true },
      providers: [],
      left_off: { providers: 0, waiting: 0 },
    },
    machines: [
      { name: 'm1', isHere: true, slots: 16, note: '' },
      { name: 'm2', isHere: false, slots: 0, note: 'away' },
    ],
    daemons: [
      {
        name: 'lccd-qm',
        idle: false,
        up_s: 9,
        rss_bytes: 1,
        doing: '',
        figures: { pid: 1, in_flight: 4, stored: 0, wire_bytes: 0, ...counted },
      },
    ],
  };
}

/** A provider as the list of them has it; its root has markup of a stranger. */
export const ROW: RsProviderRow = {
  pid: 7,
  origin: 'operator',
  enabled: true,
  paused: true,
  root: 'http://a.example.org/<script>alert(1)</script>/',
  roots: 2,
  waiting: 5,
  errors: 0,
  files: 12,
  bytes: 4096,
  full_set_wanted: null,
  connected_ms: 0,
  heard_ms: 0,
  crawled: false,
  left_alone_until_ms: 0,
  sets: [],
};
/** A set of it, unless told otherwise of 12 changes. */
export function setAt(atMs: number, more: Partial<TakenSet> = {}): TakenSet {
  const counts = { queued: 12, duplicate: 1, unchanged: 2, deleted: 3 };
  return { psetid: 1, at: Math.floor(atMs / 1000), isfull: 0, complete: 1, held: 0, ...counts, ...more };
}

/** The same as the page of one has it. */
export const PROVIDER = {
  pid: 7,
  origin: 'operator',
  enabled: true,
  paused: 0,
  roots: ['http://a/'],
  filesmax: 5,
  timeofday: '',
};

export const LIFE_URL = 'http://h/page';
/** A url that failed, and is tried again. */
export const LIFE: UrlLife = {
  pid: 7,
  root: 'http://h/',
  state: 'does not answer',
  rows: [
    {
      mimetype: 'text/html',
      announced: { psetid: 3, at: 1_700_000_000, door: 'owner', uns: 'uns', full: false },
      waiting: { tries: 2, since: null, opens: null },
      held: null,
      failure: { code: 500, text: 'a <b>', at: 1_700_000_100, received: true },
      gone: null,
      absent: null,
    },
  ],
};
