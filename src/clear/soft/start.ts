/** lccd-soft put together: publications, contents, rails, what is noted of them; and its end. */
import type { Running, Services } from '../../daemon/types.js';
import { closeFleet, reloadLogins, startClearing, type ClearParts } from '../daemon.js';
import { Looks } from '../looks.js';
import type { SoftStatus } from '../figures.js';
import { Fleet } from '../rails/fleet.js';
import { railsStatus } from '../rails/status.js';
import { Bodies } from './bodies.js';
import { Generator } from './generator.js';
import { removeLeftNames, replayedBodies } from './leftovers.js';
import { Publisher } from './publisher.js';

const COUNTED_PAGES = 100_000;

export function startSoft(services: Services): Promise<Running> {
  return startClearing(services, 'soft', run);
}

function run(parts: ClearParts): Running {
  const { services, options, db, commits, secrets, fail } = parts;
  const { clock, log } = services;
  const bodies = new Bodies({
    dir: options.soft.bodiesDir,
    ...options.soft,
    isNeeded: sha => db.backlog.needsBody(sha),
    log,
  });
  const fleet = new Fleet({
    db,
    commits,
    clock,
    log,
    limits: options,
    op: 'P',
    secrets,
    bodyOf: replayedBodies(db, bodies, commits, clock),
    keepBody: ({ sha }) => (sha === '' ? sha : bodies.keep(sha)),
  });
  const source = new Generator(options.soft, options.sender, { db, commits, clock });
  const publisher = new Publisher({ db, fleet, commits, bodies, source, clock, log, limits: options, fail });
  const looks = new Looks(parts);
  const statusOf = railsStatus(db.backlog, clock);

  removeLeftNames(db, fleet, commits);
  looks.every(options.refreshMs, () => {
    fleet.refresh();
    bodies.sweep();
  });
  looks.every(options.pollMs, () => publisher.poll());
  looks.watch('lccd-soft', () => publisher.wake());

  return {
    status(): SoftStatus {
      const all = statusOf(fleet.rails);
      const sum = (of: 'waiting' | 'sending') => all.reduce((total, rail) => total + rail[of], 0);
      const pages = db.soft.waitingCount(COUNTED_PAGES);
      return {
        idle: pages === 0 && sum('waiting') + sum('sending') === 0 && commits.waitingCount === 0,
        database_trouble: commits.trouble ?? null,
        rails: all,
        generation_error: publisher.lastError === '' ? null : publisher.lastError,
        pages_to_publish: pages,
        pages_generating: publisher.generatingCount,
        pages_on_rails: publisher.onRailsCount,
        memory_bytes: bodies.memoryBytes,
        spool_bytes: bodies.spoolBytes,
        pages_generated: publisher.generatedCount,
        generations_failed: publisher.failedCount,
        pages_gone: publisher.goneCount,
        publications_done: publisher.doneCount,
      };
    },
    reload: () => reloadLogins(parts, fleet),
    async stop() {
      publisher.stop();
      looks.end();
      await fleet.stop(options.graceMs);
      source.close();
      closeFleet(parts, fleet);
    },
  };
}
