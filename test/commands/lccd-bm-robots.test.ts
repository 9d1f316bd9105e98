import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { BotManagerHome, contentOf, md5 } from '../support/bot-manager.js';
import { statusOf } from '../support/daemon.js';
import { until } from '../support/until.js';
import { longIt } from '../support/long.js';

let bm: BotManagerHome;
beforeEach(async () => void (bm = await BotManagerHome.make()));
afterEach(() => bm.remove());

/** Files that robots have not finished. */
function halfWritten(): string[] {
  return readdirSync(join(bm.home, 'store'), { recursive: true })
    .map(String)
    .filter(name => name.endsWith('.tmp'));
}

describe('lccd-bm and its robots', () => {
  it('never has two urls of a lane fetched at once, and keeps their order', async () => {
    let now = 0;
    let most = 0;
    const order: string[] = [];
    bm.site.answer = (request, response) => {
      most = Math.max(most, ++now);
      order.push(request.url ?? '');
      setImmediate(() => {
        now--;
        response.end('x');
      });
    };
    bm.startManager();
    bm.startRobot('one', 4);
    bm.startRobot('two', 4);
    await bm.source.slots(8);
    const paths = Array.from({ length: 30 }, (_, i) => `/${i}`);
    await Promise.all(paths.map(path => bm.fetchOk(path, '7')));
    assert.equal(most, 1);
    assert.deepEqual(order, paths);
  });

  it('takes a lane back from itself and from a robot, all but the url being fetched', async () => {
    const asked: string[] = [];
    const held: (() => void)[] = [];
    let beginning = () => {};
    const begun = new Promise<void>(resolve => (beginning = resolve));
    bm.site.answer = (request, response) => {
      asked.push(request.url ?? '');
      if (asked.length > 1) return void response.end('x');
      held.push(() => response.end('x'));
      beginning();
    };
    bm.configure('lane_window = 3\n');
    bm.startManager();
    bm.startRobot('lccbot', 4);
    await bm.source.slots(4);
    const [first, ...rest] = Array.from({ length: 8 }, (_, i) =>
      bm.source.fetch({ lane: '7', url: bm.site.urlOf(`/${i}`) }),
    );
    await begun;
    bm.source.recall('7');
    const back = await Promise.all(rest);
    assert.deepEqual(
      back.map(result => result?.status),
      rest.map(() => 'recalled'),
    );
    const anew = bm.fetchOk('/anew', '7');
    for (const finish of held) finish();
    assert.equal((await first)?.status, 'ok');
    await anew;
    assert.deepEqual(asked, ['/0', '/anew']);
  });

  it('gives the work of a killed robot to another, at the cost of one more request; no bytes are mixed or left', async () => {
    // Larger than what a robot keeps in memory: half of it is in a file when the robot dies.
    const large = (path: string) => contentOf(path).repeat(800);
    let begun = 0;
    let requests = 0;
    bm.site.answer = (request, response) => {
      requests++;
      const content = large(request.url ?? '');
      if (begun >= 4) {
        response.end(content);
        return;
      }
      begun++;
      response.setHeader('content-length', content.length);
      response.write(content.slice(0, 400_000).toUpperCase());
    };
    const manager = bm.startManager();
    const victim = bm.startRobot('victim', 4);
    await bm.source.slots(4);
    const paths = ['/a', '/b', '/c', '/d'];
    const fetches = paths.map(path => bm.fetchOk(path));
    await until('every page is half written', () => halfWritten().length === paths.length);
    victim.child.kill('SIGKILL');
    await manager.logged('robot disconnected');
    bm.startRobot('heir', 2);
    for (const [i, result] of (await Promise.all(fetches)).entries()) {
      assert.ok(readFileSync(bm.fileOf(result), 'utf8') === large(paths[i] ?? ''), paths[i]);
    }
    assert.equal(requests, 2 * paths.length);
    assert.deepEqual(halfWritten(), []);
  });

  longIt(
    'gives the work of a robot that hangs to another, whose content is not replaced when it goes on',
    async () => {
      bm.configure('attempt_timeout_ms = 4000\n[bot]\ntotal_timeout_ms = 3900\n');
      let finish = () => {};
      let asked = () => {};
      const hasAsked = new Promise<void>(resolve => (asked = resolve));
      bm.site.answer = (_request, response) => {
        finish = () => void response.end('old');
        asked();
      };
      const manager = bm.startManager();
      const hung = bm.startRobot('hung', 1);
      await bm.source.slots(1);
      const result = bm.fetchOk('/a');
      await hasAsked;
      hung.child.kill('SIGSTOP');
      finish();
      await manager.logged('robot disconnected');
      bm.site.answer = (_request, response) => void response.end('new');
      bm.startRobot('heir', 1);
      const stored = await result;
      assert.notEqual(stored.fileId, '00/00/00000000.0', 'the name of the robot that hangs');
      hung.child.kill('SIGCONT');
      await bm.source.slots(2);
      assert.equal(readFileSync(bm.fileOf(stored), 'utf8'), 'new');
      assert.equal(stored.md5, md5('new'));
    },
  );

  longIt(
    'gives the lanes of a robot that answers no ping to another, and tells of it until it is back',
    async () => {
      bm.configure('[wire]\nping_interval_ms = 1000\n');
      let asked = () => {};
      const hasAsked = new Promise<void>(resolve => (asked = resolve));
      bm.site.answer = asked;
      const manager = bm.startManager();
      const hung = bm.startRobot('hung', 1);
      await bm.source.slots(1);
      const results = ['/0', '/1'].map(path => bm.fetchOk(path, '7'));
      await hasAsked;
      bm.site.answer = (request, response) => void response.end(contentOf(request.url ?? ''));
      hung.child.kill('SIGSTOP');
      bm.startRobot('heir', 1);
      await bm.source.slots(2);
      const says = (silent: number, lost: number) =>
        until(`${silent} robots are silent, ${lost} are lost`, async () => {
          const { robots_silent: isSilent, robots_lost: isLost } = await statusOf(bm.home, 'lccd-bm');
          return (isSilent as unknown[]).length === silent && (isLost as unknown[]).length === lost;
        });
      await says(1, 0);
      await manager.logged('silent for 3 intervals of 1 s (wire.ping_interval_ms)');
      await Promise.all(results);
      await says(0, 1);
      hung.child.kill('SIGCONT');
      await says(0, 0);
    },
  );

  longIt(
    'has a robot that was stopped for longer than its attempt ask nothing more beside its successor',
    async () => {
      bm.configure('attempt_timeout_ms = 6000\n[bot]\ntotal_timeout_ms = 5900\n');
      const asked: string[] = [];
      const answers = new Map<string, () => void>();
      bm.site.answer = (request, response) => {
        asked.push(request.url ?? '');
        answers.set(request.url ?? '', () => void response.end('page'));
      };
      const untilAsked = (count: number) => until(`${count} urls are asked for`, () => asked.length >= count);
      const manager = bm.startManager();
      const stopped = bm.startRobot('stopped', 1);
      await bm.source.slots(1);
      const results = ['/0', '/1', '/2', '/3'].map(path =>
        bm.source.fetch({ lane: '7', url: bm.site.urlOf(path) }),
      );
      await untilAsked(1);
      stopped.child.kill('SIGSTOP');
      const first = answers.get('/0');
      await manager.logged('robot disconnected');
      bm.startRobot('heir', 1);
      await untilAsked(2);
      answers.get('/0')?.();
      await untilAsked(3);
      // The heir is asking for /1; the other has all four, and an answer to the first.
      first?.();
      stopped.child.kill('SIGCONT');
      await stopped.logged('silent for 2 times the 2 s it pings at');
      await bm.source.slots(2);
      for (const [n, path] of ['/1', '/2', '/3'].entries()) {
        answers.get(path)?.();
        await untilAsked(Math.min(4 + n, 5));
      }
      for (const result of await Promise.all(results))
        assert.equal(result?.status, 'ok', JSON.stringify(result));
      assert.deepEqual(asked, ['/0', '/0', '/1', '/2', '/3']);
    },
  );

  longIt('has robots give up what they fetch when it hangs: its lanes are another’s soon', async () => {
    bm.configure('[wire]\nping_interval_ms = 2000\n');
    const asked: string[] = [];
    let leave = () => {};
    const left = new Promise<void>(resolve => (leave = resolve));
    let begin = () => {};
    const begun = new Promise<void>(resolve => (begin = resolve));
    bm.site.answer = (request, response) => {
      asked.push(request.url ?? '');
      response.once('close', leave);
      begin();
    };
    const manager = bm.startManager();
    const robot = bm.startRobot('lccbot', 1);
    await bm.source.slots(1);
    for (const path of ['/0', '/1', '/2']) void bm.source.fetch({ lane: '7', url: bm.site.urlOf(path) });
    await begun;
    manager.child.kill('SIGSTOP');
    await left;
    await robot.logged('silent for 2 times the 2 s it pings at');
    assert.deepEqual(asked, ['/0']);
    manager.child.kill('SIGCONT');
    await manager.logged('robot connected', 2);
  });

  it('answers a person’s robot, and outlives whatever it is sent', async () => {
    const manager = bm.startManager();
    await manager.ready;
    await bm.source.slots(0);
    for (const [typed, heard] of [
      ["<lococa:bot slots='1'/>\r\n<fetched id='5'/>\r\n", 'code="104"'],
      ['<lococa:bot slots="1"', ''],
      ['GET / HTTP/1.0\r\n\r\n', 'code="103"'],
      ['<a><b><c>', 'code="104"'],
      // More than wire.max_hello_bytes, and less than what makes the connection be cut off unheard.
      [`<a ${'x'.repeat(150_000)}`, 'code="10'],
      ['\u0000\u0001\u0002', 'code="103"'],
    ] as const) {
      const socket = connect(join(bm.home, 'bm.sock'));
      socket.on('error', () => undefined);
      let text = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      socket.end(typed);
      await once(socket, 'close');
      assert.ok(text.includes(heard), `${typed.slice(0, 20)}: ${text}`);
    }
    const typist = connect(join(bm.home, 'bm.sock'));
    typist.write("<lococa:bot slots='1'/>\r\n");
    await bm.source.slots(1);
    const fetching = bm.source.fetch({ lane: '1', url: bm.site.urlOf('/x') });
    const [asked] = (await once(typist, 'data')) as [Buffer];
    assert.match(
      asked.toString(),
      /^<fetch id="1" lane="1" url="[^"]+\/x" file="\/[^"]+\/store\/00\/00\/00000000\.0"\/>\n$/,
    );
    typist.write("\r\n <fetched id='1' status='error' code='404'>gone</fetched>\r\n");
    assert.deepEqual(await fetching, {
      id: 1,
      status: 'error',
      code: 404,
      message: 'gone',
      reach: 'url',
      wireBytes: 0,
      elapsedMs: 0,
    });
    typist.destroy();
  });
});
