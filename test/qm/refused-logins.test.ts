/** A site that refuses the login of its provider, through the real dispatcher. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { changeLogin } from '../../src/db/providers/pidb.js';
import { silentLog, type LogFields } from '../../src/lib/log.js';
import { RefusedLogins } from '../../src/qm/refused-logins.js';
import { ManualClock } from '../support/manual-clock.js';
import { Simulation } from './simulation.js';
import { failure, ok, url } from './support.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const REFUSED = failure(401, 'real');
const urls = (from: number, count: number) => Array.from({ length: count }, (_, i) => url(`p${from + i}`));

let close: (() => void) | undefined;
afterEach(() => {
  close?.();
  close = undefined;
});

/** A Queue Manager, what it warns of, and sites that take one login. */
function begin(right: string) {
  const warnings: { event: string; fields: LogFields | undefined }[] = [];
  const sim = new Simulation({
    log: { ...silentLog, warn: (event, fields) => void warnings.push({ event, fields }) },
    site: ({ url: asked, login }) => ({ result: login === right ? ok(asked) : REFUSED, tookMs: 10 }),
  });
  close = () => sim.close();
  for (const pid of [1, 2, 3]) sim.bench.provider(pid);
  for (const pid of [1, 2]) changeLogin(sim.bench.db, pid, 'robot:wrong');
  sim.start();
  const told = () => warnings.splice(0).map(({ fields }) => fields?.['pid']);
  return { sim, warnings, told };
}

test('the operator is told once that a site refuses the login of a provider, and what to do', async () => {
  const { sim, warnings, told } = begin('robot:right');
  await sim.send(1, urls(0, 30));
  await sim.pass(MINUTE);
  assert.equal(sim.bench.value("SELECT count(*) FROM pierr WHERE code = '401'"), 30, 'as it always was');
  assert.match(warnings[0]?.event ?? '', /refused by its site.*\(lccpidb set --loginfile\)/);
  assert.doesNotMatch(JSON.stringify(warnings), /wrong/, 'nobody reads the login in a log');
  await sim.send(1, urls(30, 30));
  await sim.send(2, urls(0, 3));
  await sim.send(3, urls(0, 3));
  await sim.pass(MINUTE);
  assert.deepEqual(told(), [1, 2], 'a provider without a login is a matter of its CP');
  assert.deepEqual(sim.status().logins_refused, [1, 2]);
});

test('another login that is refused is told of again, the right one is not and ends it', async () => {
  const { sim, told } = begin('robot:right');
  await sim.send(1, urls(0, 3));
  await sim.pass(MINUTE);
  changeLogin(sim.bench.db, 1, 'robot:wrong, too');
  sim.reload();
  assert.deepEqual(sim.status().logins_refused, [], 'nobody knows yet what the site says of it');
  await sim.send(1, urls(3, 3));
  await sim.pass(MINUTE);
  assert.deepEqual(told(), [1, 1]);
  changeLogin(sim.bench.db, 1, 'robot:right');
  sim.reload();
  await sim.send(1, urls(6, 3));
  await sim.pass(MINUTE);
  assert.deepEqual([told(), sim.status().logins_refused], [[], []]);
});

test('a fetch ends it, though of a site that refuses some urls is told no more than once an hour', () => {
  const clock = new ManualClock();
  let told = 0;
  const refused = new RefusedLogins({ clock, log: { ...silentLog, warn: () => void told++ } });
  const hear = (result: Parameters<RefusedLogins['heard']>[2]) => {
    refused.heard(1, 'robot:secret', result);
    return [told, ...refused.pids];
  };
  assert.deepEqual(hear(REFUSED), [1, 1]);
  assert.deepEqual(hear(ok('x')), [1]);
  assert.deepEqual(hear(REFUSED), [1, 1]);
  clock.advance(HOUR);
  assert.deepEqual(hear(REFUSED), [1, 1]);
  assert.deepEqual(hear(ok('x')), [1]);
  assert.deepEqual(hear(REFUSED), [2, 1]);
  assert.deepEqual(hear(failure(404, 'real')), [2, 1], 'that says nothing of the login');
});

test('no more than a thousand providers with such a site are remembered', () => {
  const refused = new RefusedLogins({ clock: new ManualClock(), log: silentLog });
  for (let pid = 1; pid <= 1001; pid++) refused.heard(pid, 'robot:secret', REFUSED);
  assert.deepEqual([refused.pids.length, refused.pids[0], refused.pids.at(-1)], [1000, 2, 1001]);
});
