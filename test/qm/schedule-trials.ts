/** What the settings of the schedule do: how much is sent, and when (settings.test.ts). */
import { fileIdOf } from '../../src/db/names/naming.js';
import type { FetchRequest, FetchResult } from '../../src/wire/fetch.js';
import { failure, ok, url } from './support.js';
import type { QmSetting, Settings, Whole } from './whole.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

export interface Trial {
  with: Settings;
  without?: Settings;
  sees: unknown;
  otherwise: unknown;
  look: (whole: Whole, expected: unknown) => Promise<unknown>;
}

export const stored = (request: FetchRequest): FetchResult => ({
  ...ok(request.url),
  id: request.id,
  fileId: fileIdOf({ id: request.id, gen: 0 }),
});

export const pages = (count: number, more = {}) =>
  Array.from({ length: count }, (_, i) => url(`p${i}`, more));

/** How many urls of a provider are on their way at most. */
async function sentAhead(whole: Whole): Promise<unknown> {
  const bm = whole.bm(1);
  await whole.send(7, pages(400));
  await whole.until(() => bm.fetches.length > 0);
  await whole.pass(2 * SECOND);
  return bm.fetches.length;
}

/** Fetches of one url that fails: after `firstMs`, and after `thenMs` more. */
async function tries(whole: Whole, fails: Parameters<typeof failure>, firstMs: number, thenMs: number) {
  const bm = whole.bm(4, ({ id }) => ({ ...failure(...fails), id }));
  await whole.send(7, [url('a')]);
  await whole.until(() => bm.fetches.length === 1);
  await whole.pass(firstMs);
  const early = bm.fetches.length;
  await whole.pass(thenMs);
  return [early > 1, bm.fetches.length > 1];
}

export const SCHEDULE_TRIALS: Partial<Record<QmSetting, Trial>> = {
  'qm.lane_window': {
    without: { 'qm.shared_window': '0' },
    with: { 'qm.lane_window': '5' },
    sees: 5,
    otherwise: 64,
    look: sentAhead,
  },
  'qm.shared_window': { with: { 'qm.shared_window': '100' }, sees: 100, otherwise: 400, look: sentAhead },
  'qm.slots': {
    with: { 'qm.slots': '168' },
    sees: [[128], []],
    otherwise: [[], [614]],
    async look(whole) {
      whole.bm(4, stored);
      await whole.send(7, [url('a', { tod: '128-130' })]);
      await whole.pass(2 * SECOND);
      const all = (sql: string) => whole.db.prepare(sql).pluck().all();
      return [all('SELECT starttimeslot FROM qpsdb'), all('SELECT code FROM pierr ORDER BY errseq')];
    },
  },
  'qm.bandwidth_bytes_per_s': {
    with: { 'qm.bandwidth_bytes_per_s': '1000' },
    sees: [1, 2],
    otherwise: [2, 2],
    async look(whole) {
      const bm = whole.bm(4, request => ({ ...stored(request), wireBytes: 100_000 }));
      for (const pid of [7, 8]) await whole.send(pid, [url('a')]);
      await whole.until(() => bm.fetches.length > 0);
      await whole.pass(90 * SECOND);
      const early = bm.fetches.length;
      await whole.pass(20 * SECOND);
      return [early, bm.fetches.length];
    },
  },
  'qm.pace_ms': {
    with: { 'qm.pace_ms': '1min' },
    sees: [1, 2],
    otherwise: [2, 2],
    async look(whole) {
      await whole.pass(2 * MINUTE);
      const bm = whole.bm(4, stored);
      await whole.send(7, pages(2));
      await whole.until(() => bm.fetches.length > 0);
      await whole.pass(50 * SECOND);
      const early = bm.fetches.length;
      await whole.pass(20 * SECOND);
      return [early, bm.fetches.length];
    },
  },
  'qm.group_lanes': {
    with: { 'qm.group_lanes': '1' },
    sees: 1,
    otherwise: 2,
    async look(whole) {
      whole.db.exec("UPDATE pidb SET groupname = 'g'");
      const bm = whole.bm(4);
      for (const pid of [7, 8]) await whole.send(pid, [url('a')]);
      await whole.until(() => bm.fetches.length > 0);
      await whole.pass(2 * SECOND);
      return bm.fetches.length;
    },
  },
  'qm.max_connections_per_host': {
    with: { 'qm.max_connections_per_host': '1' },
    sees: 1,
    otherwise: 2,
    async look(whole) {
      const bm = whole.bm(4);
      for (const pid of [7, 8]) await whole.send(pid, [url('a')]);
      await whole.until(() => bm.fetches.length > 0);
      await whole.pass(2 * SECOND);
      return bm.fetches.length;
    },
  },
  'qm.retries': {
    with: { 'qm.retries': '0' },
    sees: 1,
    otherwise: 0,
    async look(whole) {
      const bm = whole.bm(4, ({ id }) => ({ ...failure(503, 'url'), id }));
      await whole.send(7, [url('a')]);
      await whole.until(() => bm.fetches.length === 1);
      await whole.pass(5 * SECOND);
      return whole.value('SELECT count(*) FROM pierr');
    },
  },
  'qm.retry_delay_ms': {
    with: { 'qm.retry_delay_ms': '1min' },
    sees: [false, true],
    otherwise: [true, true],
    look: whole => tries(whole, [503, 'url'], 50 * SECOND, 20 * SECOND),
  },
  'qm.backoff_min_ms': {
    with: { 'qm.backoff_min_ms': '10min' },
    sees: [false, true],
    otherwise: [true, true],
    look: whole => tries(whole, [602, 'provider'], 4 * MINUTE, 7 * MINUTE),
  },
  'qm.backoff_max_ms': {
    with: { 'qm.backoff_max_ms': '30s' },
    sees: [false, true],
    otherwise: [false, false],
    look: whole => tries(whole, [429, 'url', { retryAfterMs: HOUR }], 20 * SECOND, 20 * SECOND),
  },
};
