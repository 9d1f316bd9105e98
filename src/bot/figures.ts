/** The figures of lccbot. */
import { amount } from '../config/words.js';
import { counter, countOf, field, figureOf, gauge, someThat, type StatusOf } from '../daemon/figures.js';
import { formatBytes } from '../lib/bytes-text.js';

const FETCHES = {
  name: 'lcc_bot_fetches_total',
  label: 'result',
  help: 'Fetches done, by result: ok, unchanged, redirect (reported, not followed), error',
};

export const BOT_FIGURES = {
  slots: gauge('lcc_bot_slots', 'Fetches it can do at a time'),
  fetching: gauge(
    'lcc_bot_fetching_urls',
    'Slots in which a site is being asked',
    (count, status) => `${count} of ${amount(figureOf(status, 'slots'), 'slot')} fetching`,
  ),
  slow: gauge('lcc_bot_slow_urls', 'Fetches beside the slots, of sites that hardly answer'),
  storing: field<number>(someThat('being written')),
  waiting: gauge('lcc_bot_waiting_urls', 'Requests waiting for a slot', someThat('waiting')),
  managers: gauge('lcc_bot_managers', 'Bot Managers connected', {
    reasons: ({ daemon, managers }) =>
      managers === 0 && `${String(daemon)} has no Bot Manager: it looks for one`,
  }),
  idle_connections: gauge('lcc_bot_idle_connections', 'Connections to sites kept for the next request'),
  ok: countOf(FETCHES, 'ok'),
  unchanged: countOf(FETCHES, 'unchanged'),
  redirect: countOf(FETCHES, 'redirect'),
  error: countOf(FETCHES, 'error'),
  unpermitted: counter(
    'lcc_bot_unpermitted_total',
    'Fetches that were refused because the LCC is not permitted to fetch from that address',
  ),
  bytes: counter('lcc_bot_content_bytes_total', 'Bytes of content stored', count =>
    count === 0 ? '' : `${formatBytes(count)} fetched since the start`,
  ),
  wire_bytes: counter('lcc_bot_wire_bytes_total', 'Bytes received from sites, headers included'),
};

export type BotStatus = StatusOf<typeof BOT_FIGURES>;

/** Status of a robot with nothing to do, which has its Bot Manager. @param before its counts go on */
export function statusAtRest(slots: number, before?: BotStatus): BotStatus {
  const none = { fetching: 0, slow: 0, storing: 0, waiting: 0, idle_connections: 0 };
  return { idle: true, slots, managers: 1, ...none, ...countsOf(before) };
}

/** The counts among it. */
export function countsOf(status: Partial<BotStatus> = {}) {
  const {
    ok = 0,
    unchanged = 0,
    redirect = 0,
    error = 0,
    unpermitted = 0,
    bytes = 0,
    wire_bytes = 0,
  } = status;
  return { ok, unchanged, redirect, error, unpermitted, bytes, wire_bytes };
}
