/** lccq --stay: one program for batch after batch, which answers each. */
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, it } from 'node:test';
import { cache, cursor, cursorSeq } from '../support/cursor.js';
import { LCCQ, lccqSays } from '../support/lccq.js';
import { longIt } from '../support/long.js';
import { until } from '../support/until.js';

/** A program in bash that does `perUrl` with each line of a record, and `perEnd` at the end of each stream. */
const program = (perEnd: string, perUrl = ':') =>
  `echo $$ >>pids
while IFS= read -r line; do
  case $line in
    '<url '*) printf '%s\\n' "$line" >>taken; ${perUrl};;
    '<?lcc end?>') echo end >>taken; ${perEnd};;
  esac
done`;

const children: ChildProcessByStdio<null, null, Readable>[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

/** Runs it once to its end. */
const lccq = (options: readonly string[], command: readonly string[]) =>
  lccqSays(cache, [...options, '--stay', '--', ...command]);
const bash = (script: string) => ['bash', '-c', `cd '${cache.home}'; ${script}`];
const put = (from: number, to: number) => {
  for (let i = from; i <= to; i++) cache.put({ curl: `http://x/${i}` });
};
const fileOf = (name: string) => {
  const path = join(cache.home, name);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
};
const linesOf = (name: string) => fileOf(name).split('\n').slice(0, -1);
/** What the program took: numbers of urls, and ends of streams. */
const taken = () => linesOf('taken').map(line => /curl="http:\/\/x\/(\d+)"/.exec(line)?.[1] ?? line);

function follow(script: string) {
  const args = ['--follow', `--cursor=${cursor}`, '--stay', '--', ...bash(script)];
  const child = spawn(LCCQ, args, {
    env: { ...process.env, LCC_HOME: cache.home, LCC_CONFIG: '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  children.push(child);
  const exited = once(child, 'exit');
  const said = text(child.stderr);
  return {
    child,
    end: async () => {
      const [status, signal] = (await exited) as [number | null, NodeJS.Signals | null];
      return { status: status ?? signal, stderr: await said };
    },
  };
}

describe('lccq --stay', () => {
  const batches = () => [`--cursor=${cursor}`, '--batch=2'];

  it('has one program take all batches, each a whole stream that it answers', () => {
    put(1, 5);
    const { status, stdout, stderr } = lccq(batches(), bash(program('echo ok')));
    assert.deepEqual([status, stdout, stderr], [0, '', '']);
    assert.deepEqual(taken(), ['1', '2', 'end', '3', '4', 'end', '5', 'end']);
    assert.equal(linesOf('pids').length, 1);
    assert.equal(cursorSeq(), 5);
  });

  it('moves the cursor with each answer, and gives what was not answered again', () => {
    put(1, 5);
    const third = `[ "$(grep -c end taken)" = 2 ] && exit 7; echo ok`;
    const { status, stderr } = lccq(batches(), bash(program(third)));
    assert.equal(status, 7);
    assert.match(stderr, /^lccq: bash exited with 7; .*test.cursor not moved\n$/);
    assert.equal(cursorSeq(), 2);
    assert.equal(lccq(batches(), bash(program('echo ok'))).status, 0);
    assert.deepEqual(taken().slice(3), ['3', '4', 'end', '3', '4', 'end', '5', 'end']);
  });

  it('shows the end of a batch of JSON by an empty line', () => {
    put(1, 3);
    const script = `while IFS= read -r line; do printf '%s\\n' "$line" >>taken; [ -n "$line" ] || echo ok; done`;
    const { status, stderr } = lccq([...batches(), '--format=jsonl', '--fields=seq'], bash(script));
    assert.equal(status, 0, stderr);
    assert.equal(fileOf('taken'), '{"seq":1}\n{"seq":2}\n\n{"seq":3}\n\n');
  });

  for (const [what, script, complaint] of [
    [
      'says something else',
      program('echo done'),
      'wrote "done" to its standard output, where ok is the only line',
    ],
    ['says nothing and ends', program('exit 0'), 'ended before its input did, without the line ok'],
    [
      'says nothing in a line',
      program('echo'),
      'wrote an empty line to its standard output, where ok is the only line',
    ],
    [
      'closes its standard output and goes on',
      'exec >&-; cat >/dev/null',
      'closed its standard output, where ok is awaited',
    ],
    [
      'writes without end',
      `head -c 100000 /dev/zero | tr '\\0' x; cat >/dev/null`,
      'wrote a line of more than 200 characters, where ok is the only one',
    ],
  ] as const)
    it(`does not take for an answer what is none: one that ${what}`, () => {
      put(1, 2);
      const { status, stderr } = lccq(batches(), bash(script));
      assert.equal(status, 76);
      assert.equal(stderr, `lccq: bash ${complaint}; ${cursor} not moved\n`);
      assert.equal(existsSync(cursor), false);
    });

  it('takes an answer that comes in pieces', () => {
    put(1, 3);
    // Nothing comes through the pipe: each piece is read before the next is written.
    const pieces = 'printf o; read -r -t 0.1 _ <>pipe; printf k; read -r -t 0.1 _ <>pipe; echo';
    const { status, stderr } = lccq(batches(), bash(`mkfifo pipe; ${program(pieces)}`));
    assert.deepEqual([status, stderr], [0, '']);
    assert.equal(cursorSeq(), 3);
  });

  it('refuses an answer that comes before all was written', () => {
    // Far more than a pipe holds: the answer is read long before the last of it is written.
    cache.put({ curl: 'http://x/1', content: 'x'.repeat(8_000_000) });
    const early = bash('echo ok; cat >/dev/null');
    const { status, stderr } = lccq([...batches(), '--content'], early);
    assert.equal(status, 76);
    assert.match(stderr, /^lccq: bash wrote ok before the end of what it was sent; /);
    assert.equal(existsSync(cursor), false);
  });

  it('says so when the program fails after it has taken everything', () => {
    put(1, 3);
    const { status, stderr } = lccq(batches(), bash(`${program('echo ok')}; exit 5`));
    assert.deepEqual([status, stderr], [5, 'lccq: bash exited with 5, after it had answered everything\n']);
    assert.equal(cursorSeq(), 3);
  });

  it('notices by its end at the latest that the program has answered once too often', () => {
    put(1, 3);
    const { status, stderr } = lccq(batches(), bash(`echo ok; ${program('echo ok')}`));
    assert.equal(status, 76);
    assert.match(
      stderr,
      /^lccq: bash wrote ok once too often, so the batch before may not have been taken[;,] /,
    );
  });

  it('says 127 of a program that is not there', () => {
    put(1, 3);
    const { status, stderr } = lccq(batches(), ['/nowhere/program']);
    assert.equal(status, 127);
    assert.match(stderr, /^lccq: \/nowhere\/program was not found; /);
  });

  it('goes on with each change, and ends the program on SIGTERM', async () => {
    put(1, 1);
    const { child, end } = follow(`${program('echo ok')}; echo end >>pids`);
    await until('the first is taken', () => cursorSeq() === 1);
    put(2, 2);
    await until('the second is taken', () => cursorSeq() === 2);
    assert.deepEqual(taken(), ['1', 'end', '2', 'end']);
    child.kill('SIGTERM');
    assert.deepEqual(await end(), { status: 0, stderr: '' });
    assert.equal(linesOf('pids').length, 2, 'one program, and the end of its input has reached it');
  });

  for (const [does, wanted, what] of [
    ['exit 3', 3, 'exited with 3'],
    ['kill -9 $$', 137, 'was killed by SIGKILL'],
    ['exit 0', 76, 'ended before its input did'],
    ['echo and more', 76, 'wrote "and more" to its standard output, where ok is the only line'],
    ['exec >&-', 76, 'closed its standard output, where ok is awaited'],
  ] as const)
    it(`ends with a program that fails while nothing changes: ${does}`, async () => {
      put(1, 1);
      const { end } = follow(program(`echo ok; until [ -s '${cursor}' ]; do :; done; ${does}`));
      const { status, stderr } = await end();
      assert.deepEqual([status, stderr], [wanted, `lccq: bash ${what}, after it had answered everything\n`]);
      assert.equal(cursorSeq(), 1);
    });

  for (const [what, perEnd, after, wanted] of [
    ['fails', 'exit 3', '', 3],
    ['ends in good order', 'echo ok', '', 0],
    ['fails at its end', 'echo ok', 'exit 4', 4],
  ] as const)
    it(`ends soon after a program that ${what} and leaves one behind that holds its standard output`, () => {
      put(1, 1);
      const left = `tail -f /dev/null 2>/dev/null & echo $! >left; ${program(perEnd)}; ${after}`;
      const { status } = lccq(batches(), bash(left));
      assert.equal(process.kill(Number(fileOf('left')), 'SIGKILL'), true, 'it was still there');
      assert.equal(status, wanted);
    });

  const untilGo = 'until [ -e go ]; do :; done';
  const letGo = () => writeFileSync(join(cache.home, 'go'), '');
  /** Does not heed SIGTERM. */
  const patient = (perEnd: string) => `trap '' TERM; ${program(perEnd)}`;
  const stubborn = patient(`${untilGo}; echo ok`);

  for (const [when, urls, script, told] of [
    ['in a batch', 2, () => patient(`echo no; ${untilGo}`), () => `; ${cursor} not moved`],
    [
      'while nothing changes',
      2,
      () => patient(`echo ok; until [ -s '${cursor}' ]; do :; done; echo no; ${untilGo}`),
      () => ', after it had answered everything',
    ],
    [
      'before it has read more than fits into a pipe',
      1000,
      () => `trap '' TERM; echo no; ${untilGo}`,
      () => `; ${cursor} not moved`,
    ],
  ] as const)
    longIt(
      `says at once what a program does wrong ${when}, and waits for its end with the cursor locked`,
      async () => {
        cache.fill(urls, i => `http://x/${i}/${'y'.repeat(400)}`);
        const { child, end } = follow(script());
        const complaint = `lccq: bash wrote "no" to its standard output, where ok is the only line${told()}\n`;
        assert.equal(String(await once(child.stderr, 'data')), complaint);
        assert.equal(lccq(batches(), ['true']).status, 75);
        const waiting = 'lccq: waiting for bash to end; two signals end lccq without it\n';
        assert.equal(String(await once(child.stderr, 'data')), waiting);
        letGo();
        assert.deepEqual(await end(), { status: 76, stderr: complaint + waiting });
      },
      when === 'before it has read more than fits into a pipe',
    );

  it('passes SIGTERM on in the middle of a batch, waits with the cursor locked, and takes a late answer', async () => {
    put(1, 2);
    const { child, end } = follow(stubborn);
    await until('the batch is there', () => linesOf('taken').includes('end'));
    child.kill('SIGTERM');
    assert.match((await once(child.stderr, 'data')).join(''), /^lccq: SIGTERM: waiting for bash to end; /);
    assert.equal(lccq(batches(), ['true']).status, 75);
    assert.equal(lccqSays(cache, [`--cursor=${cursor}`, '--count']).stdout, '2\n', 'to count needs no lock');
    letGo();
    assert.equal((await end()).status, 0);
    assert.equal(cursorSeq(), 2);
  });

  it('ends with a program that SIGTERM ends in the middle of a batch', async () => {
    put(1, 2);
    const { child, end } = follow(program(`${untilGo}; echo ok`));
    await until('the batch is there', () => linesOf('taken').includes('end'));
    child.kill('SIGTERM');
    const { status, stderr } = await end();
    assert.deepEqual([status, stderr], [143, `lccq: bash was killed by SIGTERM; ${cursor} not moved\n`]);
  });

  it('ends at once with a second signal', async () => {
    put(1, 2);
    const { child, end } = follow(stubborn);
    await until('the batch is there', () => linesOf('taken').includes('end'));
    child.kill('SIGTERM');
    await once(child.stderr, 'data');
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [143, null]);
    assert.equal(existsSync(cursor), false);
    process.kill(Number(linesOf('pids')[0]), 'SIGKILL');
    await end();
  });

  it('is cut where lccq is killed: the program sees no end of the stream, the cursor stays', async () => {
    put(1, 1);
    const go = join(cache.home, 'go');
    assert.equal(spawnSync('mkfifo', [go]).status, 0);
    const { child } = follow(`${program('read -r _ <go')}; echo over >>pids`);
    await until('the first is there', () => linesOf('taken').includes('end'));
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    writeFileSync(go, 'on\n');
    await until('the program has ended', () => linesOf('pids').at(-1) === 'over');
    assert.equal(existsSync(cursor), false);
  });

  it('is for programs, batches, and formats that show the end of one', () => {
    const refused = (...args: string[]) => {
      const { status, stderr } = lccqSays(cache, args);
      assert.equal(status, 64);
      return stderr.split('\n')[0];
    };
    const program =
      'lccq: --stay is for a program that takes batch after batch; give -- CMD and --follow or --batch';
    assert.equal(refused('--stay', '--follow'), program);
    assert.equal(refused('--stay', '--', 'cat'), program);
    assert.equal(
      refused('--stay', '--batch=3', '--format=tsv', '--', 'cat'),
      'lccq: --format=tsv does not show where a batch ends; --stay is for xml, jsonl and chunks',
    );
  });
});
