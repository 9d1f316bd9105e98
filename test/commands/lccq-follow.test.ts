import assert from 'node:assert/strict';
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { TestCache } from '../support/cache.js';
import { damagePages } from '../support/damage.js';
import { LCCQ, runLccq } from '../support/lccq.js';
import { longIt } from '../support/long.js';
import { until } from '../support/until.js';

let cache: TestCache;
let cursor: string;
let children: ChildProcessByStdio<null, Readable, Readable>[];
beforeEach(() => {
  cache = new TestCache();
  cursor = join(cache.home, 'test.cursor');
  children = [];
});
afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  cache.close();
});

function follow(...args: string[]) {
  const child = spawn(LCCQ, ['--follow', ...args], {
    env: { ...process.env, LCC_HOME: cache.home, LCC_CONFIG: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let text = '';
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  const take = (chunk: Buffer) => {
    text += chunk.toString();
  };
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  return {
    child,
    /** All that was written, once there is `count` of `what` in it. */
    async seen(what: string, count = 1): Promise<string> {
      if (child.stdout.listenerCount('data') === 0) child.stdout.on('data', take);
      await until(`lccq prints ${what} ${count} times`, () => text.split(what).length > count);
      return text;
    },
    text: () => text,
    complaints: () => complaints,
    async end(): Promise<number | NodeJS.Signals | null> {
      if (child.stdout.listenerCount('data') === 0) child.stdout.on('data', take);
      const [status, signal] = await ended;
      return status ?? signal;
    },
  };
}

/** Whether everything in the write-ahead log could be moved to the database: nobody holds an old snapshot. */
function checkpoint(): boolean {
  const [result] = cache.db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
  return result?.busy === 0;
}

describe('lccq --follow', () => {
  it('writes what is there, then every change and deletion as it is committed', async () => {
    cache.put({ curl: 'http://x/1' });
    const lccq = follow('--format=tsv', '--fields=op,curl');
    await lccq.seen('http://x/1\n');
    cache.put({ curl: 'http://x/2' });
    await lccq.seen('http://x/2\n');
    cache.remove('http://x/1');
    cache.put({ curl: 'http://x/3' });
    assert.equal(
      await lccq.seen('http://x/3\n'),
      'upsert\thttp://x/1\nupsert\thttp://x/2\ndelete\thttp://x/1\nupsert\thttp://x/3\n',
    );
  });

  for (const kind of ['a pipe', 'a named pipe'])
    longIt(
      `ends by itself, with 0, when the reader of ${kind} has gone and nothing changes`,
      async () => {
        cache.put({ curl: 'http://x/1' });
        const lccq = `'${LCCQ}' --follow --format=tsv --fields=curl --cursor='${cursor}'`;
        // The first line is read, then nobody reads; what is written is the status of lccq.
        const script =
          kind === 'a pipe'
            ? `{ ${lccq}; echo $? >status; } | head -n 1`
            : `mkfifo p; { ${lccq} >p; echo $? >status; } & head -n 1 <p; wait`;
        const child = spawn('sh', ['-c', script], {
          cwd: cache.home,
          env: { ...process.env, LCC_HOME: cache.home, LCC_CONFIG: '' },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        children.push(child);
        let said = '';
        for (const stream of [child.stdout, child.stderr])
          stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
        await once(child, 'close');
        assert.equal(said, 'http://x/1\n', 'and says nothing');
        assert.equal(readFileSync(join(cache.home, 'status'), 'utf8'), '0\n');
        assert.equal(existsSync(cursor), false);
        assert.equal(existsSync(`${cursor}.next`), false);
      },
      kind === 'a pipe',
    );

  it('names a database that is damaged meanwhile, and what to do', async () => {
    for (let i = 0; i < 100; i++) cache.put({ curl: `http://x/${i}` });
    const lccq = follow('--format=tsv', '--fields=curl');
    await lccq.seen('http://x/99\n');
    damagePages(cache.dbPath);
    assert.equal(await lccq.end(), 74);
    assert.match(
      lccq.complaints(),
      /^lccq: .*lcc\.db: database damaged \(.*\); stop lccd and run lccfsck --repair\n$/,
    );
  });

  it('ends in good order on SIGTERM, the stream whole and the cursor offered', async () => {
    cache.put({ curl: 'http://x/1' });
    const lccq = follow(`--cursor=${cursor}`);
    await lccq.seen('http://x/1');
    cache.put({ curl: 'http://x/2' });
    await lccq.seen('http://x/2');
    assert.ok(!existsSync(`${cursor}.next`));
    lccq.child.kill('SIGTERM');
    assert.equal(await lccq.end(), 0);
    assert.match(lccq.text(), /<\/urls>\n<\?lcc end\?>\n$/);
    assert.equal(runLccq(cache, [`--commit=${cursor}`]).status, 0);
    assert.equal(runLccq(cache, [`--cursor=${cursor}`, '--format=urls']).stdout.toString(), '');
  });

  it('ends by itself after as many records as asked for', async () => {
    const lccq = follow('--limit=3', '--format=urls');
    cache.fill(5, i => `http://x/${i}`);
    assert.equal(await lccq.end(), 0);
    assert.equal(lccq.text(), 'http://x/1\nhttp://x/2\nhttp://x/3\n');
  });

  it('carries content and leaves out what it cannot have: 1 in the end', async () => {
    cache.put({ curl: 'http://x/1', content: 'one' });
    const lccq = follow('--format=jsonl', '--content', '--fields=curl');
    await lccq.seen('"text":"one"}\n');
    const file = cache.put({ curl: 'http://x/2', content: 'two' });
    await lccq.seen('"text":"two"}\n');
    renameSync(file, `${file}.away`);
    cache.db.exec("UPDATE lccurl SET fetched_time = fetched_time WHERE curl = 'http://x/2'");
    cache.put({ curl: 'http://x/3', content: 'three', machineid: 'elsewhere' });
    cache.put({ curl: 'http://x/4', content: 'four' });
    await lccq.seen('"text":"four"}\n');
    lccq.child.kill('SIGINT');
    assert.equal(await lccq.end(), 1);
    assert.match(lccq.complaints(), /^lccq: http:\/\/x\/3: left out: its content is on machine elsewhere/);
  });

  it('holds no snapshot while it waits for changes, nor while its reader dawdles', async () => {
    cache.put({ curl: 'http://x/first' });
    const idle = follow('--format=urls');
    await idle.seen('first\n');
    const count = cache.flood();
    assert.ok(checkpoint());
    await idle.seen('\n', count + 1);
    const dawdling = follow('--format=xml');
    await once(dawdling.child.stdout, 'readable');
    cache.flood('http://y/');
    assert.ok(checkpoint());
    await dawdling.seen('\n', 2 * count + 1);
  });

  longIt('dies of SIGTERM although nobody reads', async () => {
    // One record that no pipe holds.
    cache.put({ curl: 'http://x/1', mimetype: 'image/png', content: Buffer.alloc(900_000) });
    const lccq = follow('--format=jsonl', '--content');
    await once(lccq.child.stdout, 'readable');
    lccq.child.kill('SIGTERM');
    const [, signal] = (await once(lccq.child, 'exit')) as [number | null, NodeJS.Signals | null];
    assert.equal(signal, 'SIGTERM');
  });

  it('ends silently when its reader has gone', async () => {
    cache.put({ curl: 'http://x/1' });
    const lccq = follow('--format=urls');
    await lccq.seen('1\n');
    lccq.child.stdout.destroy();
    cache.put({ curl: 'http://x/2' });
    assert.equal(await lccq.end(), 0);
    assert.equal(lccq.complaints(), '');
  });

  it('says so when its database is replaced by another', async () => {
    cache.put({ curl: 'http://x/1' });
    const lccq = follow('--format=urls');
    await lccq.seen('1\n');
    cache.db.close();
    renameSync(cache.dbPath, `${cache.dbPath}.old`);
    writeFileSync(cache.dbPath, '');
    assert.equal(await lccq.end(), 65);
    assert.match(lccq.complaints(), /lcc\.db: replaced by another database; run again\n$/);
  });

  it('says at once that its cursor is of no use with the database that replaced it', async () => {
    cache.put({ curl: 'http://x/1' });
    assert.equal(runLccq(cache, [`--cursor=${cursor}`, '--format=urls', '--', 'cat']).status, 0);
    const lccq = follow(`--cursor=${cursor}`, '--format=urls');
    cache.put({ curl: 'http://x/2' });
    await lccq.seen('2\n');
    cache.db.close();
    const other = join(cache.home, 'other.db');
    openDatabase(other).close();
    for (const part of ['-wal', '-shm']) rmSync(cache.dbPath + part, { force: true });
    renameSync(other, cache.dbPath);
    assert.equal(await lccq.end(), 65);
    const again = runLccq(cache, [`--cursor=${cursor}`, '--format=urls']);
    assert.equal(again.status, 65);
    assert.match(again.stderr, /cursor of another store .*; full resync needed: remove it to start over\n$/);
    assert.equal(
      lccq.complaints(),
      again.stderr.replace('lccq: ', `lccq: ${cache.dbPath}: replaced by another database; `),
    );
  });

  for (const args of [['--count'], ['--until=1h']]) {
    it(`refuses ${args.join(' ')}`, async () => {
      assert.equal(await follow(...args).end(), 64);
    });
  }
});

describe('lccq --follow --cursor -- CMD', () => {
  /** Number that the cursor has reached; 0 as long as there is no cursor file, which a CMD may be given before it exists. */
  const seq = () => (existsSync(cursor) ? Number(readFileSync(cursor, 'utf8').split(/\s/)[3]) : 0);

  it('runs CMD for each batch of changes, each a whole stream, and moves the cursor after each', async () => {
    cache.put({ curl: 'http://x/1' });
    const lccq = follow(`--cursor=${cursor}`, '--format=fts5-sql', '--', 'sh', '-c', 'cat; echo DONE');
    await lccq.seen('DONE\n');
    cache.put({ curl: 'http://x/2' });
    const text = await lccq.seen('DONE\n', 2);
    assert.deepEqual(text.match(/^(BEGIN|COMMIT|DONE)/gm), [
      'BEGIN',
      'COMMIT',
      'DONE',
      'BEGIN',
      'COMMIT',
      'DONE',
    ]);
    // A third run begins only when the second has been taken account of.
    cache.put({ curl: 'http://x/3' });
    await lccq.seen('DONE\n', 3);
    assert.ok(seq() >= 2);
    lccq.child.kill('SIGKILL');
    await lccq.end();
  });

  it('lets an index that knows how far it is go on after changes none of which were selected', async () => {
    const index = join(cache.home, 'index.db');
    cache.put({ curl: 'http://x/1', mimetype: 'text/plain' });
    const cmd = `sqlite3 -bail ${index} && echo DONE`;
    const lccq = follow(
      `--cursor=${cursor}`,
      '--mime=text/plain',
      '--format=fts5-sql',
      '--',
      'sh',
      '-c',
      cmd,
    );
    await lccq.seen('DONE\n');
    cache.put({ curl: 'http://x/2' });
    await until('2 changes are seen', () => seq() >= 2);
    cache.put({ curl: 'http://x/3', mimetype: 'text/plain' });
    await lccq.seen('DONE\n', 3);
    assert.equal(lccq.complaints(), '');
    lccq.child.kill('SIGKILL');
    await lccq.end();
  });

  it('ends with the status of a CMD that failed; what it did not take comes again', async () => {
    const failing = follow(`--cursor=${cursor}`, '--format=urls', '--', 'sh', '-c', 'grep -qv bad');
    cache.put({ curl: 'http://x/1' });
    await until('the cursor is there', () => existsSync(cursor));
    cache.put({ curl: 'http://x/bad' });
    assert.equal(await failing.end(), 1);
    assert.equal(seq(), 1);
    assert.equal(runLccq(cache, [`--cursor=${cursor}`, '--format=urls']).stdout.toString(), 'http://x/bad\n');
  });

  it('keeps a second run away from the cursor as long as it follows', async () => {
    cache.put({ curl: 'http://x/1' });
    const lccq = follow(`--cursor=${cursor}`, '--format=urls', '--', 'cat');
    await lccq.seen('http://x/1\n');
    assert.equal(runLccq(cache, [`--cursor=${cursor}`, '--', 'cat']).status, 75);
    lccq.child.kill('SIGKILL');
    await lccq.end();
  });
});
