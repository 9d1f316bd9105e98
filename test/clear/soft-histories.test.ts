/**
 * Random histories of publications, load balancers and rails that answer or do not, administrators and kills: in the end each
 * rail has each page as it was when it was published last or later, no generated name is noted, and no backlog has anything.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { RailOutcome } from '../../src/clear/outcomes.js';
import { ManualClock } from '../support/manual-clock.js';
import { newClearDb, railOf } from '../db/clear/support.js';
import { pageOf, SoftScene } from './soft-scene.js';

const RAILS = ['r1', 'r2'] as const;
const PAGES = ['/a.html', '/b.html', '/c.html'] as const;
type Mood = 'well' | 'retry' | 'unreachable' | 'silent';

const rails = fc.constantFrom(...RAILS);
const pages = fc.constantFrom(...PAGES);
const event = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('publish' as const), url: pages }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('generate' as const),
      how: fc.constantFrom('well', 'well', '503', '404'),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      rail: rails,
      how: fc.constantFrom<Mood[]>('well', 'well', 'retry'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('mood' as const),
      rail: rails,
      mood: fc.constantFrom<Mood[]>('well', 'retry', 'unreachable', 'silent'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('balancer' as const), isQuick: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('pass' as const), seconds: fc.constantFrom(0, 1, 3) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('admin' as const), rail: rails, isUp: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const) }) },
);

const OUTCOMES: Readonly<Record<Exclude<Mood, 'silent'>, RailOutcome>> = {
  well: { kind: 'done' },
  retry: { kind: 'retry', error: 'status 503' },
  unreachable: { kind: 'unreachable', error: 'refused' },
};

it('what was published last is on every rail in the end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 50 }), async events => {
      const db = newClearDb(':memory:');
      db.targets.put({ name: 'us', kind: 'elementary', lbUrl: 'http://127.0.0.1:1/', host: null });
      for (const name of RAILS) db.rails.add(railOf(name, 'us', { workers: 2 }), 1);
      const clock = new ManualClock();
      const files = new Map<string, Uint8Array>();
      const moods = new Map<string, Mood>();
      /** What the site has: a number that grows with every publication. */
      let version = 0;
      const wanted = new Map<string, number>();
      const has = new Map<string, number>();
      /** Pages that the load balancer did not have for a while: maybe they were removed. */
      const gone = new Set<string>();
      let isQuick = true;
      const apply = (
        rail: string,
        { op, url, body }: { op: string; url: string; body?: { bytes: object } },
      ) => {
        const key = `${rail} ${url}`;
        if (op === 'D') return void has.delete(key);
        const { bytes } = (body?.bytes ?? {}) as { bytes?: Uint8Array };
        has.set(key, Number(Buffer.from(bytes ?? []).toString()));
      };
      const begin = () =>
        new SoftScene(db, {
          clock,
          files,
          limits: options => {
            options.soft.windowPages = 4;
            options.soft.generators = 2;
            options.commits.maxChanges = 3;
            options.rail.parkAfter = 3;
          },
          // A page that is asked for is as it is then.
          generates: () => (isQuick ? pageOf(String(version)) : undefined),
          answers(rail, task) {
            const mood = moods.get(rail) ?? 'well';
            if (mood === 'silent') return undefined;
            if (mood === 'well') apply(rail, task);
            return OUTCOMES[mood];
          },
        });
      let scene = begin();
      const answer = (rail: string, mood: Exclude<Mood, 'silent'>) => {
        const one = scene.told.find(each => each.rail === rail);
        if (one === undefined) return;
        if (mood === 'well') apply(rail, one.task);
        one.answer(OUTCOMES[mood]);
      };
      for (const each of events)
        switch (each.do) {
          case 'publish':
            version++;
            wanted.set(each.url, version);
            scene.publish(each.url);
            scene.publisher.wake();
            break;
          case 'generate':
            if (each.how === '404' && scene.asked[0] !== undefined)
              gone.add(scene.asked[0].url.replace(/-\d{17}/, ''));
            scene.asked[0]?.answer(
              each.how === 'well'
                ? pageOf(String(version))
                : each.how === '503'
                  ? { kind: 'failed', error: 'status 503' }
                  : { kind: 'gone', error: 'status 404' },
            );
            await scene.settle();
            break;
          case 'answer':
            if (each.how !== 'silent') answer(each.rail, each.how);
            break;
          case 'mood':
            moods.set(each.rail, each.mood);
            break;
          case 'balancer':
            isQuick = each.isQuick;
            break;
          case 'pass':
            if (each.seconds === 0) await scene.settle();
            else await scene.pass(each.seconds);
            break;
          case 'admin':
            clock.advance(1);
            db.rails.setByAdmin(each.rail, each.isUp ? 'UP' : 'DOWN', clock.nowMs());
            break;
          case 'lose':
            files.clear();
            break;
          case 'kill':
            scene.kill();
            scene = begin();
        }
      // In the end everything answers, and every rail is up. What was gone is there again, and published.
      isQuick = true;
      for (const name of RAILS) moods.set(name, 'well');
      for (const { answer: say } of scene.asked.slice()) say(pageOf(String(version)));
      scene.publish(...gone);
      const left = () => [
        ...db.soft.due(Number.MAX_SAFE_INTEGER, 9).map(({ url }) => url),
        ...db.backlog.list({ rail: '', url: '' }, 9).filter(({ op }) => op === 'P'),
        ...db.soft.generated(),
      ];
      for (let round = 0; round < 40 && (left().length > 0 || round === 0); round++) {
        clock.advance(60_000);
        for (const name of RAILS) db.rails.setByAdmin(name, 'UP', clock.nowMs());
        for (const name of RAILS) while (scene.told.some(({ rail }) => rail === name)) answer(name, 'well');
        await scene.pass(2);
      }
      assert.deepEqual([left(), scene.failures], [[], []]);
      for (const [url, least] of wanted)
        for (const rail of RAILS)
          assert.ok((has.get(`${rail} ${url}`) ?? 0) >= least, `${url} is older on ${rail}`);
      scene.kill();
    }),
    { numRuns: Number(process.env['LCC_TEST_HISTORIES'] ?? 1) * 60 },
  );
});
