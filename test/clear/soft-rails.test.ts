/** Pages that are put on rails which go down and come up: no backlog loses what is newer than what was put. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { clearOptions } from '../../src/clear/options.js';
import { Commits } from '../../src/clear/rails/commits.js';
import { Fleet } from '../../src/clear/rails/fleet.js';
import type { RailAnswer } from '../../src/clear/rails/sender.js';
import type { PageBody, PageTask } from '../../src/clear/rails/unit.js';
import { loadConfig } from '../../src/config/load.js';
import { ManualClock } from '../support/manual-clock.js';
import { addTargets, newClearDb } from '../db/clear/support.js';

const page = { url: '/a.html', target: 'us' };

function scene() {
  const db = newClearDb();
  addTargets(db, 'us');
  const clock = new ManualClock();
  const setup = { tier: 0, workers: 4, host: null, authRef: null, cleanup: 'exact', opts: '{}' } as const;
  const rail = { name: 'r1', target: 'us', url: 'http://127.0.0.1:1/', driver: 'nginx-dav', ...setup };
  db.rails.add(rail, clock.nowMs());
  const log = { error() {}, warn() {}, info() {}, debug() {} };
  const fail = (error: unknown) => assert.fail(String(error));
  const options = clearOptions(loadConfig({ env: { LCC_HOME: '/nowhere' } }));
  const commits = new Commits({ db, clock, log, ...options.commits, fail });
  const sent: { seq: number | undefined; done: () => void; fail: () => void }[] = [];
  const heardOf = (tasks: readonly PageTask[], heard: (answer: RailAnswer) => void) => {
    const answer = (outcome: RailAnswer['outcome']) => () => heard({ outcome, isAnswered: true, tookMs: 1 });
    const [done, failed] = [answer({ kind: 'done' }), answer({ kind: 'retry', error: 'status 500' })];
    sent.push({ seq: tasks[0]?.body?.seq, done, fail: failed });
  };
  const bodyOfSeq = (seq: number): PageBody => ({ bytes: { bytes: Buffer.of(seq) }, sha: `s${seq}`, seq });
  const fleet = new Fleet({
    db,
    commits,
    clock,
    log,
    limits: options,
    op: 'P',
    secrets: () => new Map(),
    bodyOf: ({ seq }) => bodyOfSeq(seq),
    keepBody: ({ sha }) => sha,
    sender: () => ({ rate: undefined, batchOf: () => undefined, send: heardOf, close() {} }),
    random: () => 1,
  });
  const put = (seq: number) =>
    fleet.rails[0]?.add({ url: page.url, contentId: '', op: 'P', body: bodyOfSeq(seq) }, () => undefined);
  const publish = () => db.write(() => db.soft.publish(page, clock.nowMs()));
  const turn = (state: 'UP' | 'DOWN') => {
    clock.advance(10);
    db.rails.setByAdmin('r1', state, clock.nowMs());
    commits.flush();
    fleet.refresh();
    commits.flush();
  };
  const left = () => db.backlog.get('r1', page.url)?.seq;
  const isOvertaken = () => db.backlog.isOvertaken('r1', page.url, Number.MAX_SAFE_INTEGER);
  return { db, clock, commits, fleet, sent, put, publish, turn, left, isOvertaken };
}

const START_MS = new ManualClock().nowMs();

it('an older page that was under way when the rail went down does not settle the newer one', () => {
  const { db, commits, fleet, sent, put, publish, turn, left } = scene();
  const another = { rail: 'r1', url: '/b.html', op: 'P', contentId: '', bodySha: 's0' } as const;
  db.write(() =>
    db.backlog.park({ ...another, attempts: 1, nextMs: START_MS + 60_000, dead: 0, error: 'status 500' }, 1),
  );
  fleet.refresh();
  const older = publish();
  // Both were published before the first of them was sent.
  const newer = publish();
  put(older);
  put(newer);
  turn('DOWN');
  assert.equal(left(), newer);
  sent[0]?.done();
  commits.flush();
  assert.equal(left(), newer);
  turn('UP');
  assert.deepEqual(
    sent.map(({ seq }) => seq),
    [older, newer],
  );
  sent[1]?.done();
  commits.flush();
  assert.equal(left(), undefined);
});

it('a newer page of the backlog takes the place of an older one that is tried again', () => {
  const { clock, commits, sent, put, publish, turn, left } = scene();
  const [older, newer] = [publish(), publish()];
  put(older);
  put(newer);
  turn('DOWN');
  turn('UP');
  // The newer one has been taken from the backlog, and waits for the older one to be over.
  sent[0]?.fail();
  clock.advance(60_000);
  assert.deepEqual(
    sent.map(({ seq }) => seq),
    [older, newer],
  );
  sent[1]?.done();
  clock.advance(60_000);
  commits.flush();
  assert.deepEqual([sent.length, left()], [2, undefined]);
});

it('a page that is put overtakes what was to be cleared before, which lccd-hard settles, and not what is to be cleared since', () => {
  const { db, commits, clock, sent, put, publish, left, isOvertaken } = scene();
  const clearing = { rail: 'r1', url: page.url, op: 'D', contentId: '', bodySha: null } as const;
  const park = (dead: 0 | 1 = 0) =>
    db.write(() => db.backlog.park({ ...clearing, attempts: 0, nextMs: 0, dead, error: '' }, clock.nowMs()));
  park();
  put(publish());
  const later = park();
  sent[0]?.done();
  commits.flush();
  assert.deepEqual([left(), isOvertaken()], [later, false]);
  put(publish());
  sent[1]?.done();
  commits.flush();
  assert.deepEqual([left(), isOvertaken()], [later, true], 'it may be on its way');
  const last = park();
  assert.deepEqual([left(), isOvertaken()], [last, false]);
  park(1);
  put(publish());
  sent[2]?.done();
  commits.flush();
  assert.equal(left(), undefined, 'what is dead is on no way');
});
