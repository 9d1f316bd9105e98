/** Every setting of the robot: that it reaches what it is for, and, with the real lccbot, what it does there. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, test } from 'node:test';
import { engineLimits, robotLimits } from '../../src/bot/options.js';
import { Robot } from '../../src/bot/robot.js';
import { systemClock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { FairShare } from '../../src/lib/fair-share.js';
import { channelLimitsOf } from '../../src/wire/messages.js';
import { ManualClock } from '../support/manual-clock.js';
import { ends, settle } from '../support/duplex.js';
import { configOf, settingsOf } from '../support/settings.js';
import { until } from '../support/until.js';
import { dial, request, socketIn, spawnBot, talk } from './lccbot.js';
import { answer, newEngine, newFolder, rawServer } from '../fetch/support.js';

const GIVEN = {
  'bot.connect_timeout_ms': '11',
  'bot.headers_timeout_ms': '12',
  'bot.idle_timeout_ms': '13',
  'bot.total_timeout_ms': '14',
  'bot.min_rate_bytes_per_s': '20',
  'bot.max_content_bytes': '15',
  'bot.max_redirects': '16',
  'bot.user_agent': 'somebody',
  'bot.allow_addresses': ['10.0.0.0/8'],
  'bot.sync_content': 'true',
  'bot.max_connections_per_host': '19',
  'bot.keep_alive_ms': '18',
};

test('every setting of the robot reaches the option it is for', () => {
  const expected = {
    connectTimeoutMs: 11,
    headersTimeoutMs: 12,
    idleTimeoutMs: 13,
    totalTimeoutMs: 14,
    minRateBytesPerS: 20,
    minRateText: '20 bytes/s (bot.min_rate_bytes_per_s)',
    maxContentBytes: 15,
    contentLimitText: '15 bytes (bot.max_content_bytes)',
    maxRedirects: 16,
    redirectLimitText: '16 (bot.max_redirects)',
    userAgent: 'somebody',
    allowAddresses: ['10.0.0.0/8'],
    maxConnectionsPerHost: 19,
    keepAliveMs: 18,
  };
  const limits = engineLimits(configOf(GIVEN).settings.bot);
  assert.deepEqual({ ...limits, ...expected }, limits);
});

test('bot.sync_content reaches the robot', () => {
  assert.equal(robotLimits(configOf(GIVEN).settings).syncContent, true);
});

test('every setting of messages between daemons reaches the option it is for', () => {
  const overrides = {
    'xml.token_bytes': '1025',
    'xml.url_bytes': '1025',
    'wire.max_hello_bytes': '4097',
    'wire.stall_timeout_ms': '101',
    'wire.ping_interval_ms': '103',
  };
  const { share, ...limits } = channelLimitsOf(configOf(overrides).settings);
  assert.ok(share instanceof FairShare);
  assert.deepEqual(limits, {
    xml: { maxTokenBytes: 1025, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 },
    maxHelloBytes: 4097,
    maxPendingBytes: 8 * 1024 * 1024,
    stallTimeoutMs: 101,
    helloTimeoutMs: 60_000,
    pingIntervalMs: 103,
  });
});

test('bot.max_waiting and bm.slots bound what a robot has at a time', async () => {
  const config = configOf({ 'bot.max_waiting': '2', 'bm.slots': '3' });
  const robot = new Robot({
    ...robotLimits(config.settings),
    engine: newEngine(),
    clock: systemClock,
    log: silentLog,
  });
  const { ours, theirs, received } = ends();
  robot.serve(ours, 'person', 'person');
  const silent = await rawServer(() => undefined);
  const requests = (...ids: number[]) => ids.map(id => request(id, silent.url, '/nowhere/x')).join('');
  theirs.write(requests(1, 2, 3, 4, 5));
  await settle();
  theirs.write(requests(6));
  await settle();
  const { fetching, waiting } = robot.status();
  assert.deepEqual([received(), fetching, waiting], ['<lococa:bot slots="3" unasked="yes"/>\n', 3, 2]);
  const late = ends();
  robot.serve(late.ours, 'another', 'person');
  late.theirs.write(requests(1, 2));
  await settle();
  assert.equal(robot.status()['waiting'], 2, 'of one that comes while there is no room nothing is read');
  late.theirs.destroy();
  theirs.destroy();
  await robot.stop();
});

test('who connects to a robot and sends nothing but comments is refused after wire.max_hello_bytes', async () => {
  const options = robotLimits(configOf({ 'wire.max_hello_bytes': '8KB' }).settings);
  const clock = new ManualClock();
  const robot = new Robot({ ...options, firstWordMs: 1000, engine: newEngine(), clock, log: silentLog });
  const { ours, theirs, received } = ends();
  robot.serve(ours, 'noisy', 'person');
  theirs.write('<!-- x -->\n'.repeat(1000));
  await settle();
  assert.match(received(), /code="106">noisy:\d+:\d+: no message in 8 KB \(wire\.max_hello_bytes\)/);
  theirs.destroy();
  await robot.stop();
});

test('who connects to a robot and says nothing goes after a while; who has said something stays', async () => {
  const clock = new ManualClock();
  const options = robotLimits(configOf({ 'bot.max_waiting': '1', 'bm.slots': '1' }).settings);
  const robot = new Robot({ ...options, firstWordMs: 1000, engine: newEngine(), clock, log: silentLog });
  const come = (where: string) => {
    const pair = ends();
    robot.serve(pair.ours, where, 'person');
    return pair;
  };
  const silent = come('silent');
  const half = come('half');
  const stays = come('stays');
  half.theirs.write('<fetch id="1"');
  const site = await rawServer(() => undefined);
  stays.theirs.write(request(1, site.url, '/nowhere/x'));
  await settle();
  clock.advance(999);
  await settle();
  assert.equal(robot.status()['managers'], 3);
  clock.advance(1);
  await settle();
  assert.match(silent.received(), /code="104">silent: has said nothing for 1 s</);
  assert.match(half.received(), /code="104">half: has said nothing/);
  clock.advance(2000);
  await settle();
  assert.equal(robot.status()['managers'], 1);
  stays.theirs.write(request(2, site.url, '/nowhere/y'));
  await settle();
  const late = come('late');
  late.theirs.write('<ping/>');
  clock.advance(5000);
  await settle();
  assert.doesNotMatch(late.received(), /code=/, 'what it says is not read while too many requests wait');
  for (const { theirs } of [stays, late]) theirs.destroy();
  const stopped = robot.stop();
  clock.advance(10_000);
  await stopped;
});

/** Settings with an effect that other tests see. */
const ELSEWHERE: Record<string, string> = {
  'bot.max_waiting': 'above',
  'bot.metrics_listen': 'web/metrics',
  'bot.max_connections': 'commands/connections',
};

test('no setting of the robot is without a test', () => {
  const { all, named } = settingsOf('bot', Object.keys({ ...GIVEN, ...ELSEWHERE }));
  assert.deepEqual(named, all);
});

const OK = answer('a page', 'Content-Type: text/html\r\n');

/** `--config=` of a file with these settings. */
function configured(folder: string, toml: string): string {
  const file = join(folder, 'lcc.toml');
  writeFileSync(file, toml);
  return `--config=${file}`;
}

/** A robot, and a conversation with it in which results are waited for. */
async function robot(folder: string, toml: string) {
  const path = socketIn(folder);
  spawnBot([
    `--listen=unix:${path}`,
    `--dir=${folder}`,
    '--allow-address=127.0.0.1',
    configured(folder, toml),
  ]);
  const socket = await dial(path);
  let seen = '';
  socket.setEncoding('utf8').on('data', (text: string) => (seen += text));
  return {
    socket,
    async saw(pattern: RegExp): Promise<void> {
      await until(`it says ${String(pattern)}`, () => pattern.test(seen));
    },
  };
}

describe('the settings of a real lccbot', () => {
  it('say who it is', async () => {
    const site = await rawServer(socket => void socket.write(OK));
    const folder = newFolder();
    const toml = '[bot]\nuser_agent = "somebody (+mailto:me@example.org)"\n';
    await talk(request(1, site.url, join(folder, 'x')), [configured(folder, toml)]);
    assert.match(site.requests[0] ?? '', /^user-agent: somebody \(\+mailto:me@example\.org\)$/im);
  });

  it('bound how many redirects it follows', async () => {
    const site = await rawServer((socket, head) => {
      const hop = Number(/^GET \/(\d*)/.exec(head)?.[1] ?? 0);
      socket.write(hop === 3 ? OK : answer('', `Location: /${hop + 1}\r\n`, '302 Found'));
    });
    for (const [redirects, status] of [
      [3, 'ok'],
      [2, 'error'],
    ] as const) {
      const folder = newFolder();
      const toml = `[bot]\nmax_redirects = ${redirects}\n`;
      const { out } = await talk(request(1, site.url, join(folder, 'x')), [configured(folder, toml)]);
      assert.match(out, new RegExp(`<fetched id="1" status="${status}"`), `${redirects} redirects`);
    }
    assert.equal(site.requests.length, 4 + 3);
  });

  it('bound the response headers it reads', async () => {
    const site = await rawServer(
      socket => void socket.write(answer('a page', `X-Long: ${'x'.repeat(300_000)}\r\n`)),
    );
    const folder = newFolder();
    const { out } = await talk(request(1, site.url, join(folder, 'x')), [configured(folder, '')]);
    assert.match(out, /status="error".*256 KB/);
  });

  it('end an idle connection when its time is over', async () => {
    let ended = false;
    const site = await rawServer(
      socket => void socket.write(OK),
      socket => socket.on('close', () => (ended = true)),
    );
    const silent = await rawServer(() => undefined);
    const folder = newFolder();
    // What is left after the first is due long before the answer to the second is given up.
    const bot = await robot(folder, '[bot]\nkeep_alive_ms = 10\nheaders_timeout_ms = 2500\n');
    bot.socket.write(request(1, site.url, join(folder, '1')) + request(2, silent.url, join(folder, '2')));
    await bot.saw(/<fetched id="1" status="ok"/);
    await bot.saw(/<fetched id="2" status="error"/);
    assert.ok(ended, 'the idle connection is still there');
  });
});
