/** The parts of soft clearing that need no rails. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { RailQueue } from '../../src/clear/rails/rail-queue.js';
import type { PageTask } from '../../src/clear/rails/unit.js';
import { Bodies } from '../../src/clear/soft/bodies.js';
import { stampedUrl, stampOf, wildcardOf } from '../../src/clear/soft/names.js';
import { SoftRules } from '../../src/clear/soft-rules.js';
import { mapOf } from './support.js';

describe('a generated name', () => {
  it('has its timestamp before the last dot of the last segment, and before a query', () => {
    const ms = Date.UTC(2026, 10, 23, 14, 26, 47, 5);
    const named = (url: string) => stampedUrl(url, ms);
    assert.equal(named('/news/a.html'), '/news/a-20261123142647005.html');
    assert.equal(named('/v1.2/page'), '/v1.2/page-20261123142647005');
    assert.equal(named('/a.b.html?x=1.2/3'), '/a.b-20261123142647005.html?x=1.2/3');
    assert.deepEqual([wildcardOf('/news/a.html'), wildcardOf('/v1.2/page')], ['/news/a-*.*', undefined]);
  });

  it('is another one for each timestamp, in their order, and says which page it is of', () => {
    const time = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) });
    const url = fc.constantFrom('/a', '/a.html', '/a/b.c/d.tar.gz', '/a-20260101000000000.html');
    fc.assert(
      fc.property(url, time, time, (page, a, b) => {
        const [first, second] = [stampedUrl(page, a), stampedUrl(page, b)];
        assert.equal(Math.sign(a - b), Number(first > second) - Number(first < second));
        assert.equal(first.replace(`-${stampOf(a)}`, ''), page);
        assert.equal(stampOf(a).length, 17);
      }),
    );
  });
});

it('the rules of a page say how often it is generated, those of groups, too', () => {
  const rule = (target: string, url: string, minIntervalMs: number, enabled: 0 | 1 = 1) =>
    ({ target, url, isPattern: url.includes('*') ? 1 : 0, enabled, minIntervalMs }) as const;
  const rules = new SoftRules(
    [rule('us', '/a.html', 5), rule('all', '/**', 9), rule('all', '/off/*', 99, 0), rule('eu', '/x', 1, 0)],
    mapOf({ all: ['us'], other: ['eu'] }),
  );
  assert.equal(rules.intervalMs({ target: 'us', url: '/a.html' }), 9);
  assert.equal(rules.intervalMs({ target: 'us', url: '/off/x' }), 9);
  assert.equal(rules.intervalMs({ target: 'eu', url: '/x' }), 'disabled');
  assert.equal(rules.intervalMs({ target: 'eu', url: '/y' }), 0, 'published by name');
});

it('a rail ends with the newest page, in whatever order its requests go, fail and come from its backlog', () => {
  type Act = 'publish' | 'begin' | 'done' | 'retry' | 'park' | 'replay';
  const act = fc.constantFrom<Act>('publish', 'begin', 'done', 'retry', 'park', 'replay');
  const task = (seq: number): PageTask => ({
    url: '/a',
    contentId: '',
    op: 'P',
    body: { bytes: { bytes: Buffer.of(1) }, sha: 'x', seq },
  });
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), acts => {
      const queue = new RailQueue('r1');
      let [published, has, backlog] = [0, 0, 0];
      let running: ReturnType<RailQueue['next']>;
      const park = (seq: number) => (backlog = Math.max(backlog, seq));
      const step = (what: Act) => {
        if (what === 'publish') queue.add(task(++published));
        if (what === 'replay' && backlog > 0)
          queue.addEntry(task(backlog), { seq: backlog, attempts: 0, firstMs: 0 });
        if (what === 'begin') running ??= queue.next(0);
        if (what === 'park')
          for (const unit of queue.open()) {
            park(unit.task.body?.seq ?? 0);
            queue.park(unit);
          }
        if (running === undefined || (what !== 'done' && what !== 'retry')) return;
        const unit = running;
        running = undefined;
        if (what === 'retry') return queue.rest(unit, 0);
        const seq = unit.task.body?.seq ?? 0;
        assert.ok(seq >= has, `${seq} after ${has}`);
        has = seq;
        // As the database does it: an entry up to the number that was sent.
        if (backlog <= seq) backlog = 0;
        queue.done(unit);
      };
      acts.forEach(step);
      for (let i = 0; i < 4; i++) (['replay', 'begin', 'done'] as const).forEach(step);
      assert.deepEqual([has, backlog], [published, 0]);
    }),
    { examples: [[['publish', 'park', 'publish', 'begin']]] },
  );
});

it('a page of the backlog that is newer than the one in the line takes its place, an older one does not', () => {
  const task = (seq: number): PageTask => ({
    url: '/a',
    contentId: '',
    op: 'P',
    body: { bytes: { bytes: Buffer.of(1) }, sha: 'x', seq },
  });
  const queue = new RailQueue('r1');
  const unit = queue.add(task(2));
  for (const [seq, sent] of [
    [1, 2],
    [3, 3],
  ] as const) {
    queue.addEntry(task(seq), { seq, attempts: 0, firstMs: 0 });
    assert.equal(unit.task.body?.seq, sent);
  }
});

describe('contents of pages', () => {
  const dirs: string[] = [];
  after(() => dirs.forEach(dir => rmSync(dir, { recursive: true })));
  const needed = new Set<string>();
  const log = { error() {}, warn() {}, info() {}, debug() {} };
  const bodiesIn = (dir: string) =>
    new Bodies({
      dir,
      memoryPageBytes: 10,
      memoryBytes: 15,
      spoolBytes: 100,
      isNeeded: sha => needed.has(sha),
      log,
    });
  const newDir = () => {
    const dir = mkdtempSync(join(tmpdir(), 'lcc-bodies-'));
    dirs.push(dir);
    return dir;
  };
  const bytes = (length: number, letter = 'x') => Buffer.alloc(length, letter);

  it('are in memory while they are small and few, else in files, and nowhere when they are released', async () => {
    const dir = newDir();
    const bodies = bodiesIn(dir);
    const small = await bodies.take(bytes(10, 'a'), false);
    const other = await bodies.take(bytes(9, 'b'), false);
    const large = await bodies.take(bytes(50, 'c'), false);
    const again = await bodies.take(bytes(10, 'a'), false);
    const forced = await bodies.take(bytes(3, 'd'), true);
    assert.ok(small && other && large && again && forced);
    assert.equal(again.sha, small.sha);
    assert.deepEqual([bodies.memoryBytes, bodies.spoolBytes], [10, 62]);
    assert.deepEqual(new Set(readdirSync(dir)), new Set([other, large, forced].map(({ sha }) => sha)));
    assert.deepEqual(readFileSync(join(dir, large.sha)), bytes(50, 'c'));
    assert.equal(await bodies.take(bytes(60, 'e'), false), undefined, 'no room');
    bodies.release(small.sha);
    assert.ok(bodies.find(small.sha), 'held once more');
    for (const { sha } of [small, other, large, forced]) bodies.release(sha);
    assert.deepEqual([readdirSync(dir), bodies.memoryBytes, bodies.spoolBytes], [[], 0, 0]);
  });

  it('stay for a backlog, also over a restart, unless others need the room or they are damaged', async () => {
    const dir = newDir();
    const first = bodiesIn(dir);
    const kept = [];
    for (const letter of ['a', 'b', 'c']) {
      const body = await first.take(bytes(30, letter), true);
      kept.push(body?.sha ?? '');
      needed.add(body?.sha ?? '');
      first.release(body?.sha ?? '');
    }
    const [a = '', b = '', c = ''] = kept;
    writeFileSync(join(dir, 'foreign.tmp'), 'left');
    writeFileSync(join(dir, b), bytes(30, 'y'));
    const second = bodiesIn(dir);
    assert.deepEqual(readdirSync(dir).toSorted(), kept.toSorted());
    assert.deepEqual(second.find(a), { file: join(dir, a), length: 30 });
    assert.equal(second.find(b), undefined, 'damaged');
    needed.delete(c);
    second.sweep();
    assert.deepEqual(readdirSync(dir), [a]);
    const large = await second.take(bytes(90, 'z'), false);
    assert.ok(large);
    assert.deepEqual([readdirSync(dir), second.find(a)], [[large.sha], undefined]);
  });
});
