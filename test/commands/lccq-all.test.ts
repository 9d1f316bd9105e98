/** lccq --all: homes of one LCC asked one after the other, by real lccd-cu and the map of a real engine (acceptance 29). */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { Engine as OurEngine } from '../../src/db/engine/engine.js';
import { makeTables } from '../../src/db/engine/home-rows.js';
import { engineAccount } from '../../src/db/engine/nodes.js';
import {
  bytesOf,
  contentOf,
  fetchContent,
  openHomes,
  type Cursor,
  type HomesChangesOptions,
} from '../../src/index.js';
import { systemClock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { Authority } from '../fetch/authority.js';
import { TestCache } from '../support/cache.js';
import { asText, homeEnv, runCommand, runProgram } from '../support/command.js';
import { startDaemon, type Daemon } from '../support/daemon.js';
import { Engine, noEngine } from '../support/engine.js';
import { freePort } from '../support/free-port.js';
import { LCCQ } from '../support/lccq.js';
import { longIt } from '../support/long.js';
import { until } from '../support/until.js';

/** The lccd-cu of a home, where its owner listens for machines. */
class Shard {
  readonly cache = new TestCache();
  #port = 0;
  #daemon: Daemon | undefined;

  async start(): Promise<void> {
    this.#port ||= await freePort();
    writeFileSync(join(this.cache.home, 'lcc.toml'), NET);
    const options = [
      `--listen-machines=tls:localhost:${this.#port}`,
      `--listen=unix:${this.cache.home}/cu.sock`,
    ];
    this.#daemon = startDaemon('lccd-cu', this.cache.home, options);
    await this.#daemon.ready;
  }

  /** As the engine has it. */
  get owner(): string {
    return `localhost:${this.#port - 2}`;
  }

  async stop(): Promise<void> {
    await this.#daemon?.stop();
    this.#daemon = undefined;
  }

  freeze(): void {
    this.#daemon?.child.kill('SIGSTOP');
  }
  thaw(): void {
    this.#daemon?.child.kill('SIGCONT');
  }
}

let NET = '';

describe('lccq --all', { skip: noEngine }, () => {
  let engine: Engine;
  let home = '';
  let shards: Shard[] = [];
  before(async () => {
    engine = await Engine.start();
    const url = engine.url().replace('//lcc@', '//lcc_admin@');
    const passwordFile = engine.passwordFile('lcc_admin');
    const ours = new OurEngine(engineAccount({ url, passwordFile, tlsCa: '', plain: false }), {
      clock: systemClock,
      log: silentLog,
    });
    await makeTables(ours, new AbortController().signal);
    ours.close();
    const authority = new Authority();
    const { certFile, keyFile } = authority.issue();
    NET = `[net]\npeer_ca = "${authority.caFile}"\npeer_cert = "${certFile}"\npeer_key = "${keyFile}"\n`;
  });
  after(() => engine.remove());

  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), 'lcc-all-'));
    writeFileSync(
      join(home, 'lcc.toml'),
      `${NET}[store]\nurl = "${engine.url()}"\npassword_file = "${engine.passwordFile()}"\n`,
    );
    shards = [];
    await engine.node.query('delete from lcc.home');
    for (const n of [0, 1]) await add(n);
  });
  afterEach(async () => {
    for (const shard of shards) {
      shard.thaw();
      await shard.stop();
      shard.cache.close();
    }
    rmSync(home, { recursive: true, force: true });
  });

  async function add(n: number): Promise<Shard> {
    const shard = new Shard();
    shards[n] = shard;
    for (let i = 0; i < 5; i++) shard.cache.put({ curl: `http://s${n}/${i}`, pid: n + 1 });
    await shard.start();
    await engine.node.query(`insert into lcc.home values (${n}, 'u', 1, '${shard.owner}', 1)`);
    return shard;
  }

  const run = (...args: string[]) => asText(runProgram(LCCQ, args, { env: homeEnv(home) }));
  const file = () => join(home, 'cursor');
  const urls = (text: string) =>
    text
      .split('\n')
      .filter(line => line.startsWith('http'))
      .sort();
  const held = (...of: number[]) => of.flatMap(n => [0, 1, 2, 3, 4].map(i => `http://s${n}/${i}`)).sort();
  /** A run of a program for each home that has something new: what it was given, a file for each run. */
  const runs = (...more: string[]) => {
    const line = `cat > ${home}/run.$$`;
    const done = run('--all', `--cursor=${file()}`, '--format=urls', ...more, '--', 'sh', '-c', line);
    const { stdout } = asText(
      runProgram('sh', ['-c', `for f in ${home}/run.*; do [ -e $f ] && cat $f && echo --; rm -f $f; done`], {
        env: process.env,
      }),
    );
    return {
      ...done,
      given: stdout
        .split('--\n')
        .filter(Boolean)
        .map(urls)
        .sort((a, b) => (a.join() < b.join() ? -1 : 1)),
    };
  };

  it('gives programs what all homes have, then what changed, each by its own cursor', async () => {
    const lcc = await openHomes({ home });
    try {
      const read = async (options: HomesChangesOptions) => {
        const told: string[] = [];
        for await (const { op, shard, curl } of lcc.changes(options)) told.push(`${shard} ${op} ${curl}`);
        return told;
      };
      const cursors: Record<number, Cursor> = {};
      const caughtUp = (cursor: Cursor, shard: number) => void (cursors[shard] = cursor);
      assert.deepEqual(
        await read({ caughtUp }),
        held(0, 1).map(url => `${url[8]} upsert ${url}`),
      );
      assert.deepEqual(await read({ cursors }), []);
      shards[1]?.cache.remove('http://s1/2', { pid: 2 });
      const [gone, ...none] = await read({ cursors });
      assert.deepEqual([gone, none], ['1 delete http://s1/2', []]);
      assert.equal((await read({ limit: 7 })).length, 7);
      await shards[0]?.stop();
      const seen: string[] = [];
      await assert.rejects(
        async () => {
          for await (const { curl } of lcc.changes()) seen.push(curl);
        },
        { code: 'try.later', message: /^home 0: / },
      );
      assert.equal(seen.length, 4, 'the other one is read');
    } finally {
      lcc.close();
    }
  });

  longIt(
    'gives programs the changes of all homes as they come, and their content from where it lies',
    async () => {
      const lcc = await openHomes({ home });
      const stop = new AbortController();
      const told: string[] = [];
      const reading = (async () => {
        for await (const { shard, curl } of lcc.changes({ follow: true, signal: stop.signal }))
          told.push(`${shard} ${curl}`);
      })();
      await until('all is read', () => told.length === 10);
      shards[1]?.cache.put({ curl: 'http://s1/new', pid: 2 });
      await until('it is told', () => told.includes('1 http://s1/new'));
      for await (const change of lcc.changes({ prefix: 'http://s1/n' })) {
        await fetchContent(change);
        assert.equal(Buffer.from(bytesOf(change)).toString(), '<p>http://s1/new</p>');
        shards[1]?.cache.put({ curl: 'http://s1/new', pid: 2, content: 'another' });
        await assert.rejects(
          async () => {
            for await (const _ of contentOf(change));
          },
          { code: 'try.later' },
        );
      }
      stop.abort(new Error('enough'));
      await assert.rejects(reading, /enough/);
      lcc.close();
    },
  );

  it('gives what all homes have, each as a whole stream', () => {
    const { status, stdout, stderr } = run('--all', '--format=jsonl', '--fields=curl,pid');
    assert.equal(status, 0, stderr);
    const one = (n: number) =>
      runCommand(shards[n]?.cache.home ?? '', 'lccq', ['--format=jsonl', '--fields=curl,pid']).stdout;
    assert.equal(stdout, one(0) + one(1));
    const xml = run('--all').stdout;
    assert.equal(xml.match(/^<\?lcc end/gm)?.length, 2);
    assert.deepEqual(urls(run('--shard=1', '--format=urls').stdout), held(1));
    assert.equal(run('--all', '--count').stdout, '5\n5\n');
  });

  it('runs the program once for each home, and each cursor moves; a home that is added begins at its start', async () => {
    assert.deepEqual(runs().given, [held(0), held(1)]);
    assert.deepEqual(runs().given, []);
    shards[1]?.cache.put({ curl: 'http://s1/new', pid: 2 });
    await add(2);
    assert.deepEqual(runs().given, [['http://s1/new'], held(2)]);
    for (const n of [0, 1, 2]) assert.match(readFileSync(`${file()}.${n}`, 'utf8'), /^lcc-cursor 1 /);
  });

  it('ends with 75 where a home does not answer: its cursor stays, the others move', async () => {
    await shards[0]?.stop();
    const away = runs();
    assert.equal(away.status, 75, away.stderr);
    assert.match(away.stderr, /^lccq: shard 0: .*refused/m);
    assert.deepEqual(away.given, [held(1)]);
    assert.equal(existsSync(`${file()}.0`), false);
    await engine.node.query("update lcc.home set owner = '' where shard = 0");
    const free = runs();
    assert.deepEqual([free.status, free.given], [75, []]);
    assert.match(free.stderr, /shard 0: no machine owns it/);
    await shards[0]?.start();
    await engine.node.query(`update lcc.home set owner = '${shards[0]?.owner}' where shard = 0`);
    assert.deepEqual(runs().given, [held(0)]);
  });

  longIt('gives up a home that hangs after ten seconds, and tells what the others have', async () => {
    shards[0]?.freeze();
    const { status, given, stderr } = runs();
    assert.equal(status, 75);
    assert.match(stderr, /shard 0: .*silent for 10 s/);
    assert.deepEqual(given, [held(1)]);
  });

  longIt('refuses one whose store is another, and the others move', async () => {
    writeFileSync(`${file()}.0`, 'lcc-cursor 1 00000000-0000-4000-8000-000000000000 1\n');
    const { status, given, stderr } = runs();
    assert.equal(status, 65);
    assert.match(stderr, /shard 0: .*full resync needed/);
    assert.deepEqual(given, [held(1)]);
  });

  longIt('asks no further home once the program has failed', async () => {
    const { status } = run(
      '--all',
      `--cursor=${file()}`,
      '--format=urls',
      '--',
      'sh',
      '-c',
      'cat > /dev/null; exit 3',
    );
    assert.equal(status, 3);
    assert.deepEqual(
      [0, 1].map(n => existsSync(`${file()}.${n}`)),
      [false, false],
    );
  });

  it('in a pipe leaves a cursor to be committed for each that was read, and none of an earlier run', async () => {
    const pipe = () => run('--all', `--cursor=${file()}`, '--format=urls');
    assert.equal(pipe().status, 0);
    await shards[1]?.stop();
    assert.equal(pipe().status, 75);
    assert.equal(existsSync(`${file()}.1.next`), false);
    const done = run('--all', `--commit=${file()}`, '-v');
    assert.equal(done.status, 0, done.stderr);
    assert.match(done.stderr, /cursor\.0 moved to change 5/);
    assert.equal(run('--all', `--commit=${file()}`).status, 66);
  });

  longIt('begins with the next change of every home: --from-now', async () => {
    const { status, stderr } = run('--all', '--from-now', `--cursor=${file()}`);
    assert.equal(status, 0, stderr);
    assert.deepEqual(runs().given, []);
    shards[0]?.cache.put({ curl: 'http://s0/later' });
    assert.deepEqual(runs().given, [['http://s0/later']]);
  });

  longIt('follows them in turn, one that comes back and one that is added as well', async () => {
    await shards[0]?.stop();
    const told = join(home, 'told');
    const args = [
      '--all',
      '--follow',
      `--cursor=${file()}`,
      '--format=urls',
      '--',
      'sh',
      '-c',
      `cat >> ${told}`,
    ];
    const child = spawn(LCCQ, args, { env: homeEnv(home), stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = once(child, 'exit');
    const has = (what: string[]) =>
      until(`${what.length} urls are told`, () => {
        const got = existsSync(told) ? urls(readFileSync(told, 'utf8')) : [];
        return JSON.stringify(got) === JSON.stringify(what.toSorted());
      });
    await has(held(1));
    await shards[0]?.start();
    await has(held(0, 1));
    await add(2);
    shards[1]?.cache.put({ curl: 'http://s1/new', pid: 2 });
    await has([...held(0, 1, 2), 'http://s1/new']);
    child.kill('SIGTERM');
    assert.deepEqual((await ended)[0], 0);
  });

  longIt('refuses what it cannot do for several homes', async () => {
    for (const [args, status, why] of [
      [['--all', '--follow'], 64, /give --cursor=FILE and -- CMD/],
      [['--all', '--from=unix:/x'], 64, /leave one of them out/],
      [['--all', '--format=paths'], 64, /names files/],
      [['--shard=7'], 64, /no home 7/],
    ] as const) {
      const done = run(...args);
      assert.equal(done.status, status, done.stderr);
      assert.match(done.stderr, why);
    }
  });
});
