/** Sites that hardly send anything: they are given up, and keep no slot from others meanwhile. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Robot } from '../../src/bot/robot.js';
import { systemClock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { Speed } from '../../src/fetch/speed.js';
import { channelOptions, ends } from '../support/duplex.js';
import { answer, drip, fetchOnce, newEngine, newFolder, PATIENT, rawServer } from '../fetch/support.js';
import { until } from '../support/until.js';

const LIMITS = { minRateBytesPerS: 100, minRateWindowMs: 30_000, slowAfterMs: 5000 };

describe('the speed of an answer', () => {
  it('is slow after a while below the rate, and too slow after the window', () => {
    const speed = new Speed(LIMITS, 1000, 50);
    for (const [atMs, wireBytes, expected] of [
      [5999, 50, 'fine'],
      [6000, 549, 'slow'],
      [30_999, 2000, 'slow'],
      [31_000, 3049, 'too-slow'],
    ] as const)
      assert.equal(speed.look(atMs, { wireBytes }), expected, String(atMs));
  });

  it('begins a new window whenever enough has come, and when the site was not waited for', () => {
    const speed = new Speed(LIMITS, 0, 0);
    assert.equal(speed.look(29_000, { wireBytes: 2900 }), 'fine');
    assert.equal(speed.look(33_999, { wireBytes: 2900 }), 'fine');
    assert.equal(speed.look(34_000, { wireBytes: 2900 }), 'slow');
    speed.restart(40_000, 2900);
    assert.equal(speed.look(44_999, { wireBytes: 2900 }), 'fine');
  });

  it('is anything where no rate is asked for', () => {
    const speed = new Speed({ ...LIMITS, minRateBytesPerS: 0 }, 0, 0);
    assert.equal(speed.look(1e9, { wireBytes: 0 }), 'fine');
  });
});

describe('a fetch from a site that drips', () => {
  it('ends as a timeout when it is slower than the minimum rate, and not before', async () => {
    const site = await rawServer(socket => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n');
      drip(socket, 'x', 10);
    });
    const limits = { ...PATIENT, minRateBytesPerS: 100_000, minRateText: '100 KB/s', minRateWindowMs: 300 };
    const outcome = await fetchOnce(newEngine(limits), { url: site.url, file: join(newFolder(), 'file') });
    assert.ok(outcome.status === 'error' && outcome.code === 603 && outcome.reach === 'url');
    assert.equal(outcome.message, 'timeout: receiving the content: slower than 100 KB/s');
  });
});

describe('a robot all of whose slots are taken by sites that drip', () => {
  for (const [what, begin] of [
    ['bodies', 'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n'],
    ['headers', 'HTTP/1.1 200 OK\r\n'],
    ['nothing at all', ''],
  ] as const) {
    it(`fetches from another meanwhile, says that it can, and finishes what it has: ${what}`, async () => {
      const release: (() => void)[] = [];
      const dripping = await rawServer(socket => {
        socket.write(begin);
        release.push(() => void socket.destroy());
      });
      const healthy = await rawServer(socket => void socket.write(answer('page')));
      const robot = new Robot({
        engine: newEngine({ ...PATIENT, minRateWindowMs: 3_600_000, slowAfterMs: 100 }),
        slots: 2,
        maxWaiting: 100,
        channel: channelOptions(),
        clock: systemClock,
        log: silentLog,
      });
      const { ours, theirs, received } = ends();
      const folder = newFolder();
      robot.serve(ours, 'manager', 'manager');
      const fetch = (id: number, url: string) =>
        theirs.write(`<fetch id="${id}" lane="${id}" url="${url}" file="${join(folder, String(id))}"/>`);
      fetch(1, dripping.url);
      fetch(2, dripping.url);
      fetch(3, healthy.url);
      await until('the third is answered', () => received().includes('<fetched id="3" status="ok"'));
      await until('4 slots are offered', () =>
        received().includes('<lococa:bot slots="4" pings="yes" unasked="yes"/>'),
      );
      const { fetching, slow, storing, idle } = robot.status();
      assert.deepEqual({ fetching, slow, storing, idle }, { fetching: 0, slow: 2, storing: 0, idle: false });
      // As many may be slow as there are slots: these two keep theirs.
      for (const id of [4, 5, 6]) fetch(id, id === 6 ? healthy.url : dripping.url);
      await until('4 requests drip', () => release.length >= 4);
      release.shift()?.();
      await until('the sixth is answered', () => received().includes('<fetched id="6" status="ok"'));
      for (const end of release) end();
      await until('all are answered', () => received().split('<fetched').length === 7);
      await until(
        '2 slots are offered',
        () => received().lastIndexOf('slots="2"') > received().lastIndexOf('slots="4"'),
      );
      assert.equal(robot.status().idle, true);
    });
  }
});
