/** What ends a connection between daemons: what is said against the rules, and silence. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LccError } from '../../src/lib/errors.js';
import { ManagerPeer, RobotPeer } from '../../src/wire/bm-bot.js';
import type { FetchResult } from '../../src/wire/fetch.js';
import { BotManagerPeer, SourcePeer } from '../../src/wire/qm-bm.js';
import { channelOptions, ends, settle } from '../support/duplex.js';

const options = () => ({ ...channelOptions(), helloTimeoutMs: 1000, pingIntervalMs: 1000 });

describe('what the rules of a conversation forbid', () => {
  const cases: ['robot' | 'bm' | 'manager' | 'source', string, RegExp][] = [
    ['robot', '<fetched id="1" status="ok"/>', /&lt;fetched&gt; before &lt;lococa:bot&gt;/],
    ['robot', '<bot/>', /attribute slots: it is required/],
    ['robot', '<bot slots="many"/>', /attribute slots="many": give a whole number/],
    ['robot', '<bot slots="-1"/>', /attribute slots="-1"/],
    [
      'robot',
      '<bot slots="1"/><fetched id="1" status="fine"/>',
      /status="fine": give one of ok, unchanged, error, recalled/,
    ],
    ['robot', '<bot slots="1"/><fetched id="1" status="ok" md5="x"/>', /attribute len: it is required/],
    ['robot', '<bot slots="1"/><fetched id="1" status="error"/>', /attribute code: it is required/],
    ['robot', '<bot slots="1"/><fetched id="1" status="error" code="1" reach="far"/>', /reach="far"/],
    ['robot', '<bot slots="1"/><hello/>', /&lt;hello&gt; is nothing a robot says; bot, fetched and pong are/],
    ['robot', '<bot slots="1"/><part id="1">AAAA</part>', /&lt;part id="1"&gt;: no content was asked for/],
    [
      'robot',
      '<bot slots="1"/><fetched id="1" status="inline"/>',
      /&lt;fetched id="1"&gt;: its content was not to come inline/,
    ],
    [
      'manager',
      '<fetch id="1" url="http://h/" file="/f" redirects="no"/>',
      /redirects="no": give one of report/,
    ],
    ['manager', '<fetch id="1" url="http://h/"/>', /attribute file: it is required/],
    ['manager', '<fetch id="1" url="http://h/" file="f"/>', /attribute file="f": give an absolute path/],
    ['manager', '<fetch id="1e3" url="http://h/" file="/f"/>', /attribute id="1e3"/],
    ['manager', '<fetch id="1" url="http://h/" file="/f" timeout="1e9"/>', /timeout="1e9": give seconds/],
    ['manager', '<fetch id="1" url="http://h/" file="/f" enforce="1"/>', /enforce="1": give yes or no/],
    ['manager', '<recall/>', /attribute lane: it is required/],
    ['manager', '<fetched id="1"/>', /nothing a robot does/],
    ['source', '<fetch id="1" url="http://h/"/>', /attribute lane: it is required/],
    ['source', '<delete id="1" machineid="m1"/>', /attribute fileid: it is required/],
    ['source', '<delete id="99999999999999999999" machineid="m" fileid="f"/>', /give a whole number/],
    ['source', '<recall lane=""/>', /attribute lane="": it is required/],
    ['source', '<pong/>', /not a message of a source/],
    ['bm', '<pong/>', /&lt;pong&gt; before/],
    ['bm', '<bm machineid="m" slots="1"/><deleted id="1" status="maybe"/>', /status="maybe"/],
    [
      'bm',
      '<bm machineid="m" slots="1"/><fetched id="1" status="ok" md5="x" len="1" fileid="f"/>',
      /attribute machineid: it is required/,
    ],
    ['bm', '<bm machineid="m" slots="1"/><ping/>', /not a message of a Bot Manager/],
  ];
  for (const [side, input, answer] of cases) {
    it(`is answered and ends the connection: ${input}`, async () => {
      const { ours, theirs, received } = ends();
      let reason: string | undefined;
      const closed = (error: Error | undefined) => (reason = error?.message);
      theirs.on('end', () => theirs.end());
      switch (side) {
        case 'robot':
          void new RobotPeer(ours, { hello() {}, fetched() {}, closed }, options());
          break;
        case 'manager':
          void new ManagerPeer(ours, { fetch() {}, recall() {}, closed }, options());
          break;
        case 'source':
          void new SourcePeer(
            ours,
            { fetch() {}, recall() {}, delete() {}, upkeep() {}, refused() {}, closed },
            options(),
          );
          break;
        case 'bm':
          void new BotManagerPeer(
            ours,
            { hello() {}, fetched() {}, deleted() {}, upkept() {}, closed },
            options(),
          );
          break;
      }
      theirs.write(input);
      await settle();
      assert.match(received(), /<lococa:error code="104">/);
      assert.match(received(), answer);
      assert.match(reason ?? '', /^peer: /);
    });
  }

  it('includes saying nothing: a robot or Bot Manager that does not say who it is', async () => {
    for (const serve of [
      (stream: ReturnType<typeof ends>['ours'], settings: ReturnType<typeof options>) =>
        new RobotPeer(stream, { hello() {}, fetched() {}, closed() {} }, settings),
      (stream: ReturnType<typeof ends>['ours'], settings: ReturnType<typeof options>) =>
        new BotManagerPeer(
          stream,
          { hello() {}, fetched() {}, deleted() {}, upkept() {}, closed() {} },
          settings,
        ),
    ]) {
      const { ours, received } = ends();
      const settings = options();
      serve(ours, settings);
      settings.clock.advance(1000);
      await settle();
      assert.match(received(), /no greeting for 1 s</);
    }
  });
});

describe('slots', () => {
  const most = Number.MAX_SAFE_INTEGER;
  it('are believed as far as any machine has them: those of several robots are still a number', async () => {
    const heard: number[] = [];
    const robot = ends(false);
    const hello = (slots: number) => void heard.push(slots);
    void new RobotPeer(robot.ours, { hello, fetched() {}, closed() {} }, options());
    robot.theirs.write(`<lococa:bot slots="${most}"/>`);
    const manager = ends();
    const handlers = { fetched() {}, deleted() {}, upkept() {}, closed() {} };
    void new BotManagerPeer(manager.ours, { ...handlers, hello: ({ slots }) => hello(slots) }, options());
    manager.theirs.write(`<lococa:bm machineid="m" slots="${most}"/>`);
    await settle();
    assert.deepEqual(heard, [1_000_000, 1_000_000]);
  });
});

describe('a source', () => {
  it('gives up a Bot Manager that has been silent for three intervals, not one that answers', async () => {
    const { ours, theirs } = ends();
    const settings = options();
    let reason: string | undefined;
    void new BotManagerPeer(
      ours,
      { hello() {}, fetched() {}, deleted() {}, upkept() {}, closed: error => (reason = error?.message) },
      settings,
    );
    theirs.write('<lococa:bm machineid="m" slots="1"/>');
    await settle();
    for (let i = 0; i < 3; i++) {
      settings.clock.advance(2900);
      theirs.write('<pong/>');
      await settle();
    }
    assert.equal(reason, undefined);
    settings.clock.advance(2000);
    await settle();
    assert.equal(reason, undefined);
    settings.clock.advance(2000);
    await settle();
    assert.match(reason ?? '', /silent for 3 intervals of 1 s \(wire.ping_interval_ms\)/);
  });
});

describe('a Bot Manager', () => {
  const serve = () => {
    const { ours, theirs, received } = ends();
    const settings = options();
    const end = { reason: undefined as string | undefined };
    const peer = new SourcePeer(
      ours,
      {
        fetch() {},
        recall() {},
        delete() {},
        upkeep() {},
        refused() {},
        closed: error => (end.reason = error?.message ?? 'closed'),
      },
      settings,
    );
    const pass = async (ms: number) => {
      settings.clock.advance(ms);
      await settle();
    };
    return { peer, theirs, received, end, pass };
  };

  it('gives up a source that does not ping any more, before that gives it up', async () => {
    const { theirs, end, pass } = serve();
    for (let i = 0; i < 3; i++) {
      theirs.write('<ping intervalms="1000"/>');
      await settle();
      await pass(1900);
    }
    assert.equal(end.reason, undefined);
    await pass(200);
    assert.match(end.reason ?? '', /silent for 2 times the 1 s it pings at/);
  });

  it('never does so while it reads nothing itself, and says that it is there', async () => {
    const { peer, theirs, received, end, pass } = serve();
    theirs.write('<ping intervalms="1000"/>');
    await settle();
    peer.hold(true);
    for (let i = 0; i < 3; i++) await pass(2000);
    assert.equal(end.reason, undefined);
    assert.equal(received(), '<pong/>\n'.repeat(4));
    peer.hold(false);
    await pass(2000);
    assert.match(end.reason ?? '', /silent/);
  });

  it('waits for ever for a source that never said how often it pings', async () => {
    const { theirs, end, pass } = serve();
    theirs.write('<ping/>');
    await settle();
    await pass(3_600_000);
    assert.equal(end.reason, undefined);
  });
});

describe('a robot', () => {
  const serve = () => {
    const { ours, theirs, received } = ends();
    const settings = options();
    const end = { reason: undefined as string | undefined };
    const closed = (error: LccError | undefined) => void (end.reason = error?.message ?? 'closed');
    const asked: number[] = [];
    const fetch = ({ id }: { id: number }) => void asked.push(id);
    const peer = new ManagerPeer(ours, { fetch, recall() {}, closed }, settings);
    return { peer, theirs, received, asked, end, clock: settings.clock };
  };

  it('gives up a Bot Manager that does not ping any more, not one that never did or whose pings it does not read', async () => {
    const { peer, theirs, end, clock } = serve();
    clock.advance(600_000);
    theirs.write('<ping intervalms="1000"/>');
    await settle();
    peer.hold(true);
    clock.advance(5000);
    await settle();
    assert.equal(end.reason, undefined);
    peer.hold(false);
    theirs.write('<ping intervalms="1000"/>');
    await settle();
    clock.advance(1900);
    assert.equal(end.reason, undefined);
    clock.advance(200);
    await settle();
    assert.match(end.reason ?? '', /silent for 2 times the 1 s it pings at/);
  });

  it('answers pings, also when it reads nothing for now', async () => {
    const { peer, theirs, received, clock } = serve();
    theirs.write('<ping intervalms="1000"/>');
    await settle();
    assert.equal(received(), '<pong/>\n');
    peer.hold(true);
    clock.advance(2000);
    await settle();
    assert.equal(received(), '<pong/>\n'.repeat(2));
  });

  it('that stood still begins nothing of what it finds unread: it may be another’s', async () => {
    for (const unread of ['<fetch id="7" url="http://h/" file="/f"/>', '<ping intervalms="1000"/>']) {
      const { theirs, received, asked, end, clock } = serve();
      theirs.write('<ping intervalms="1000"/><fetch id="6" url="http://h/" file="/f"/>');
      await settle();
      // Time passes, and no timer has its turn before what lies in the buffers.
      clock.monotonicMs = () => 2000;
      theirs.write(unread);
      await settle();
      assert.deepEqual(asked, [6]);
      assert.equal(received(), '<pong/>\n');
      assert.match(end.reason ?? '', /silent for 2 times the 1 s it pings at/);
    }
  });

  it('is given up when it has not answered three pings, not one that answers or asked for none', async () => {
    const serveRobot = async (hello: string, said: string) => {
      const { ours, theirs } = ends();
      const settings = options();
      const end = { reason: undefined as string | undefined };
      const closed = (error: LccError | undefined) => void (end.reason = error?.message ?? 'closed');
      const peer = new RobotPeer(ours, { hello() {}, fetched() {}, closed }, settings);
      theirs.write(hello);
      await settle();
      const silences: number[] = [];
      for (let i = 0; i < 6 && end.reason === undefined; i++) {
        silences.push(peer.silentMs);
        settings.clock.advance(1000);
        if (said !== '') theirs.write(said);
        await settle();
      }
      return { reason: end.reason, silences };
    };
    const pinged = '<lococa:bot slots="1" pings="yes"/>';
    assert.deepEqual(await serveRobot(pinged, ''), {
      reason: 'peer: silent for 3 intervals of 1 s (wire.ping_interval_ms); it hangs, or the link is cut',
      silences: [0, 1000, 2000],
    });
    const talkative = { reason: undefined, silences: [0, 0, 0, 0, 0, 0] };
    assert.deepEqual(await serveRobot(pinged, '<pong/>'), talkative);
    assert.deepEqual(await serveRobot(pinged, '<bot slots="1"/>'), talkative);
    assert.deepEqual(await serveRobot('<lococa:bot slots="1"/>', ''), talkative);
  });

  it('is pinged when it wants to be, once an interval however often it says so', async () => {
    const pings = async (hello: string) => {
      const { ours, theirs, received } = ends();
      const settings = options();
      void new RobotPeer(ours, { hello() {}, fetched() {}, closed() {} }, settings);
      theirs.write(hello);
      await settle();
      settings.clock.advance(1000);
      await settle();
      return received();
    };
    const ping = '<ping intervalms="1000"/>\n';
    assert.equal(await pings('<lococa:bot slots="1"/>'), '');
    assert.equal(await pings('<lococa:bot slots="1" pings="yes"/>'), ping.repeat(2));
    assert.equal(
      await pings('<lococa:bot slots="1" pings="yes"/><bot slots="2" pings="yes"/>'),
      ping.repeat(2),
    );
  });
});

describe('a content that comes inline', () => {
  it('is no longer than was asked for: a robot that sends more is cut off', async () => {
    const { ours, theirs, received } = ends();
    let reason: string | undefined;
    const closed = (error: Error | undefined) => (reason = error?.message);
    theirs.on('end', () => theirs.end());
    const peer = new RobotPeer(ours, { hello() {}, fetched() {}, closed }, options());
    peer.fetch(1, undefined, { url: 'http://h/robots.txt', roots: [], inline: 5 });
    theirs.write('<bot slots="1"/><part id="1">AAAA</part><part id="1">AAAA</part>');
    await settle();
    assert.match(received(), /&lt;part id="1"&gt;: more than 5 bytes/);
    assert.match(reason ?? '', /more than 5 bytes/);
  });

  it('comes in parts that a peer with half of the limit reads, and is whole at the other side', async () => {
    const robot = ends();
    const results: FetchResult[] = [];
    const content = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7) % 256));
    const up = new BotManagerPeer(
      robot.ours,
      {
        hello() {},
        fetched: result => results.push(result),
        deleted() {},
        upkept() {},
        closed() {},
      },
      { ...options(), xml: { ...options().xml, maxTokenBytes: 500 } },
    );
    const down = new SourcePeer(
      robot.theirs,
      { fetch() {}, recall() {}, delete() {}, upkeep() {}, refused() {}, closed() {} },
      options(),
    );
    down.hello({ machineIds: ['m1'], slots: 1, storeIds: [], relays: false });
    up.fetch({ id: 1, lane: '1', url: 'http://h/robots.txt', roots: [], inline: 5000 });
    await settle();
    down.fetched({ id: 1, status: 'inline', http: 200, content, isCut: false, wireBytes: 1, elapsedMs: 1 });
    await settle(100);
    const [result] = results;
    assert.ok(result?.status === 'inline');
    assert.deepEqual(Buffer.from(result.content), content);
  });
});
