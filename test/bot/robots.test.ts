/** Robots that are threads: how they start, fail, hang, are cut off, and end; the threads are played by scripts of a few lines. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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

/** A thread that says that it has 3 slots, then does what a request or `end` has it do. */
function script(name: string, { told, end = 'process.exit()' }: { told: string; end?: string }): string {
  const file = join(dir, `${name}.cjs`);
  const text = `
    const { port } = require('node:worker_threads').workerData;
    const say = said => port.postMessage({ answer: said });
    say({ status: { idle: true, slots: 3 }, said: [{ slots: 3 }] });
    port.on('message', told => { if (told.end) { ${end} } else { ${told} } });`;
  writeFileSync(file, text);
  return file;
}

async function world(t: TestContext, file: string, count = 1) {
  const clock = new ManualClock();
  const logged: [string, LogFields | undefined][] = [];
  const answering = new Map<string, () => unknown>();
  const hellos: string[] = [];
  const closed: string[] = [];
  const ends: NearRobot[] = [];
  const services = {
    settings: loadConfig({ env: { LCC_HOME: dir } }).settings,
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
  t.after(async () => {
    const stopped = robots.stop();
    await until('timers of the end are set', () => clock.nextMs() !== undefined);
    clock.advance(2000);
    await stopped;
  });
  const ask = (url: string) => ends.at(-1)?.fetch(1, join(dir, 'file'), { url, roots: [] });
  return { clock, logged, answering, hellos, closed, ask, robots, ends };
}

describe('a robot that is a thread', () => {
  it('joins, has a status under the name of a robot, and ends when it is told to', async t => {
    const { answering, hellos, robots, closed } = await world(t, script('good', { told: '' }), 2);
    assert.deepEqual([...answering.keys()], ['lccbot-1', 'lccbot-2']);
    assert.deepEqual(answering.get('lccbot-2')?.(), { idle: true, slots: 3 });
    assert.deepEqual(hellos.toSorted(), ['thread lccbot-1: 3', 'thread lccbot-2: 3']);
    await robots.stop();
    assert.equal(answering.size, 0);
    assert.equal(closed.length, 2);
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
      assert.deepEqual(hellos, ['thread lccbot: 3']);
      assert.equal(logged[0]?.[0], 'robot ended, starting it again');
      clock.advance(Number(logged[0]?.[1]?.['delay_ms']));
      await until('another one has joined', () => hellos.length === 2);
    });

  it('is left longer each time that it ends soon', async t => {
    const file = script('dies', { told: 'process.exit(1)' });
    const { clock, closed, hellos, logged, ask } = await world(t, file);
    for (let death = 1; death <= 3; death++) {
      ask('http://h/');
      await until('it is lost', () => closed.length === death);
      clock.advance(Number(logged.at(-1)?.[1]?.['delay_ms']));
      await until('another one has joined', () => hellos.length === death + 1);
    }
    const delays = logged.map(([, fields]) => Number(fields?.['delay_ms']));
    assert.deepEqual(delays, [delays[0], 2 * (delays[0] ?? 0), 4 * (delays[0] ?? 0)]);
  });

  it('that hangs is cut off, killed and started again', async t => {
    const { clock, closed, hellos, ask } = await world(t, script('hangs', { told: 'for (;;);' }));
    ask('http://h/');
    const { pingIntervalMs } = loadConfig({ env: { LCC_HOME: dir } }).settings.wire;
    for (let interval = 0; interval < 3; interval++) clock.advance(pingIntervalMs);
    assert.deepEqual(closed, []);
    clock.advance(pingIntervalMs);
    assert.match(closed.join(), /^lccbot: silent for 3 intervals of \d+ ms \(wire\.ping_interval_ms\)$/);
    await until('another one has joined', () => {
      clock.advance(1000);
      return hellos.length === 2;
    });
  });

  it('that does not end when it is told to is killed', async t => {
    const { clock, robots } = await world(t, script('stays', { told: '', end: 'for (;;);' }));
    const stopped = robots.stop();
    clock.advance(1000);
    await stopped;
  });
});
