/** The figures of lccd-bm: those of every one, those of one with a store, those of a relay. */
import { amount, formatUntil } from '../config/words.js';
import {
  field,
  figureOf,
  gauge,
  listOf,
  some,
  someThat,
  type Status,
  type StatusOf,
} from '../daemon/figures.js';
import { managerOf, ofSilence } from '../daemon/reasons.js';

const OF_ALL = {
  source: gauge<boolean>(
    'lcc_bm_qm_connected',
    'Whether there is a Queue Manager (or another source): 1 or 0',
    {
      reasons: ({ source, daemon }) =>
        source === false && `${String(daemon)} has lost the Queue Manager: it looks for it`,
    },
  ),
  slots: gauge('lcc_bm_slots', 'Fetches they can do at a time'),
  fetching: gauge('lcc_bm_fetching_urls', 'Requests given to robots', sentOn),
  begun: field<number>(),
  waiting: gauge('lcc_bm_waiting_urls', 'Requests waiting for a robot', someThat('waiting for a slot')),
  lanes: gauge('lcc_bm_lanes', 'Lanes in use'),
  deletions_waiting: gauge(
    'lcc_bm_deletions_waiting',
    'Files to be deleted',
    some('deletion waiting', 'deletions waiting'),
  ),
};

const OF_STORE = {
  machineid: field<string>(),
  robots_silent: gauge<readonly object[]>(
    'lcc_bm_robots_silent',
    'Robots that leave pings without an answer',
    {
      reasons: status =>
        listOf(status, 'robots_silent').flatMap(robot =>
          ofSilence(`the ${String(robot['peer'])}`, robot, status['daemon']),
        ),
    },
  ),
  robots_lost: gauge<readonly object[]>(
    'lcc_bm_robots_lost',
    'Robots lost within a day that have not come back',
    {
      reasons: (status, nowMs) =>
        listOf(status, 'robots_lost').map(
          ({ reason, at_ms: atMs }) =>
            `${String(status['daemon'])} lost a robot at ${formatUntil(Number(atMs), nowMs)}, which has not come back: ${String(reason)}`,
        ),
    },
  ),
  store_full: gauge<boolean>('lcc_bm_store_full', 'Whether the disk of the store is nearly full: 1 or 0', {
    reasons: ({ store_full: isFull, machineid, no_room: noRoom }) =>
      isFull === true &&
      `store full on machine ${String(machineid)}: ${String(noRoom)}; nothing is fetched until there is room: free some, or lower what is needed`,
  }),
  no_room: field<string | null>(),
  disk: field<{ free_bytes: number; total_bytes: number; needed_bytes: number }>(),
  names_full: field<boolean>({
    reasons: ({ names_full: isFull, machineid }) =>
      isFull === true &&
      `no room to note deletions in names.db on machine ${String(machineid)}: they wait until their files, whose grace ends, have made some`,
  }),
  robots: gauge('lcc_bm_robots', 'Robots connected', {
    word: (count, status) => (isRelay(status) ? '' : `${amount(count, 'robot')} ${withSlots(status)}`),
    reasons: status =>
      !isRelay(status) &&
      figureOf(status, 'robots') === 0 &&
      `no robot is connected to ${String(status['daemon'])}: nothing can be fetched`,
  }),
  names_free: gauge('lcc_bm_names_free', 'File names at hand'),
  names_in_grace: gauge('lcc_bm_names_in_grace', 'Files deleted that stay for the grace period'),
};

const OF_RELAY = {
  relay: field<true>(),
  bot_managers: gauge<readonly object[]>('lcc_bm_bot_managers', 'Bot Managers connected to a relay', {
    reasons: ofManagers,
  }),
  machines: gauge('lcc_bm_machines', 'Machines below a relay', (count, status) =>
    isRelay(status) ? `relays to ${amount(count, 'machine')} ${withSlots(status)}` : '',
  ),
};

export const BM_FIGURES = { ...OF_RELAY, ...OF_STORE, ...OF_ALL };

export type BmStatus = StatusOf<typeof OF_STORE & typeof OF_ALL>;
export type RelayStatus = StatusOf<typeof OF_RELAY & typeof OF_ALL>;

function isRelay(status: Status): boolean {
  return status['relay'] === true;
}

function withSlots(status: Status): string {
  return `with ${amount(figureOf(status, 'slots'), 'slot')}`;
}

/** The number of requests that robots and machines have, most of them ahead of their turn. */
function sentOn(sent: number, status: Status): string {
  const whom = isRelay(status) ? 'machines' : 'robots';
  return sent === 0 ? '' : `${sent} sent to ${whom}, ${figureOf(status, 'begun')} of them begun`;
}

function ofManagers(status: Status): readonly string[] | string {
  const managers = listOf(status, 'bot_managers');
  return isRelay(status) && managers.length === 0
    ? `no Bot Manager is connected to ${String(status['daemon'])}: nothing can be fetched`
    : managers.flatMap(manager => ofSilence(managerOf(manager), manager, status['daemon']));
}
