import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { SessionStore } from '../../src/db/spools/sessions.js';
import { Conversation } from '../../src/lib/conversation.js';
import { DutyCycle } from '../../src/lib/duty-cycle.js';
import { silentLog } from '../../src/lib/log.js';
import { Spool } from '../../src/lib/spool.js';
import { Forwarder } from '../../src/uns/forward.js';
import type { UnsOptions } from '../../src/uns/options.js';
import { formatLabel } from '../../src/uns/spool-names.js';
import { formatQmAnswer, receiveFromUns, type SetHead } from '../../src/wire/uns-qm.js';
import { occupyThreads } from '../lib/spools.js';
import { ends, settle } from '../support/duplex.js';
import { FairShare } from '../../src/lib/fair-share.js';
import { ManualClock } from '../support/manual-clock.js';

const root = mkdtempSync(join(tmpdir(), 'lcc-forward-'));
after(() => rmSync(root, { recursive: true }));
const LIMITS = { maxTokenBytes: 4096, maxDepth: 4, maxAttributes: 32, maxNameBytes: 64 };
const LARGE = 20_000;

/** A forwarder over a spool of its own, and a Queue Manager that takes a set when the test says so. */
function uns(name: string) {
  mkdirSync(join(root, name, 'a', 'new'), { recursive: true });
  const clock = new ManualClock();
  const spool = new Spool({
    dir: join(root, name, 'a'),
    steps: 'uns.spool',
    fail: error => assert.fail(String(error)),
  });
  const sessions = new SessionStore(join(root, name, 'sessions.db'));
  const options = { id: 'a', xml: LIMITS, qmTimeoutMs: 60_000 } as UnsOptions;
  const forwarder = new Forwarder({
    options,
    spool,
    sessions,
    duty: new DutyCycle(clock),
    clock,
    log: { ...silentLog, info: event => void said.push(event) },
  });
  /** Sets that have been sent, in the order in which they ended, and what lets the Queue Manager answer. */
  const open: { pid: number; seq: number; take: () => void; cut: () => void }[] = [];
  const noted: string[] = [];
  const said: string[] = [];
  /** Sets that were accepted and that the Queue Manager has not taken. */
  let left = 0;
  return {
    clock,
    spool,
    forwarder,
    open,
    /** Sessions that a note reported to the Queue Manager. */
    noted,
    /** Logged for operators. */
    said,
    logIn(pid: number): void {
      sessions.commit(() => sessions.number({ pid, ip: '', known: { seq: 0, ip: '' } }));
    },
    sent: () => open.map(({ pid, seq }) => `${pid}.${seq}`).toSorted(),
    async accept(pid: number, seq: number, received: number): Promise<void> {
      const writer = spool.create({ pid, seq, set: 'partial' });
      writer.write('<url curl="a"/>\n');
      await writer.commit(
        formatLabel({ pid, seq, set: 'partial', received, deletes: 0, newest: seq, after: 0 }),
      );
      left += 1;
      forwarder.wake();
    },
    /** @returns what breaks it */
    connect(): () => void {
      const { ours, theirs } = ends(false);
      void forwarder.serve({ socket: ours as Socket, peer: 'qm', address: '' });
      let begun: SetHead | undefined;
      const say = (answer: Parameters<typeof formatQmAnswer>[0]) => void theirs.write(formatQmAnswer(answer));
      const session = receiveFromUns(
        new Conversation(theirs, 'uns', clock),
        {
          hello: () => say({ kind: 'qm' }),
          setBegins: head => void (begun = head),
          urls() {},
          async setEnds() {
            if (begun === undefined) return;
            const { pid, seq, entry } = begun;
            await new Promise<void>(resolve => {
              open.push({ pid, seq, take: resolve, cut: () => void ours.destroy() });
            });
            say({ kind: 'absorbed', entry, queued: 1, duplicate: 0, unchanged: 0, deleted: 0 });
          },
          session({ pid, seq }) {
            noted.push(`${pid}.${seq}`);
            say({ kind: 'noted', pid, seq, entry: undefined });
          },
          damaged() {},
        },
        { where: 'uns', xml: LIMITS, maxHelloBytes: 128 * 1024, share: new FairShare() },
      );
      session.catch(() => undefined);
      return () => void ours.destroy();
    },
    take(pid: number): void {
      const at = open.findIndex(set => set.pid === pid);
      open.splice(at, 1)[0]?.take();
      left -= 1;
    },
    /** Waits until these have been sent and not been taken, all taken are gone, and makes sure that no more come. */
    async until(sent: string[]): Promise<void> {
      const deadlineMs = performance.now() + 120_000;
      const isThere = () => this.sent().join() === sent.join() && spool.entries.length === left;
      while (!isThere() && performance.now() < deadlineMs) await settle();
      await settle(100);
      assert.deepEqual(this.sent(), sent);
    },
  };
}

describe('sets on their way to the Queue Manager', () => {
  it('go one large one at a time, and small ones of others beside it, each provider’s in order', async () => {
    const a = uns('beside');
    await a.accept(1, 1, LARGE);
    await a.accept(2, 1, LARGE);
    await a.accept(3, 1, 5);
    await a.accept(3, 2, 5);
    await a.accept(2, 2, 5);
    await a.accept(4, 1, 5);
    for (let i = 0; i < 4; i++) a.connect();
    await a.until(['1.1', '3.1', '4.1']);
    a.take(3);
    await a.until(['1.1', '3.2', '4.1']);
    a.take(1);
    await a.until(['2.1', '3.2', '4.1']);
    for (const pid of [4, 3, 2]) a.take(pid);
    await a.until(['2.2']);
    a.take(2);
    await a.until([]);
    assert.equal(a.spool.entries.length, 0);
    assert.equal(a.forwarder.absorbed, 6);
  });

  it('go on over the connections that are left when one breaks, the oldest first', async () => {
    const a = uns('broken');
    await a.accept(1, 1, LARGE);
    await a.accept(2, 1, 5);
    a.connect();
    await a.until(['1.1']);
    a.connect();
    await a.until(['1.1', '2.1']);
    const [first] = a.open.splice(0, 1);
    first?.cut();
    await a.until(['2.1']);
    a.take(2);
    await a.until(['1.1']);
    a.take(1);
    await a.until([]);
    assert.equal(a.spool.entries.length, 0);
  });

  it('find a connection that has nothing to do when they are accepted', async () => {
    const a = uns('idle');
    for (let i = 0; i < 3; i++) a.connect();
    await a.until([]);
    await a.accept(1, 1, 5);
    await a.accept(2, 1, 5);
    await a.until(['1.1', '2.1']);
    await a.accept(3, 1, LARGE);
    await a.until(['1.1', '2.1', '3.1']);
    await a.accept(4, 1, 5);
    await a.until(['1.1', '2.1', '3.1']);
    a.take(2);
    await a.until(['1.1', '3.1', '4.1']);
  });

  it('leave connections in peace that have nothing to do, however many wait', async () => {
    const a = uns('peace');
    for (let seq = 1; seq <= 3; seq++) await a.accept(1, seq, 5);
    for (let i = 0; i < 3; i++) a.connect();
    await a.until(['1.1']);
    const { entries } = a.spool;
    let looks = 0;
    Object.defineProperty(a.spool, 'entries', { get: () => (looks++, entries) });
    for (let i = 0; i < 20; i++) {
      a.clock.advance(50);
      await settle();
    }
    // The beat asks once a while whether there is anything.
    assert.ok(looks <= 5, `${looks} looks`);
    a.take(1);
    await a.until(['1.2']);
  });
});

describe('a Queue Manager that goes', () => {
  it('is logged once, when the last connection to it is gone', async () => {
    const a = uns('away');
    const connections = Array.from({ length: 3 }, () => a.connect());
    await a.until([]);
    const last = connections.pop();
    for (const cut of connections) cut();
    await a.until([]);
    assert.deepEqual(a.said, []);
    last?.();
    await a.until([]);
    assert.deepEqual(a.said, ['Queue Manager away']);
  });
});

describe('a stop', () => {
  it('waits until what the Queue Manager has taken is gone from the spool, and sends nothing more', async () => {
    const a = uns('stop');
    a.connect();
    await a.until([]);
    await a.accept(1, 1, 5);
    await a.until(['1.1']);
    a.logIn(2);
    await a.accept(1, 2, 5);
    const release = occupyThreads(join(root, 'stop'));
    a.take(1);
    await settle(100);
    a.forwarder.noteSession(2);
    let isOver = false;
    const stopped = a.forwarder.stop().then(() => void (isOver = true));
    await settle(100);
    assert.deepEqual([isOver, a.spool.entries.length], [false, 2]);
    await release();
    await stopped;
    assert.equal(a.spool.entries.length, 1);
    await settle(100);
    assert.deepEqual([a.sent(), a.noted], [[], []]);
  });
});

describe('sessions', () => {
  it('are noted by their sets; by themselves only when they brought none, and have ended', async () => {
    const a = uns('sessions');
    a.connect();
    await a.until([]);
    for (const pid of [1, 2, 3]) a.logIn(pid);
    await a.accept(1, 1, 5);
    a.forwarder.noteSession(1);
    a.forwarder.noteSession(2);
    await a.until(['1.1']);
    a.take(1);
    await a.until([]);
    assert.deepEqual(a.noted, ['2.1']);
    a.forwarder.noteSession(1);
    a.forwarder.noteSession(3);
    await a.until([]);
    assert.deepEqual(a.noted, ['2.1', '3.1']);
  });

  it('are noted after their sets when those report earlier ones', async () => {
    const a = uns('later');
    a.connect();
    await a.until([]);
    a.logIn(1);
    await a.accept(1, 1, 5);
    await a.until(['1.1']);
    a.logIn(1);
    a.forwarder.noteSession(1);
    a.take(1);
    await a.until([]);
    assert.deepEqual(a.noted, ['1.2']);
  });

  it('are all noted over a new connection, unless that is known', async () => {
    const a = uns('all');
    for (const pid of [1, 2]) a.logIn(pid);
    a.forwarder.noteSession(1);
    a.connect();
    await a.until([]);
    assert.deepEqual(a.noted, ['1.1', '2.1']);
    a.connect();
    await a.until([]);
    assert.deepEqual(a.noted, ['1.1', '2.1']);
  });
});
