/** Two UNSes of one LCC: whichever of them a provider's sets go through, they arrive in the order of their acceptance. */
import fc from 'fast-check';
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { lccpidb } from '../support/lccpidb.js';
import { Cp, init, newHome, newReceiver, set, type Daemon, type Receiver } from '../support/uns.js';

const NAMES = ['a', 'b'] as const;
type Name = (typeof NAMES)[number];
const PIDS = [7, 8] as const;

/** A set on its way: what can be said of the order of two follows from when each was begun and when acknowledged. */
interface Sent {
  name: string;
  pid: number;
  begunAt: number;
  /** Infinity: never. */
  acceptedAt: number;
}

class Pair {
  readonly home = newHome();
  readonly sent: Sent[] = [];
  /** First arrivals at the Queue Manager, in order. */
  readonly arrived: string[] = [];
  readonly #passwords: ReadonlyMap<number, string>;
  readonly #daemons = new Map<Name, Daemon>();
  readonly #known = new Set<string>();
  #receiver: Receiver | undefined;
  #now = 0;
  #check: () => void = () => undefined;

  constructor(toml = '') {
    this.home.configure(toml);
    this.#passwords = new Map(PIDS.map(pid => [pid, this.home.addProvider(pid)]));
  }

  async start(name: Name, crashAt?: string): Promise<void> {
    this.#daemons.set(
      name,
      await this.home.start(crashAt === undefined ? {} : { LCC_CRASH_AT: crashAt }, [`--id=${name}`]),
    );
  }

  async kill(name: Name): Promise<void> {
    this.#daemons.get(name)?.child.kill('SIGKILL');
    await this.#daemons.get(name)?.exited;
  }

  daemon(name: Name): Daemon {
    return this.#daemons.get(name) ?? assert.fail(`${name} was not started`);
  }

  alive(name: Name): boolean {
    const { child } = this.daemon(name);
    return child.exitCode === null && child.signalCode === null;
  }

  /** Sends a set of one url and waits for the answer. */
  async send(name: Name, pid: number): Promise<string> {
    const one: Sent = { name: `s${this.sent.length}`, pid, begunAt: ++this.#now, acceptedAt: Infinity };
    this.sent.push(one);
    const cp = new Cp(this.daemon(name).port);
    const reply = await cp.send(init(pid, this.#passwords.get(pid) ?? '') + set('partial', one.name)).reply;
    if (reply.includes('<set_accepted')) one.acceptedAt = ++this.#now;
    return reply;
  }

  async openQm(): Promise<void> {
    const receiver = await newReceiver(this.home);
    receiver.answer = ({ uns, head, curls }) => {
      const identity = `${uns} ${head.entry}`;
      if (!this.#known.has(identity)) {
        this.#known.add(identity);
        this.arrived.push(...curls);
      }
      this.#check();
      return 'absorbed';
    };
    this.#receiver = receiver;
  }

  async closeQm(): Promise<void> {
    await this.#receiver?.close();
    this.#receiver = undefined;
  }

  get qmOpen(): boolean {
    return this.#receiver !== undefined;
  }

  /** Resolves when all these sets have arrived. */
  have(names: readonly string[]): Promise<void> {
    return new Promise(resolve => {
      this.#check = () => void (names.every(name => this.arrived.includes(name)) && resolve());
      this.#check();
    });
  }

  accepted(): string[] {
    return this.sent.filter(({ acceptedAt }) => acceptedAt < Infinity).map(({ name }) => name);
  }

  /** Everything acknowledged has arrived, nothing before what was acknowledged before it was begun. */
  assertOrder(): void {
    for (const pid of PIDS) {
      const sets = this.sent.filter(one => one.pid === pid && one.acceptedAt < Infinity);
      for (const later of sets) {
        for (const earlier of sets.filter(({ acceptedAt }) => acceptedAt < later.begunAt)) {
          assert.ok(
            this.arrived.indexOf(earlier.name) < this.arrived.indexOf(later.name),
            `${later.name} overtook ${earlier.name}: ${this.arrived.join(' ')}`,
          );
        }
      }
    }
  }

  /** As after a bad sector. */
  damage(...files: string[]): void {
    for (const file of files) writeFileSync(join(this.home.dir, 'spool/uns', file), randomBytes(5000));
  }

  /** As a UNS does that finds it damaged. */
  setAside(file: string, suffix: string): void {
    const path = join(this.home.dir, 'spool/uns', file);
    renameSync(path + suffix, `${path}.damaged-1${suffix}`);
  }

  /** The number that a reply tells. */
  static seqOf(reply: string): number {
    return Number(/seq="(\d+)"/.exec(reply)?.[1]);
  }

  async stop(): Promise<void> {
    for (const daemon of this.#daemons.values()) await daemon.stop();
    await this.closeQm();
  }
}

describe('two UNSes of one LCC', () => {
  it('keep the order of a provider that changes between them while one is stopped; others do not wait', async () => {
    const pair = new Pair();
    await Promise.all(NAMES.map(name => pair.start(name)));
    await pair.send('a', 7);
    await pair.send('b', 7);
    await pair.send('b', 8);
    await pair.send('a', 7);
    await pair.send('b', 7);
    await pair.daemon('a').stop();
    await pair.openQm();
    await pair.have(['s2']);
    assert.deepEqual(pair.arrived, ['s2']);
    const shown = (pid: number) =>
      /^held up: +(.*)$/m.exec(lccpidb(pair.home.dir, 'show', `--pid=${pid}`).stdout)?.[1];
    assert.match(
      shown(7) ?? '',
      /^sets wait in a UNS for earlier ones of the UNS a, until [-\d]+ [:\d]+ at most$/,
    );
    assert.equal(shown(8), undefined);
    await pair.start('a');
    await pair.have(pair.accepted());
    assert.deepEqual(
      pair.arrived.filter(name => name !== 's2'),
      ['s0', 's1', 's3', 's4'],
    );
    await pair.stop();
  });

  it('pass over one that is away for too long', async () => {
    const pair = new Pair('[uns]\norder_wait_ms = 200\n');
    await Promise.all(NAMES.map(name => pair.start(name)));
    await pair.send('a', 7);
    await pair.send('b', 7);
    await pair.kill('a');
    await pair.openQm();
    await pair.have(['s1']);
    assert.match(pair.daemon('b').log, /passed over[^\n]*"uns":"a"/);
    await pair.start('a');
    await pair.have(['s0']);
    await pair.stop();
  });

  it('never give two connections of a provider the same number', async () => {
    const pair = new Pair();
    await Promise.all(NAMES.map(name => pair.start(name)));
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, i) => pair.send(NAMES[i % 2] ?? 'a', PIDS[i % 4 < 2 ? 0 : 1])),
    );
    const numbers = replies.flatMap((reply, i) => {
      const seq = /seq="(\d+)"/.exec(reply)?.[1];
      return seq === undefined ? [] : [`${pair.sent[i]?.pid} ${seq}`];
    });
    assert.equal(new Set(numbers).size, numbers.length);
    assert.ok(numbers.length >= 4, 'two of each provider at each UNS are let in');
    await pair.stop();
  });

  it('count what waits in both as being processed', async () => {
    const pair = new Pair();
    await Promise.all(NAMES.map(name => pair.start(name)));
    await pair.send('a', 7);
    assert.match(await pair.send('b', 7), /processing="1"/);
    assert.match(await pair.send('a', 7), /processing="2"/);
    await pair.stop();
  });

  it('do not wait for a set that its UNS numbered and died before it had a name', async () => {
    const pair = new Pair();
    await pair.start('a', 'uns.order.entered');
    await pair.start('b');
    assert.doesNotMatch(await pair.send('a', 7), /set_accepted/);
    await pair.send('b', 7);
    await pair.daemon('a').exited;
    await pair.openQm();
    await pair.start('a');
    await pair.have(['s1']);
    assert.deepEqual(pair.arrived, ['s1']);
    await pair.stop();
  });

  it('set damaged databases aside, once, and go on: nothing out of order, no number given twice', async () => {
    const pair = new Pair();
    await Promise.all(NAMES.map(name => pair.start(name)));
    let before = 0;
    for (const name of ['a', 'b', 'a', 'b'] as const) before = Pair.seqOf(await pair.send(name, 7));
    for (const name of NAMES) await pair.daemon(name).stop();
    pair.damage('order.db', 'sessions.db');

    await Promise.all(NAMES.map(name => pair.start(name)));
    const logs = NAMES.map(name => pair.daemon(name).log).join('');
    for (const file of ['order.db', 'sessions.db'])
      assert.equal(
        logs.match(new RegExp(`"level":"error"[^\n]*set aside[^\n]*/${file}`, 'g'))?.length,
        1,
        logs,
      );
    assert.equal(logs.match(/"level":"error"/g)?.length, 2, logs);
    assert.ok(Pair.seqOf(await pair.send('b', 7)) > before);
    await pair.send('a', 7);
    await pair.daemon('a').stop();
    await pair.openQm();
    await pair.start('a');
    await pair.have(pair.accepted());
    assert.deepEqual(pair.arrived, ['s0', 's1', 's2', 's3', 's4', 's5']);
    await pair.stop();
  });

  it('end when another took the place of a database, before they give a number of the old one', async () => {
    for (const file of ['order.db', 'sessions.db']) {
      const pair = new Pair();
      await Promise.all(NAMES.map(name => pair.start(name)));
      await pair.send('b', 7);
      await pair.daemon('a').stop();
      for (const suffix of ['-wal', '-shm', '']) pair.setAside(file, suffix);
      await pair.start('a');
      const seq = Pair.seqOf(await pair.send('a', 7));

      await pair.send('b', 7);
      assert.equal(await pair.daemon('b').exited, 75);
      assert.deepEqual(pair.accepted(), ['s0', 's1']);
      await pair.start('b');
      assert.ok(Pair.seqOf(await pair.send('b', 7)) > seq);
      await pair.openQm();
      await pair.have(['s0', 's1', 's3']);
      assert.deepEqual(pair.arrived, ['s0', 's1', 's3']);
      await pair.stop();
    }
  });

  it('skip what a damaged database knew, also when killed as it was set aside', async () => {
    const pair = new Pair();
    await pair.start('a');
    const before = Pair.seqOf(await pair.send('a', 7));
    await pair.daemon('a').stop();
    pair.damage('order.db', 'sessions.db');
    // One at a time.
    for (let killed = 1; killed <= 2; killed++)
      await assert.rejects(pair.start('a', 'uns.database.setaside'), /ended without/);
    await pair.start('a');
    assert.ok(Pair.seqOf(await pair.send('a', 7)) > before + 1);
    const orders = pair.home.spooled('new', 'a').map(name => Number(name.split('.').at(-1)));
    assert.ok(orders.length === 2 && orders[0] === 1 && (orders[1] ?? 0) > 1000, orders.join(' '));
    await pair.openQm();
    await pair.have(['s0', 's1']);
    await pair.stop();
  });
});

const STEPS = [
  'uns.spool.synced',
  'uns.order.entered',
  'uns.spool.renamed',
  'uns.spool.dirsynced',
  'uns.accepted',
  'uns.forwarded',
  'uns.spool.removed',
  'uns.order.left',
];
const uns = fc.constantFrom(...NAMES);
const pid = fc.constantFrom(...PIDS);
const EVENTS = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ what: fc.constant('send' as const), uns, pid }) },
    { weight: 3, arbitrary: fc.record({ what: fc.constant('both' as const), pid }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant('kill' as const), uns }) },
    {
      weight: 3,
      arbitrary: fc.record({ what: fc.constant('doom' as const), uns, step: fc.constantFrom(...STEPS) }),
    },
    { weight: 2, arbitrary: fc.constant({ what: 'qm' as const }) },
  ),
  { minLength: 8, maxLength: 16 },
);

describe('two UNSes of one LCC, at random', () => {
  it('lose nothing and keep the order, whatever dies at whatever step', async () => {
    await fc.assert(
      fc.asyncProperty(EVENTS, async events => {
        const pair = new Pair();
        await Promise.all(NAMES.map(name => pair.start(name)));
        const revive = async () => {
          for (const name of NAMES) {
            if (pair.alive(name)) continue;
            await pair.daemon(name).exited;
            await pair.start(name);
          }
        };
        for (const event of events) {
          await revive();
          switch (event.what) {
            case 'send':
              await pair.send(event.uns, event.pid);
              break;
            case 'both':
              await Promise.all(NAMES.map(name => pair.send(name, event.pid)));
              break;
            case 'kill':
              await pair.kill(event.uns);
              break;
            case 'doom':
              await pair.kill(event.uns);
              // It may die as soon as it is up, over what it has in its spool.
              await pair.start(event.uns, event.step).catch(() => undefined);
              break;
            case 'qm':
              await (pair.qmOpen ? pair.closeQm() : pair.openQm());
              break;
          }
        }
        for (const name of NAMES) {
          await pair.kill(name);
          await pair.start(name);
        }
        if (!pair.qmOpen) await pair.openQm();
        await pair.have(pair.accepted());
        pair.assertOrder();
        await pair.stop();
      }),
      { numRuns: 5, endOnFailure: true },
    );
  });
});
