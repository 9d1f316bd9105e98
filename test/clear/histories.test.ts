/**
 * Random histories of requests, rails that answer or do not, administrators and kills: whatever happens, every page that was
 * wanted is cleared on every rail by a request that began after it was wanted, and nothing is left.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { addTargets, newClearDb, railOf } from '../db/clear/support.js';
import { Scene, type Answer } from './scene.js';
import { ManualClock } from '../support/manual-clock.js';

const RAILS = ['r1', 'r2', 'cache'] as const;
const ids = fc.constantFrom('a', 'b', 'c');
const rails = fc.constantFrom(...RAILS);
const answers = fc.constantFrom<Answer[]>('done', 'done', 'retry', 'config', 'unreachable', 'unanswered');

const event = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('request' as const), id: ids, force: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('answer' as const), rail: rails, answer: answers }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('mood' as const), rail: rails, mood: fc.option(answers) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('admin' as const), rail: rails, isUp: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rule' as const), id: ids, enabled: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const) }) },
);

it('nothing that was wanted is forgotten', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 60 }), fc.boolean(), async (events, isRebound) => {
      const db = newClearDb(':memory:');
      addTargets(db, 'all');
      db.targets.addPath({ contentType: 'page', target: 'all', path: '/', extension: '' });
      for (const name of RAILS)
        db.rails.add(railOf(name, 'all', { workers: 2, tier: name === 'cache' ? 1 : 0 }), 1);
      const clock = new ManualClock();
      const moods = new Map<string, Answer | null>();
      /** `rail /url` → the time at which the last request that was answered well began. */
      const cleared = new Map<string, number>();
      const wanted = new Map<string, number>();
      const published = new Map<string, number>();
      let tick = 0;
      const begin = () => {
        const scene = new Scene(db, {
          clock,
          limits: options => {
            options.window.maxRequests = 4;
            options.commits.maxChanges = 3;
            options.rail.reboundMs = isRebound ? 700 : 0;
          },
          answers: () => undefined,
        });
        return scene;
      };
      let scene = begin();
      const started = new WeakMap<object, number>();
      /** Notes when requests began, and answers those whose rail answers at once. */
      const look = () => {
        for (let again = true; again;) {
          again = false;
          for (const one of scene.open.slice()) {
            if (!started.has(one)) started.set(one, ++tick);
            const mood = moods.get(one.rail);
            if (mood === undefined || mood === null) continue;
            say(one, mood);
            again = true;
          }
        }
      };
      const say = (one: Scene['open'][number], answer: Answer) => {
        const begun = started.get(one) ?? ++tick;
        if (answer === 'done') {
          const key = `${one.rail} ${one.urls[0]}`;
          cleared.set(key, Math.max(begun, cleared.get(key) ?? 0));
        }
        one.answer(answer === 'done' ? { kind: 'done' } : { kind: answer, error: answer });
      };
      const pass = async (seconds: number) => {
        for (let i = 0; i < seconds; i++) {
          await scene.pass(1, 5);
          look();
        }
      };
      for (const each of events) {
        look();
        switch (each.do) {
          case 'request': {
            scene.request(each.force ? `${each.id}!` : each.id);
            (db.soft.rules().some(rule => rule.enabled === 1 && rule.url === `/${each.id}`)
              ? published
              : wanted
            ).set(each.id, ++tick);
            break;
          }
          case 'answer': {
            const one = scene.open.find(open => open.rail === each.rail);
            if (one !== undefined) say(one, each.answer);
            break;
          }
          case 'pass':
            await pass(each.seconds);
            break;
          case 'mood':
            moods.set(each.rail, each.mood);
            break;
          case 'admin':
            db.rails.setByAdmin(each.rail, each.isUp ? 'UP' : 'DOWN', clock.nowMs());
            break;
          case 'rule':
            // Requests that are queued count by the rules that hold when they are read: not between.
            if (db.queue.count(1) > 0) break;
            db.soft.putRule({
              url: `/${each.id}`,
              target: 'all',
              isPattern: 0,
              enabled: each.enabled ? 1 : 0,
              minIntervalMs: 0,
            });
            // What its own connection writes, a daemon does not see.
            scene.kill();
            scene = begin();
            break;
          case 'kill':
            scene.kill();
            scene = begin();
        }
      }
      // In the end everything answers, and every rail is up.
      for (const name of RAILS) moods.set(name, 'done');
      for (let round = 0; round < 40 && (scene.left().length > 0 || round === 0); round++) {
        for (const name of RAILS) db.rails.setByAdmin(name, 'UP', clock.nowMs());
        db.backlog.retry({});
        await pass(4);
      }
      assert.deepEqual(scene.left(), []);
      assert.deepEqual([scene.failures, scene.open.length], [[], 0]);
      for (const [id, at] of wanted)
        for (const rail of RAILS)
          assert.ok((cleared.get(`${rail} /${id}`) ?? 0) > at, `${id} is stale on ${rail}`);
      for (const id of published.keys())
        assert.ok(db.soft.get({ url: `/${id}`, target: 'all' }) !== undefined, id);
      scene.kill();
    }),
    { numRuns: Number(process.env['LCC_TEST_HISTORIES'] ?? 1) * 200 },
  );
});
