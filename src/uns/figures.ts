/** The figures of lccd-uns. */
import { amount } from '../config/words.js';
import {
  counter,
  field,
  figureOf,
  gauge,
  some,
  someThat,
  type Status,
  type StatusOf,
} from '../daemon/figures.js';
import { ofForeign } from '../daemon/reasons.js';
import { formatBytes } from '../lib/bytes-text.js';

/** Share of the spool's limit from which on it is reported. */
const NEARLY = 0.9;

export const UNS_FIGURES = {
  id: field<string>(),
  connections: gauge('lcc_uns_connections', 'Connections of CPs', count => amount(count, 'connection')),
  max_connections: field<number>(),
  sessions: gauge('lcc_uns_sessions', 'Connections that have logged in'),
  sets_open: gauge('lcc_uns_sets_open', 'Sets being received', some('set being sent', 'sets being sent')),
  qm_connected: gauge<boolean>('lcc_uns_qm_connected', 'Whether there is a Queue Manager: 1 or 0', {
    reasons: ofQueueManager,
  }),
  sets_spooled: gauge('lcc_uns_sets_spooled', 'Sets in the spool', (count, status) =>
    count === 0
      ? 'spool empty'
      : `${amount(count, 'set')} (${formatBytes(figureOf(status, 'spool_bytes'))}) in the spool`,
  ),
  spool_bytes: gauge('lcc_uns_spool_bytes', 'Size of the spool'),
  max_spool_bytes: gauge(
    'lcc_uns_spool_limit_bytes',
    'Size of the spool at which CPs are told to come back later',
  ),
  no_room: field<string | null>({ reasons: ofRoom }),
  sets_bad: gauge('lcc_uns_sets_set_aside', 'Sets set aside, damaged or refused by the Queue Manager', {
    reasons: ofSetsAside,
  }),
  foreign_files: field<number>({
    reasons: status => ofForeign(status, `the spool of ${String(status['daemon'])}`),
  }),
  sets_accepted: counter('lcc_uns_sets_accepted_total', 'Sets accepted', (count, status) =>
    count === 0
      ? ''
      : `${amount(count, 'set')} with ${amount(figureOf(status, 'urls_accepted'), 'url')} taken since the start`,
  ),
  urls_accepted: counter('lcc_uns_urls_accepted_total', 'Urls accepted'),
  refused: counter('lcc_uns_refused_total', 'Connections, logins and sets refused', someThat('refused')),
  sets_absorbed: counter('lcc_uns_sets_absorbed_total', 'Sets that the Queue Manager has taken'),
  absorb_wait: gauge(
    'lcc_uns_absorb_wait_seconds',
    'Seconds that the CP of a kept home has waited which waits longest for its set to be absorbed; where none waits, those of the last',
  ),
  listens: field<readonly string[]>(),
};

export type UnsStatus = StatusOf<typeof UNS_FIGURES>;

function ofQueueManager(uns: Status): string | false {
  const spooled = figureOf(uns, 'sets_spooled');
  const waiting = spooled === 0 ? '' : `: ${amount(spooled, 'set waits', 'sets wait')} in the spool`;
  return uns['qm_connected'] === false && `${String(uns['daemon'])} has no Queue Manager${waiting}`;
}

function ofRoom(uns: Status): string | false {
  const daemon = String(uns['daemon']);
  if (typeof uns['no_room'] === 'string')
    return `${daemon} takes no sets, providers are told to come back later: ${uns['no_room']}`;
  const bytes = figureOf(uns, 'spool_bytes');
  const max = figureOf(uns, 'max_spool_bytes');
  return (
    max > 0 &&
    bytes >= max * NEARLY &&
    `the spool of ${daemon} is nearly full: ${formatBytes(bytes)} of ${formatBytes(max)} (uns.max_spool_bytes)`
  );
}

function ofSetsAside(uns: Status): string | false {
  const bad = figureOf(uns, 'sets_bad');
  return (
    bad > 0 &&
    `${amount(bad, 'set is', 'sets are')} set aside in the spool of ${String(uns['daemon'])}, below bad/, damaged or refused: its log says why; remove ${bad === 1 ? 'it' : 'them'} when it is clear what became of what ${bad === 1 ? 'it' : 'they'} named`
  );
}
