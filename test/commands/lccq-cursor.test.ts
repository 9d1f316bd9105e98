/** What lccq sends once, and again when it was not taken. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { cache, cursor, cursorSeq } from '../support/cursor.js';
import { LCCQ, lccqSays, shellSays } from '../support/lccq.js';

const lccq = (args: string[], env?: NodeJS.ProcessEnv) => lccqSays(cache, args, env);
const shell = (line: string) => shellSays(cache, line, { F: cursor });

describe('lccq --cursor -- CMD', () => {
  const into = (...command: string[]) =>
    lccq([`--cursor=${cursor}`, '--format=tsv', '--fields=op,curl', '--', ...command]);

  it('pipes what is new into CMD, each change once', () => {
    cache.put({ curl: 'http://x/1' });
    cache.put({ curl: 'http://x/2' });
    assert.equal(into('cat').stdout, 'upsert\thttp://x/1\nupsert\thttp://x/2\n');
    cache.put({ curl: 'http://x/1', content: 'new' });
    cache.remove('http://x/2');
    assert.equal(into('cat').stdout, 'upsert\thttp://x/1\ndelete\thttp://x/2\n');
    assert.equal(cursorSeq(), 4);
  });

  it('does not run CMD when nothing is new, and moves past what was not asked for', () => {
    cache.put({ curl: 'http://x/1', pid: 2 });
    const { status, stdout } = lccq([
      `--cursor=${cursor}`,
      '--pid=1',
      '--',
      'touch',
      join(cache.home, 'ran'),
    ]);
    assert.deepEqual([status, stdout, cursorSeq()], [0, '', 1]);
    assert.ok(!existsSync(join(cache.home, 'ran')));
  });

  it('refuses a cursor by which another selection was read: what that left out would never come', () => {
    cache.put({ curl: 'http://x/1' });
    cache.put({ curl: 'http://x/2', pid: 2 });
    const read = (...selection: string[]) =>
      lccq([`--cursor=${cursor}`, '--format=urls', ...selection, '--', 'cat']);
    assert.equal(read('--pid=2', '--mime=text/*').stdout, 'http://x/2\n');
    assert.equal(readFileSync(cursor, 'utf8').split('\n')[1], 'of --pid=2 --mime="text/*"');
    for (const other of [[], ['--pid=2'], ['--pid=1', '--mime=text/*']]) {
      const { status, stdout, stderr } = read(...other);
      assert.deepEqual([status, stdout], [65, '']);
      assert.match(
        stderr,
        /^lccq: .*test.cursor: up to change 2 only what --pid=2 --mime="text\/\*" selects was read .*: use another cursor; or remove it to start over\n$/,
      );
    }
    assert.equal(lccq([`--cursor=${cursor}`, '--count']).stdout, '0\n', 'to look harms nothing');
    cache.put({ curl: 'http://x/3', pid: 2 });
    assert.deepEqual(read('--pid=2', '--mime=text/*'), { status: 0, stdout: 'http://x/3\n', stderr: '' });
    // Deletions and what is held may go two ways by one cursor.
    assert.equal(read('--pid=2', '--mime=text/*', '--no-deleted').status, 0);
    rmSync(cursor);
    assert.equal(read().stdout.split('\n').length, 4);
    // Of one that has read everything nothing is missing; but from now on.
    assert.match(read('--pid=1').stderr, /test.cursor: from now on a cursor of --pid=1 alone/);
    assert.equal(read('--pid=1').stderr, '');
    assert.equal(read().status, 65);
  });

  for (const way of [
    ['--batch=2'],
    ['--limit=2'],
    ['--follow', '--batch=2', '--limit=2'],
    ['--follow', '--limit=2'],
  ])
    it(`reads everything in parts although deletions were forgotten before: ${way.join(' ')}`, () => {
      cache.fill(5, i => `http://x/${i}`);
      cache.remove('http://x/5');
      cache.forgetDeletions();
      const some = [`--cursor=${cursor}`, '--format=urls', ...way, '--', 'cat'];
      const told: string[] = [];
      for (let run = 0; run < 2; run++) {
        const { status, stdout, stderr } = lccq(some);
        assert.equal(status, 0, stderr);
        told.push(...stdout.trim().split('\n'));
      }
      assert.deepEqual(told.slice(0, 4), ['http://x/1', 'http://x/2', 'http://x/3', 'http://x/4']);
    });

  it('refuses a first reading in parts where a deletion since its beginning is forgotten', () => {
    cache.fill(4, i => `http://x/${i}`);
    const some = [`--cursor=${cursor}`, '--format=urls', '--limit=2', '--', 'cat'];
    assert.equal(lccq(some).status, 0);
    cache.remove('http://x/1');
    cache.forgetDeletions();
    assert.equal(lccq(some).status, 65);
  });

  it('leaves nothing beside a cursor where there is no LCC', () => {
    const { status } = lccq([`--cursor=${cursor}`], { LCC_HOME: join(cache.home, 'nothing') });
    assert.deepEqual([status, existsSync(`${cursor}.lock`)], [66, false]);
  });

  it('runs CMD for so many records, and moves the cursor after each run', () => {
    cache.fill(7, i => `http://x/${i}`);
    const runs = (...more: string[]) =>
      lccq([
        `--cursor=${cursor}`,
        '--format=urls',
        '--batch=3',
        ...more,
        '--',
        'sh',
        '-c',
        `wc -l; cat ${cursor} 2>/dev/null | cut -d ' ' -f 4`,
      ]).stdout.split(/\s+/);
    assert.deepEqual(runs(), ['3', '3', '3', '1', '6', '']);
    assert.equal(cursorSeq(), 7);
    assert.deepEqual(runs(), ['']);
    rmSync(cursor);
    assert.deepEqual(runs('--limit=4'), ['3', '1', '3', '']);
    assert.equal(cursorSeq(), 4);
  });

  it('repeats no more than a batch when CMD fails', () => {
    cache.fill(7, i => `http://x/${i}`);
    const fails = ['sh', '-c', 'grep -q 5$ && exit 4; exit 0'];
    const { status } = lccq([`--cursor=${cursor}`, '--format=urls', '--batch=3', '--', ...fails]);
    assert.equal(status, 4);
    assert.equal(cursorSeq(), 3);
    assert.equal(into('cat').stdout.split('\n').length, 5);
  });

  it('refuses batches without a program', () => {
    const { status, stderr } = lccq(['--batch=3']);
    assert.equal(status, 64);
    assert.match(stderr, /^lccq: --batch is how many records a run of a program gets; give -- CMD\n/);
  });

  it('keeps the cursor and passes the status on when CMD fails', () => {
    cache.put({ curl: 'http://x/1' });
    const { status, stderr } = into('sh', '-c', 'cat >/dev/null; exit 3');
    assert.equal(status, 3);
    assert.match(stderr, /^lccq: sh exited with 3; .*not moved\n$/);
    assert.equal(cursorSeq(), undefined);
    assert.equal(into('cat').stdout, 'upsert\thttp://x/1\n');
  });

  it('keeps the cursor when CMD is killed or cannot be run', () => {
    cache.put({ curl: 'http://x/1' });
    assert.equal(into('sh', '-c', 'kill -9 $$').status, 137);
    assert.equal(into('no-such-program').status, 127);
    assert.equal(into(cache.home).status, 126);
    assert.equal(cursorSeq(), undefined);
  });

  it('keeps the cursor when CMD exits 0 without having taken everything', () => {
    cache.flood();
    const { status, stderr } = into('head', '-n', '1');
    assert.equal(status, 74);
    assert.match(stderr, /ended before it had read everything.*not moved/);
    assert.equal(cursorSeq(), undefined);
  });

  it('does not wait for what CMD has left behind with its standard input', () => {
    cache.flood();
    const left = join(cache.home, 'left');
    const script = `exec 3<&0; tail -f /dev/null <&3 >/dev/null 2>&1 & echo $! >'${left}'; exit 3`;
    const { status, stderr } = into('bash', '-c', script);
    assert.equal(process.kill(Number(readFileSync(left, 'utf8')), 'SIGKILL'), true, 'it was still there');
    assert.equal(status, 3);
    assert.match(stderr, /^lccq: bash exited with 3; .*not moved\n$/);
  });

  it('stops at the limit and goes on there', () => {
    for (let i = 1; i <= 5; i++) cache.put({ curl: `http://x/${i}` });
    const seen: string[] = [];
    for (let run = 0; run < 4; run++) {
      const { stdout } = lccq([`--cursor=${cursor}`, '--limit=2', '--format=urls', '--', 'cat']);
      seen.push(stdout.trim().replaceAll('\n', ' '));
    }
    assert.deepEqual(seen, ['http://x/1 http://x/2', 'http://x/3 http://x/4', 'http://x/5', '']);
  });

  it('tells a consumer of a stream that broke half-way nothing it could take for the whole', async () => {
    cache.flood();
    const out = join(cache.home, 'taken');
    const child = spawn(
      LCCQ,
      [
        `--cursor=${cursor}`,
        '--',
        'sh',
        '-c',
        `head -c 100 >/dev/null; echo on; sleep 60; cat; echo done >${out}`,
      ],
      {
        env: { ...process.env, LCC_HOME: cache.home },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    const [status] = (await once(child, 'exit')) as [number];
    assert.equal(status, 143);
    // The `sleep` has it still.
    child.stdout.destroy();
    assert.ok(!existsSync(out));
    assert.equal(cursorSeq(), undefined);
  });

  it('waits for a consumer that does not heed SIGTERM, and moves the cursor when that has succeeded', async () => {
    cache.put({ curl: 'http://x/1' });
    const script = `trap '' TERM; echo on; until [ -e go ]; do :; done; cat >/dev/null`;
    const child = spawn(LCCQ, [`--cursor=${cursor}`, '--', 'sh', '-c', script], {
      cwd: cache.home,
      env: { ...process.env, LCC_HOME: cache.home },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    assert.match((await once(child.stderr, 'data')).join(''), /^lccq: SIGTERM: waiting for sh to end; /);
    assert.equal(lccq([`--cursor=${cursor}`, '--', 'cat']).status, 75);
    writeFileSync(join(cache.home, 'go'), '');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    assert.equal(cursorSeq(), 1);
  });

  it('lets only one run at a time use a cursor, and the next after a kill -9', async () => {
    cache.put({ curl: 'http://x/1' });
    const holder = spawn(LCCQ, [`--cursor=${cursor}`, '--', 'sh', '-c', 'echo on; sleep 60'], {
      env: { ...process.env, LCC_HOME: cache.home },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    await once(holder.stdout, 'data');
    const second = lccq([`--cursor=${cursor}`, '--', 'cat']);
    assert.equal(second.status, 75);
    assert.match(second.stderr, /another run is using this cursor/);
    process.kill(-(holder.pid ?? 0), 'SIGKILL');
    await once(holder, 'exit');
    assert.equal(lccq([`--cursor=${cursor}`, '--', 'cat']).status, 0);
  });

  it('sends everything again when it dies before the cursor was moved, and nothing after', () => {
    cache.put({ curl: 'http://x/1' });
    const args = [`--cursor=${cursor}`, '--format=urls', '--', 'cat'];
    const steps = join(cache.home, 'steps');
    assert.equal(lccq(args, { LCC_CRASH_AT: 'cu.cursor.advanced', LCC_STEP_LOG: steps }).status, null);
    assert.match(readFileSync(steps, 'utf8'), /cu\.cursor\.advanced/);
    assert.deepEqual(lccq(args), { status: 0, stdout: '', stderr: '' });
  });

  it('asks for a full resync when the changes since cannot be told any more', () => {
    cache.put({ curl: 'http://x/1' });
    assert.equal(into('cat').status, 0);
    const line = readFileSync(cursor, 'utf8');
    cache.put({ curl: 'http://x/2' });
    cache.remove('http://x/2');
    cache.forgetDeletions();
    for (const text of [
      line,
      line.replace(/\d+\n$/, '99\n'),
      line.replace(/ [0-9a-f]{8}-/, ' 00000000-'),
      'x\n',
    ]) {
      writeFileSync(cursor, text);
      const { status, stderr, stdout } = into('cat');
      assert.deepEqual([status, stdout], [65, '']);
      assert.match(stderr, /full resync needed/);
      assert.equal(readFileSync(cursor, 'utf8'), text);
    }
    rmSync(cursor);
    assert.equal(into('cat').stdout, 'upsert\thttp://x/1\n');
  });
});

describe('lccq --cursor | CMD && lccq --commit', () => {
  it('moves the cursor after the pipe', () => {
    cache.put({ curl: 'http://x/1' });
    const line = 'lccq --cursor=$F --format=urls | cat && lccq --commit=$F';
    assert.equal(shell(line).stdout, 'http://x/1\n');
    assert.deepEqual(shell(line), { status: 0, stdout: '', stderr: '' });
    cache.put({ curl: 'http://x/2' });
    assert.equal(shell(line).stdout, 'http://x/2\n');
  });

  it('can be committed once the stream was whole, even when lccq died right after', () => {
    cache.put({ curl: 'http://x/1' });
    const { status, stdout } = lccq([`--cursor=${cursor}`, '--format=urls'], {
      LCC_CRASH_AT: 'cu.cursor.offered',
    });
    assert.deepEqual([status, stdout, cursorSeq()], [null, 'http://x/1\n', undefined]);
    assert.equal(lccq([`--commit=${cursor}`]).status, 0);
    assert.equal(cursorSeq(), 1);
  });

  it('offers nothing to commit when the stream was not taken whole', () => {
    cache.flood();
    writeFileSync(`${cursor}.next`, `lcc-cursor 1 6f3f3c7e-3a0c-4b1c-9b57-5c4c1c2b0a11 9\n`);
    const { status } = shell('lccq --cursor=$F | head -n 1 >/dev/null; lccq --commit=$F');
    assert.equal(status, 66);
    assert.equal(cursorSeq(), undefined);
  });
});
