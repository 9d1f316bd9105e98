/** Publications over rails that answer at once, and a load balancer that is a function. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { clearOptions } from '../../src/clear/options.js';
import { Commits } from '../../src/clear/rails/commits.js';
import { Fleet } from '../../src/clear/rails/fleet.js';
import { Bodies } from '../../src/clear/soft/bodies.js';
import type { PageSource } from '../../src/clear/soft/generator.js';
import { Publisher } from '../../src/clear/soft/publisher.js';
import { loadConfig } from '../../src/config/load.js';
import { ManualClock } from '../../src/lib/clock.js';
import { newClearDb, newHome, railOf } from '../db/clear/support.js';

const page = { url: '/a.html', target: 'us' };

function scene() {
  const home = newHome();
  const path = join(home, 'clear/clear.db');
  const db = newClearDb(path);
  db.targets.put({ name: 'us', kind: 'elementary', lbUrl: 'http://127.0.0.1:1/', host: null });
  db.rails.add(railOf('r1', 'us'), 1);
  const clock = new ManualClock();
  const log = { error() {}, warn() {}, info() {}, debug() {} };
  const fail = (error: unknown) => assert.fail(String(error));
  const limits = clearOptions(loadConfig({ env: { LCC_HOME: home } }));
  const commits = new Commits({ db, clock, log, ...limits.commits, fail });
  const sent: string[] = [];
  const fleet = new Fleet({
    db,
    commits,
    clock,
    log,
    limits,
    op: 'P',
    secrets: () => new Map(),
    keepBody: ({ sha }) => sha,
    sender: ({ name }) => ({
      rate: undefined,
      batchOf: () => undefined,
      send(tasks, heard) {
        for (const { op, url } of tasks) if (url === page.url) sent.push(`${name} ${op}`);
        heard({ outcome: { kind: 'done' }, isAnswered: true, tookMs: 1 });
      },
      close() {},
    }),
  });
  const bodies = new Bodies({ dir: join(home, 'bodies'), ...limits.soft, isNeeded: () => false, log });
  const source: PageSource = {
    generate: () => Promise.resolve({ kind: 'page', bytes: Buffer.from('new') }),
    close() {},
  };
  const publisher = new Publisher({ db, fleet, commits, bodies, source, clock, log, limits, fail });
  /** Publishes the page, and brings it to the rails. @returns what they were sent */
  const publish = async () => {
    other.write(() => other.soft.publish(page, clock.nowMs()));
    publisher.wake();
    for (let i = 0; i < 20; i++) {
      commits.flush();
      await new Promise(resolve => void setImmediate(resolve));
    }
    return sent.splice(0).toSorted();
  };
  /** Another connection: what a command of the administrator has. */
  const other = newClearDb(path);
  return { db, other, publish };
}

it('a publication meets the rails and the rules that were set up before it', async () => {
  const { db, other, publish } = scene();
  assert.deepEqual(await publish(), ['r1 P']);
  other.rails.add(railOf('r2', 'us'), 2);
  assert.deepEqual(await publish(), ['r1 P', 'r2 P'], 'a rail, before the next look at the rails');
  other.soft.putRule({ ...page, isPattern: 0, enabled: 1, minIntervalMs: 60_000 });
  assert.deepEqual(await publish(), [], 'a rule that lets the page wait');
  assert.equal(db.soft.waitingCount(), 1);
});
