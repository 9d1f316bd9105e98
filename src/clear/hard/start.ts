/** lccd-hard put together: requests, rails, what is noted of them; and its end. */
import type { Running, Services } from '../../daemon/types.js';
import { closeFleet, reloadLogins, startClearing, type ClearParts } from '../daemon.js';
import { Looks } from '../looks.js';
import type { HardStatus } from '../figures.js';
import { Fleet } from '../rails/fleet.js';
import { railsStatus } from '../rails/status.js';
import { RequestReader } from './reader.js';

const COUNTED_REQUESTS = 100_000;
const UPKEEP_MS = 60_000;
/** Between two pieces of a long upkeep. */
const UPKEEP_REST_MS = 50;

export function startHard(services: Services): Promise<Running> {
  return startClearing(services, 'hard', run);
}

function run(parts: ClearParts): Running {
  const { services, options, db, commits, secrets, fail } = parts;
  const { clock, log } = services;
  db.requireSound();
  const fleet = new Fleet({ db, commits, clock, log, limits: options, op: 'D', secrets });
  const reader = new RequestReader({ db, fleet, commits, clock, log, limits: options, fail });
  const looks = new Looks(parts);
  const statusOf = railsStatus(db.backlog, clock);

  looks.every(options.refreshMs, () => fleet.refresh());
  looks.every(options.pollMs, () => reader.wake());
  looks.every(UPKEEP_MS, upkeep);
  looks.watch('lccd-hard', () => reader.wake());

  function upkeep(): void {
    if (looks.isOver) return;
    const nowMs = clock.nowMs();
    const { journalMs, maxJournalRows, rejectedMs } = options.upkeep;
    commits.add(() => {
      db.queue.forgetRejectedBefore(nowMs - rejectedMs);
      if (db.journal.prune(nowMs - journalMs, maxJournalRows)) clock.after(UPKEEP_REST_MS, upkeep);
    });
  }

  return {
    status(): HardStatus {
      const queued = db.queue.count(COUNTED_REQUESTS);
      const all = statusOf(fleet.rails);
      const sum = (of: 'waiting' | 'sending') => all.reduce((total, rail) => total + rail[of], 0);
      const [waiting, sending] = [sum('waiting'), sum('sending')];
      return {
        // Pages that wait for a rail that is down, or for their time, are for later.
        idle: queued === 0 && waiting + sending === 0 && commits.waitingCount === 0,
        database_trouble: commits.trouble ?? null,
        rails: all,
        requests_queued: queued,
        requests_in_flight: reader.inFlightCount,
        pages_waiting: waiting,
        pages_sending: sending,
        requests_completed: reader.completedCount,
        requests_rejected: reader.rejectedCount,
        pages_published: reader.publishedCount,
      };
    },
    reload: () => reloadLogins(parts, fleet),
    async stop() {
      reader.stop();
      looks.end();
      await fleet.stop(options.graceMs);
      closeFleet(parts, fleet);
    },
  };
}
