/** Several UNSes of one home: what comes later than sets accepted after it undoes nothing, and a full set is wanted. */
import fc from 'fast-check';
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openReadOnly } from '../../src/db/sqlite/open.js';
import { accepted, Cp, init, newHome, SITE } from '../support/uns.js';
import type { Daemon } from '../support/daemon.js';
import { runCommand } from '../support/command.js';

const NAMES = ['a', 'b'] as const;
type Name = (typeof NAMES)[number];
const PID = 7;

/** Two UNSes and a Queue Manager without robots: what is queued is what was applied. */
class Pair {
  readonly home = newHome();
  readonly #password = this.home.addProvider(PID, { fullsetsallowed: 1000 });
  readonly #daemons = new Map<Name | 'qm', Daemon>();

  async start(name: Name, crashAt?: string): Promise<void> {
    const env = crashAt === undefined ? {} : { LCC_CRASH_AT: crashAt };
    this.#daemons.set(name, await this.home.start(env, [`--id=${name}`]));
  }

  async startBoth(): Promise<void> {
    await Promise.all(NAMES.map(name => this.start(name)));
  }

  async startQm(): Promise<void> {
    this.#daemons.set('qm', await this.home.startQm());
  }

  daemon(name: Name | 'qm'): Daemon {
    return this.#daemons.get(name) ?? assert.fail(`${name} was not started`);
  }

  alive(name: Name | 'qm'): boolean {
    const child = this.#daemons.get(name)?.child;
    return child?.exitCode === null && child.signalCode === null;
  }

  async kill(name: Name | 'qm'): Promise<void> {
    if (!this.alive(name)) return;
    this.daemon(name).child.kill('SIGKILL');
    await this.daemon(name).ended;
  }

  /** Sends a set of pages, `-x` deletes x, and waits for the answer. */
  async send(name: Name, kind: 'full' | 'partial', ...curls: string[]): Promise<string> {
    const urls = curls.map(curl =>
      curl.startsWith('-')
        ? `<url op="delete" curl="${curl.slice(1)}" mimetype="text/html"/>\n`
        : `<url curl="${curl}" mimetype="text/html"/>\n`,
    );
    const text = `<lococa:set set="${kind}" urlprefix="${SITE}">\n${urls.join('')}</lococa:set>\n`;
    return await new Cp(this.daemon(name).port).send(init(PID, this.#password) + text).reply;
  }

  /** The same, and it is accepted. */
  async deliver(name: Name, kind: 'full' | 'partial', ...curls: string[]): Promise<number> {
    const reply = await this.send(name, kind, ...curls);
    assert.equal(accepted(reply), curls.length, reply);
    return seqOf(reply);
  }

  /** Resolves when the UNS has handed over this number of sets. */
  async handsOver(name: Name, sets: number): Promise<void> {
    await this.daemon(name).logged('"event":"set absorbed"', sets);
  }

  query<T>(sql: string): T[] {
    const db = openReadOnly(join(this.home.dir, 'lcc.db'));
    try {
      return db.prepare<[], T>(sql).pluck().all();
    } finally {
      db.close();
    }
  }

  /** What will be fetched, and the reason for which a full set is wanted. */
  get state(): [string, string | null | undefined] {
    const queued = this.query<string>('SELECT curl FROM qdb WHERE op = 1 ORDER BY curl');
    const wanted = this.query<string | null>(`SELECT fullsetwanted FROM pidb WHERE pid = ${PID}`)[0];
    return [queued.map(curl => curl.replace(SITE, '')).join(' '), wanted];
  }

  /** What lcccp tells its user. */
  status(name: Name): string {
    const args = [`--uns=127.0.0.1:${this.daemon(name).port}`, `--pid=${PID}`, '--status'];
    return runCommand(this.home.dir, 'lcccp', args, { env: { LCC_PWD: this.#password } }).stdout;
  }

  /** As after a bad sector. */
  damageSessions(): void {
    writeFileSync(join(this.home.dir, 'spool/uns/sessions.db'), randomBytes(5000));
  }

  /** As an operator does when it is damaged. */
  moveSessionsAway(): void {
    const path = join(this.home.dir, 'spool/uns/sessions.db');
    for (const suffix of ['-wal', '-shm', ''])
      if (existsSync(path + suffix)) renameSync(path + suffix, `${path}.away${suffix}`);
  }

  async stop(): Promise<void> {
    for (const daemon of this.#daemons.values()) await daemon.stop();
  }
}

/** The number of the connection that a reply tells. */
const seqOf = (reply: string) => Number(/seq="(\d+)"/.exec(reply)?.[1]);

describe('two UNSes of one home', { timeout: 120_000 }, () => {
  it('undo nothing: what one had before it hung is not applied after newer sets of the other; lcccp is told', async () => {
    const pair = new Pair();
    await pair.startBoth();
    await pair.deliver('a', 'partial', 'x');
    pair.daemon('a').child.kill('SIGSTOP');
    await pair.deliver('b', 'partial', '-x', 'y');
    await pair.startQm();
    await pair.handsOver('b', 1);
    assert.deepEqual(pair.state, ['y', null]);
    pair.daemon('a').child.kill('SIGCONT');
    await pair.handsOver('a', 1);
    assert.deepEqual(pair.state, ['y', 'order']);
    assert.match(
      pair.daemon('qm').log,
      /"level":"warn","daemon":"lccd-qm","event":"set not applied, full set wanted/,
    );
    assert.match(pair.status('b'), /full sets: 1000 left; one is wanted \(order\)/);
    assert.deepEqual(pair.home.spooled('new', 'a'), []);
    await pair.deliver('b', 'full', 'y', 'z');
    await pair.handsOver('b', 2);
    assert.deepEqual(pair.state, ['y z', null]);
    await pair.stop();
  });

  it('apply all of a provider that uses them in turns while the Queue Manager takes what they have', async () => {
    const pair = new Pair();
    await pair.startBoth();
    await pair.startQm();
    for (let n = 0; n < 12; n++)
      await pair.deliver(NAMES[n % 2] ?? 'a', 'partial', n % 3 === 2 ? `-p${n - 1}` : `p${n}`);
    await Promise.all(NAMES.map(name => pair.handsOver(name, 6)));
    const [queued, wanted] = pair.state;
    if (wanted === null) assert.equal(queued, 'p0 p3 p6 p9');
    else assert.equal(wanted, 'order');
    await pair.stop();
  });

  it('apply what they accepted in the order in which that comes, without a full set', async () => {
    const pair = new Pair();
    await pair.startBoth();
    await pair.deliver('a', 'partial', 'x');
    await pair.deliver('b', 'partial', '-x', 'y');
    pair.daemon('b').child.kill('SIGSTOP');
    await pair.startQm();
    await pair.handsOver('a', 1);
    pair.daemon('b').child.kill('SIGCONT');
    await pair.handsOver('b', 1);
    assert.deepEqual(pair.state, ['y', null]);
    await pair.stop();
  });

  it('number connections above those that accepted sets name, whatever a power cut took', async () => {
    const pair = new Pair();
    await pair.start('a');
    await pair.deliver('a', 'partial', 'x');
    const before = await pair.deliver('a', 'partial', 'y');
    await pair.daemon('a').stop();
    // The numbers are gone, the sets are on disk.
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(join(pair.home.dir, `spool/uns/sessions.db${suffix}`), { force: true });
    await pair.start('b');
    assert.ok((await pair.deliver('b', 'partial', 'z')) > before);
    await pair.stop();
  });

  it('never give two connections of a provider the same number', async () => {
    const pair = new Pair();
    await pair.startBoth();
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, i) => pair.send(NAMES[i % 2] ?? 'a', 'partial', `p${i}`)),
    );
    const numbers = replies.map(seqOf).filter(seq => !Number.isNaN(seq));
    assert.equal(new Set(numbers).size, numbers.length);
    assert.ok(numbers.length >= 2, 'two at each UNS are let in');
    await pair.stop();
  });

  it('refuse a damaged database; once it is moved away no number is given twice, and what may be out of order is asked for', async () => {
    const pair = new Pair();
    await pair.startBoth();
    let before = 0;
    for (const name of ['a', 'b', 'a', 'b'] as const) before = await pair.deliver(name, 'partial', 'x');
    for (const name of NAMES) await pair.daemon(name).stop();
    pair.damageSessions();
    for (const name of NAMES)
      await assert.rejects(
        pair.start(name),
        /ended \(65\) before[^]*sessions\.db: database damaged [^\n]*move it away/,
      );
    pair.moveSessionsAway();
    await pair.startBoth();
    assert.ok((await pair.deliver('b', 'partial', '-x')) > before);
    await pair.deliver('a', 'partial', 'y');
    await pair.startQm();
    await Promise.all(NAMES.map(name => pair.handsOver(name, 3)));
    const [queued, wanted] = pair.state;
    assert.ok(wanted === 'order' || queued === 'y', `${queued} ${wanted}`);
    await pair.stop();
  });

  it('end when another took the place of the database, before they give a number of the old one', async () => {
    const pair = new Pair();
    await pair.startBoth();
    await pair.deliver('b', 'partial', 'x');
    await pair.daemon('a').stop();
    pair.moveSessionsAway();
    await pair.start('a');
    const seq = await pair.deliver('a', 'partial', 'y');
    assert.equal(accepted(await pair.send('b', 'partial', 'z')), NaN);
    assert.equal(await pair.daemon('b').ended, 75);
    await pair.start('b');
    assert.ok((await pair.deliver('b', 'partial', 'z')) > seq);
    await pair.stop();
  });
});

const HISTORIES = Number(process.env['LCC_TEST_UNS_HISTORIES'] ?? 2);
const STEPS = ['uns.spool.synced', 'uns.spool.renamed', 'uns.accepted', 'uns.forwarded', 'uns.spool.removed'];
const uns = fc.constantFrom(...NAMES);
const curl = fc.constantFrom('x', '-x', 'y', '-y');
const EVENTS = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ what: fc.constant('send' as const), uns, curl }) },
    { weight: 2, arbitrary: fc.record({ what: fc.constantFrom('hang' as const, 'kill' as const), uns }) },
    {
      weight: 2,
      arbitrary: fc.record({ what: fc.constant('doom' as const), uns, step: fc.constantFrom(...STEPS) }),
    },
    { weight: 2, arbitrary: fc.constant({ what: 'qm' as const }) },
  ),
  { minLength: 8, maxLength: 16 },
);

it('two UNSes at random: whatever dies or hangs, every page is as its last accepted set said, or a full set is wanted', async () => {
  await fc.assert(
    fc.asyncProperty(EVENTS, async events => {
      const pair = new Pair();
      await pair.startBoth();
      const hanging = new Set<Name>();
      /** What a page may be: after the last accepted set, that and those of which nothing was heard. */
      const may = new Map<string, Set<boolean>>();
      const wake = (name: Name) => {
        pair.daemon(name).child.kill('SIGCONT');
        hanging.delete(name);
      };
      for (const event of events) {
        for (const name of NAMES) {
          if (pair.alive(name)) continue;
          await pair.daemon(name).ended;
          await pair.start(name);
        }
        switch (event.what) {
          case 'send': {
            const page = event.curl.replace('-', '');
            const isThere = page === event.curl;
            if (hanging.has(event.uns)) wake(event.uns);
            const isAccepted = !Number.isNaN(accepted(await pair.send(event.uns, 'partial', event.curl)));
            may.set(page, new Set([...(isAccepted ? [] : (may.get(page) ?? [false])), isThere]));
            break;
          }
          case 'hang':
            pair.daemon(event.uns).child.kill('SIGSTOP');
            hanging.add(event.uns);
            break;
          case 'kill':
            await pair.kill(event.uns);
            hanging.delete(event.uns);
            break;
          case 'doom':
            await pair.kill(event.uns);
            hanging.delete(event.uns);
            // It may die as soon as it is up, over what it has in its spool.
            await pair.start(event.uns, event.step).catch(() => undefined);
            break;
          case 'qm':
            await (pair.alive('qm') ? pair.kill('qm') : pair.startQm());
            break;
        }
      }
      for (const name of NAMES) {
        await pair.kill(name);
        await pair.start(name);
      }
      if (!pair.alive('qm')) await pair.startQm();
      const left = NAMES.map(name => pair.daemon(name));
      while (NAMES.some(name => pair.home.spooled('new', name).length > 0))
        await Promise.race(left.map(daemon => daemon.says()));
      const [queued, wanted] = pair.state;
      const pages = queued.split(' ');
      for (const [page, states] of may)
        assert.ok(wanted === 'order' || states.has(pages.includes(page)), `${page}: ${queued}`);
      await pair.stop();
    }),
    { numRuns: HISTORIES, endOnFailure: true },
  );
});
