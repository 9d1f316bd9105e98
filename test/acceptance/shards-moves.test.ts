/**
 * An LCC of two homes whose providers move to and fro while their CPs send and take back, through a front end, whichever home is
 * killed meanwhile (acceptance 31 to 33).
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { KeptCluster } from '../support/cluster.js';
import { noEngine } from '../support/engine.js';
import { killAt } from '../support/kills.js';
import { LCCQ } from '../support/lccq.js';
import { until, within } from '../support/until.js';

const MOVES = Number(process.env['LCC_TEST_MOVES'] ?? 12);
const CALLERS = 6;
/** Of the moves, one in so many has a home killed meanwhile. */
const KILLS = 4;
const LONG_MS = 600_000;

/** Either side, and the steps at which it is killed. */
const STEPS = [
  ['source', 'qm.move.left'],
  ['source', 'qm.move.reached'],
  ['destination', 'qm.move.begun'],
  ['destination', 'qm.move.copied:2'],
  ['destination', 'qm.move.reached'],
  ['destination', 'qm.move.reached:2'],
  ['source', 'qm.move.cleared'],
  ['source', 'qm.move.reached:2'],
  ['destination', 'qm.move.settled'],
  ['destination', 'qm.move.reached:3'],
] as const;

interface Told {
  op: string;
  id: string;
  curl: string;
  md5: string;
}

/** A content user of all homes: what it was told, in its order. */
class Follower {
  readonly #file: string;
  readonly #child: ChildProcess;

  /** Its home is that of the front end: it stays when those of providers are killed. */
  constructor({ dir, first }: KeptCluster) {
    this.#file = join(dir, 'told');
    const line = `lccq --all --follow --cursor=${join(dir, 'cursor')} --format=jsonl --fields=op,id,curl,md5`;
    const [, ...args] = line.split(' ');
    this.#child = spawn(LCCQ, [...args, '--', 'sh', '-c', `cat >> ${this.#file}`], {
      env: { ...first.env, LCC_HOME: join(dir, 'front') },
      stdio: ['ignore', 'ignore', 'ignore'],
    });
  }

  get told(): Told[] {
    return existsSync(this.#file) ? linesOf(readFileSync(this.#file, 'utf8')) : [];
  }

  /** What an index has that applies all of it by that key. */
  index(key: 'id' | 'curl'): Map<string, string> {
    const index = new Map<string, string>();
    for (const row of this.told) {
      if (row.op === 'delete') index.delete(row[key]);
      else index.set(row[key], contentOf(row));
    }
    return index;
  }

  get isThere(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async stop(): Promise<void> {
    if (!this.isThere) return;
    this.#child.kill('SIGTERM');
    await within('the content user ends', once(this.#child, 'exit'));
  }
}

const linesOf = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as Told);
const contentOf = ({ id, curl, md5 }: Told) => `${id} ${curl} ${md5}`;
const sorted = (index: Map<string, string>) => [...index.values()].sort();

describe('providers of an LCC of two homes', { skip: noEngine }, () => {
  let homes: readonly [KeptCluster, KeptCluster];
  let follower: Follower;
  before(async () => {
    const first = await KeptCluster.start({ machines: 1, callers: CALLERS, removes: true, front: true });
    homes = [first, await KeptCluster.start({ beside: first })];
    follower = new Follower(first);
  });
  after(async () => {
    await follower?.stop();
    await homes?.[0].remove();
  });
  beforeEach(async () => {
    homes[0].callers.start();
    await homes[0].callers.after(performance.now());
  });

  const moves = (pid?: number) =>
    homes[0].engine.node.query(`select * from lcc.move ${pid === undefined ? '' : `where pid = ${pid}`}`);
  const homeOf = async (pid: number) => {
    const [row] = await homes[0].engine.node.query(`select shard from lcc.pmdb where pid = ${pid}`);
    return Number(row?.['shard']) as 0 | 1;
  };
  /** @returns the home that it goes to */
  async function ask(pid: number): Promise<0 | 1> {
    const to = (1 - (await homeOf(pid))) as 0 | 1;
    await homes[0].first.run(`lccmap move --pid=${pid} --to=${to}`);
    return to;
  }
  const isOver = (pid?: number) =>
    until('it has moved', async () => (await moves(pid)).length === 0, LONG_MS);
  async function killed(home: KeptCluster, env: Record<string, string> = {}): Promise<void> {
    await home.first.killLccd();
    await home.first.start(env);
  }

  /** All that must be true when nothing moves any more. */
  async function judge(): Promise<void> {
    const [first] = homes;
    assert.deepEqual(await first.faults(), []);
    const fresh = linesOf(await first.first.run('lccq --all --format=jsonl --fields=op,id,curl,md5'));
    const wanted = fresh.map(contentOf).sort();
    await until('the content user has all', () => {
      assert.ok(follower.isThere);
      return sorted(follower.index('curl')).join() === wanted.join();
    });
    assert.deepEqual(sorted(follower.index('id')), wanted, 'by id');
    const removed = new Set(first.callers.removed);
    const gone = follower.told.filter(({ op, curl }) => op === 'delete' && !removed.has(curl));
    assert.deepEqual(gone, [], 'told gone');
  }

  it('come to the other home and back, whichever side is killed at whichever step', async () => {
    for (const [side, step] of STEPS) {
      const from = await homeOf(1);
      const home = homes[side === 'source' ? from : ((1 - from) as 0 | 1)];
      const kill = killAt(step);
      await killed(home, kill.env);
      const to = await ask(1);
      await until(`${side} dies at ${step}`, () => kill.happened());
      // The whole machine, and not only the process that was at it.
      await killed(home);
      await isOver(1);
      assert.equal(await homeOf(1), to, step);
    }
    await judge();
  });

  it(`move ${MOVES} times at random, under a content user, either home killed now and then`, async () => {
    let seed = 7;
    const roll = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    for (let n = 1; n <= MOVES; n++) {
      const pid = 1 + roll(CALLERS);
      await isOver(pid);
      await ask(pid);
      if (n % KILLS === 0) await killed(homes[roll(2) as 0 | 1]);
      if (n % 3 === 0) await isOver();
    }
    await isOver();
    await judge();
  });
});

describe('a provider whose content is on a machine that is away while it moves', { skip: noEngine }, () => {
  let homes: readonly [KeptCluster, KeptCluster];
  before(async () => {
    const first = await KeptCluster.start({ machines: 2, callers: 2, front: true });
    homes = [first, await KeptCluster.start({ beside: first })];
  });
  after(() => homes?.[0].remove());

  it('has that fetched again, by the others, and the rest comes along', async () => {
    const [first, second] = homes;
    first.callers.start();
    const machineOf = async (home: KeptCluster) =>
      linesOf(await (await home.owner()).run('lccq --format=jsonl --fields=curl,fetched_machineid')).map(
        row => (row as unknown as Record<string, string>)['fetched_machineid'],
      );
    await until('both machines have content', async () => new Set(await machineOf(first)).size === 2);
    await first.callers.stop();
    await first.first.run('lccstat --until-idle=120');
    const [owner, away] = first.machines;
    assert.ok(owner && away);
    assert.equal(await first.owner(), owner);
    await Promise.all([away.killLccd(), second.machines[1]?.killLccd()]);
    const before = (await owner.run('lccq --format=urls')).split('\n').sort();
    for (const pid of [1, 2]) await owner.run(`lccmap move --pid=${pid} --to=1`);
    const left = 'select count(*) as n from lcc.move';
    await until(
      'they have moved',
      async () => Number((await first.engine.node.query(left))[0]?.['n']) === 0,
      LONG_MS,
    );
    const there = await second.owner();
    await there.run('lccstat --until-idle=120');
    assert.deepEqual((await there.run('lccq --format=urls')).split('\n').sort(), before);
    assert.deepEqual(new Set(await machineOf(second)), new Set(['m1']));
    assert.equal(await owner.run('lccq --format=urls'), '');
    await Promise.all([away.start(), second.machines[1]?.start()]);
    await Promise.all(homes.map(home => home.settled()));
    assert.deepEqual(await first.faults(), []);
  });
});
