/**
 * Robots that are threads: how they sleep, wake, fail, hang, are cut off, and end; the threads are played by scripts of a few lines.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { startRobots } from '../../src/bot/robots.js';
import { loadConfig } from '../../src/config/load.js';
import type { Services } from '../../src/daemon/types.js';
import type { LogFields } from '../../src/lib/log.js';
import { silentLog } from '../../src/lib/log.js';
import { NearRobot } from '../../src/wire/near-robot.js';
import { ManualClock } from '../support/manual-clock.js';
import { until } from '../support/until.js';

const dir = mkdtempSync(join(tmpdir(), 'lcc-robots-'));
after(() => rmSync(dir, { recursive: true }));

const NOTHING = {
  idle: true,
  fetching: 0,
  slow: 0,
  storing: 0,
  waiting: 0,
  managers: 1,
  idle_connections: 0,
};
const NO_COUNTS = { ok: 0, unchanged: 0, redirect: 0, error: 0, unpermitted: 0, bytes: 0, wire_bytes: 0 };

/** A thread that says that it has 3 slots, then does what a request or `end` has it do. */
function script(name: string, { told, end = 'process.exit()' }: { told: string; end?: string }): string {
  const file = join(dir, `${name}.cjs`);
  const text = `
    const { port, data } = require('node:worker_threads').workerData;
    const say = said => port.postMessage({ answer: said });
    say({ status: { idle: true, slots: 3 }, said: [{ slots: 3 }] });
    port.on('message', told => { if (told.end) { ${end} } else { ${told} } });`;
  writeFileSync(file, text);
  return file;
}

async function world(t: TestContext, file: string, { count = 1, pingIntervalMs = 15_000 } = {}) {
  const clock = new ManualClock();
  const logged: [string, LogFields | undefined][] = [];
  const answering = new Map<string, () => unknown>();
  const hellos: string[] = [];
  const closed: string[] = [];
  const ends: NearRobot[] = [];
  const services = {
    settings: loadConfig({
      env: { LCC_HOME: dir },
      overrides: { 'bm.slots': '2', 'wire.ping_interval_ms': `${pingIntervalMs}ms` },
    }).settings,
    clock,
    log: { ...silentLog, error: (event: string, fields?: LogFields) => void logged.push([event, fields]) },
    answerAs(name: string, { status }: { status: () => unknown }) {
      answering.set(name, status);
      return Promise.resolve({ close: () => Promise.resolve(void answering.delete(name)) });
    },
  } as unknown as Services;
  const robots = await startRobots(
    services,
    { count, allowed: [], beside: () => Promise.resolve(undefined), script: file },
    (where, say, cut) => {
      const end: NearRobot = new NearRobot(
        where,
        {
          hello: slots => void hellos.push(`${where}: ${slots}`),
          fetched: result => void hellos.push(`${where}: ${result.status}`),
          closed: reason => void closed.push(reason?.message ?? 'in order'),
        },
        say,
        cut,
      );
      ends.push(end);
      return end;
    },
  );
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= robots.stop());
  t.after(async () => {
    void stop();
    await until('timers of the end are set', () => clock.nextMs() !== undefined);
    clock.advance(2000);
    await stopped;
  });
  const ask = (url: string) => ends.at(-1)?.fetch(1, join(dir, 'file'), { url, roots: [] });
  const recall = () => ends.at(-1)?.recall('lane');
  return { clock, logged, answering, hellos, closed, ask, recall, stop };
}

describe('a robot that is a thread', () => {
  it('joins asleep, with its slots and a status under the name of a robot; what it is asked wakes it', async t => {
    const { answering, hellos, stop, closed, ask } = await world(t, script('good', { told: '' }), {
      count: 2,
    });
    assert.deepEqual([...answering.keys()], ['lccbot-1', 'lccbot-2']);
    assert.deepEqual(answering.get('lccbot-2')?.(), { ...NOTHING, slots: 2, ...NO_COUNTS });
    assert.deepEqual(hellos, ['thread lccbot-1: 2', 'thread lccbot-2: 2']);
    ask('http://h/');
    await until('the second one is awake', () => hellos.includes('thread lccbot-2: 3'));
    assert.deepEqual(answering.get('lccbot-2')?.(), { idle: true, slots: 3 });
    await stop();
    assert.equal(answering.size, 0);
    assert.deepEqual(closed.toSorted()[0], 'in order');
    assert.equal(closed.length, 2);
    assert.equal(hellos.length, 3, 'the first one never woke');
  });

  it('sleeps after ten minutes with nothing to do; the next request finds another thread, and its counts go on', async t => {
    const ended = join(dir, 'ended');
    const file = script('rests', {
      told: `const ok = (data.before.ok ?? 0) + 1;
             say({ status: { idle: false, slots: 3, ok }, said: [{ id: 1, status: 'recalled' }] });`,
      end: `require('node:fs').appendFileSync(${JSON.stringify(ended)}, 'x'); process.exit();`,
    });
    const { clock, hellos, answering, closed, ask, logged } = await world(t, file, {
      pingIntervalMs: 600_000,
    });
    const answered = (count: number) => () =>
      hellos.filter(said => said.endsWith('recalled')).length === count;
    ask('http://h/1');
    await until('it has answered', answered(1));
    clock.advance(599_999);
    assert.equal(hellos.at(-1), 'thread lccbot: recalled');
    clock.advance(1);
    assert.equal(hellos.at(-1), 'thread lccbot: 2', 'the slots that it has asleep');
    assert.deepEqual(answering.get('lccbot')?.(), { ...NOTHING, slots: 2, ...NO_COUNTS, ok: 1 });
    ask('http://h/2');
    await until('another one has answered', answered(2));
    await until('the first has ended', () => existsSync(ended));
    assert.deepEqual(answering.get('lccbot')?.(), { idle: false, slots: 3, ok: 2 });
    clock.advance(2000);
    assert.deepEqual([closed, logged], [[], []], 'its Bot Manager and its operator hear nothing of it');
  });

  it('does not sleep while it owes an answer', async t => {
    const file = script('owes', {
      told: `globalThis.isAsked ||= told.includes('http://h/');
             if (told.includes('recall') && isAsked) say({ said: [{ id: 1, status: 'recalled' }] });`,
    });
    const { clock, hellos, ask, recall } = await world(t, file, { pingIntervalMs: 600_000 });
    ask('http://h/');
    await until('it is awake', () => hellos.includes('thread lccbot: 3'));
    clock.advance(1_200_000);
    recall();
    await until('the one that was asked has answered', () => hellos.at(-1) === 'thread lccbot: recalled');
  });

  for (const [how, told] of [
    ['throws', 'throw new Error("a page")'],
    ['rejects', 'void Promise.reject(new Error("a page"))'],
    ['ends', 'process.exit(1)'],
  ] as const)
    it(`that ${how} ends alone: its Bot Manager hears of it, and it is started again`, async t => {
      const file = script(how.replaceAll(' ', '-'), { told });
      const { clock, closed, hellos, logged, ask } = await world(t, file);
      ask('http://h/');
      await until('it is lost', () => closed.length === 1);
      assert.match(closed[0] ?? '', /^lccbot has ended: /);
      // Those of the thread are lost with it, if it ends at once.
      const ours = () => hellos.filter(said => said !== 'thread lccbot: 3');
      assert.deepEqual(ours(), ['thread lccbot: 2']);
      assert.equal(logged[0]?.[0], 'robot ended, starting it again');
      clock.advance(Number(logged[0]?.[1]?.['delay_ms']));
      assert.deepEqual(ours(), ['thread lccbot: 2', 'thread lccbot: 2']);
      ask('http://h/');
      await until('the next one is lost as well', () => closed.length === 2);
    });

  it('is left longer each time that it ends soon', async t => {
    const file = script('dies', { told: 'process.exit(1)' });
    const { clock, closed, hellos, logged, ask } = await world(t, file);
    for (let death = 1; death <= 3; death++) {
      ask('http://h/');
      await until('it is lost', () => closed.length === death);
      clock.advance(Number(logged.at(-1)?.[1]?.['delay_ms']));
      assert.equal(hellos.at(-1), 'thread lccbot: 2', 'it has joined again');
    }
    const delays = logged.map(([, fields]) => Number(fields?.['delay_ms']));
    assert.deepEqual(delays, [delays[0], 2 * (delays[0] ?? 0), 4 * (delays[0] ?? 0)]);
  });

  it('that hangs is cut off, killed and started again', async t => {
    const { clock, closed, hellos, ask } = await world(t, script('hangs', { told: 'for (;;);' }));
    ask('http://h/');
    await until('it is awake', () => hellos.includes('thread lccbot: 3'));
    for (let interval = 0; interval < 3; interval++) clock.advance(15_000);
    assert.deepEqual(closed, []);
    clock.advance(15_000);
    assert.match(closed.join(), /^lccbot: silent for 3 intervals of \d+ ms \(wire\.ping_interval_ms\)$/);
    await until('it has joined again', () => {
      clock.advance(1000);
      return hellos.length === 3;
    });
  });

  it('that does not end when it is told to is killed', async t => {
    const { clock, hellos, ask, stop } = await world(t, script('stays', { told: '', end: 'for (;;);' }));
    ask('http://h/');
    await until('it is awake', () => hellos.includes('thread lccbot: 3'));
    const stopped = stop();
    clock.advance(1000);
    await stopped;
  });
});
