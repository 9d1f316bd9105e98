import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { ClearDatabase } from '../../src/db/clear/database.js';
import { inDb, newHome, queued } from '../support/clear-home.js';
import { runCommand } from '../support/command.js';
import { ROOT } from '../support/tree.js';
import { until } from '../support/until.js';

describe('lccclear', () => {
  it('queues paths of pages, the paths of urls, and content ids with their type', () => {
    const home = newHome();
    const clear = (...args: string[]) => runCommand(home, 'lccclear', ['--target=www', ...args]);
    assert.deepEqual(clear('/a.html', 'https://www.example.org/b/c'), { status: 0, stdout: '', stderr: '' });
    assert.equal(clear('--type=article', '--force', '4711').status, 0);
    assert.match(clear('-v', '/d').stderr, /^lccclear: 1 request queued\n$/);
    assert.deepEqual(queued(home), [
      '/a.html @url www',
      '/b/c @url www',
      '4711 article www forced',
      '/d @url www',
    ]);
  });

  it('names each line that cannot be used, queues all others, and ends with 65', () => {
    const home = newHome();
    const input = Buffer.concat([
      Buffer.from('a/b\tarticle\twww\r\n\nx\0y\tarticle\n'),
      Buffer.from([0xff, 0x0a]),
      Buffer.from(`../x\tarticle\n${'l'.repeat(70_000)}\n4\tarticle\tnone\n1\t2\t3\t4\n5\n9`),
    ]);
    const { status, stderr } = runCommand(
      home,
      'lccclear',
      ['--stdin=tsv', '--target=all', '--type=article'],
      {
        input,
      },
    );
    assert.equal(status, 65);
    assert.deepEqual(stderr.split('\n'), [
      'lccclear: line 3: a NUL byte',
      'lccclear: line 4: not UTF-8',
      'lccclear: line 5: the content id has two dots in a row: "../x"',
      'lccclear: line 6: longer than 65536 bytes',
      'lccclear: line 7: there is no target "none"; lccrail target add makes one',
      'lccclear: line 8: 4 fields; there are content id, type and target',
      'lccclear: 6 requests refused, 3 queued',
      '',
    ]);
    assert.deepEqual(queued(home), ['a/b article www', '5 article all', '9 article all']);
  });

  it('refuses ids that a rail would take for something else (A9)', () => {
    const home = newHome();
    const hostile = [
      '../x',
      '%2e%2e/x',
      'x/',
      '.',
      '*',
      'a b',
      '/x',
      'a//b',
      '-x',
      'a\\b',
      'a?b',
      'a#b',
      'é',
    ];
    const input = hostile.map(id => `${id}\tarticle\twww\n`).join('');
    const asIds = runCommand(home, 'lccclear', ['--stdin=tsv'], { input });
    assert.match(asIds.stderr, new RegExp(`${hostile.length} requests refused, 0 queued`));
    const urls = [
      '/../x',
      '/%2e%2e/x',
      '/x/',
      '/',
      '//x',
      '/a%2fb',
      '/a\\b',
      '/a?b',
      '/a#b',
      '/*',
      'x',
      ' /x',
    ];
    const asUrls = runCommand(home, 'lccclear', ['--stdin=urls', '--target=www'], {
      input: `${urls.join('\n')}\n`,
    });
    assert.match(asUrls.stderr, new RegExp(`${urls.length} requests refused, 0 queued`));
    assert.deepEqual(queued(home), []);
  });

  it('takes objects, and says what is wrong with others', () => {
    const home = newHome();
    const input = [
      '{"id":"1","type":"article","target":"www","force":true}',
      '{"id":"/p.html"}',
      '{"id":true}',
      '[]',
      '{"id":"x","kind":"article"}',
      '{',
    ].join('\n');
    const { status, stderr } = runCommand(
      home,
      'lccclear',
      ['--stdin=jsonl', '--target=all', '--type=@url'],
      { input },
    );
    assert.equal(status, 65);
    assert.deepEqual(stderr.trimEnd().split('\n'), [
      'lccclear: line 3: "id" is neither text nor a whole number',
      'lccclear: line 4: no JSON object',
      'lccclear: line 5: no key "kind"; changes of lccq need --rules',
      'lccclear: line 6: no JSON',
      'lccclear: 4 requests refused, 2 queued',
    ]);
    assert.deepEqual(queued(home), ['1 article www forced', '/p.html @url all']);
  });

  it('makes what has come durable while the input goes on', async () => {
    const home = newHome();
    const child = spawn(join(ROOT, 'bin/lccclear'), ['--stdin=urls', '--target=www'], {
      env: { ...process.env, LCC_HOME: home },
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    child.stdin.write('/first.html\n/half');
    await until('one request queued', () => queued(home).length === 1);
    child.stdin.end('.html\n');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    assert.deepEqual(queued(home), ['/first.html @url www', '/half.html @url www']);
  });

  it('killed after a commit has queued what that commit held, and nothing of what follows', () => {
    const home = newHome();
    const input = Array.from({ length: 12_000 }, (_, i) => `/${i}.html\n`).join('');
    const file = join(home, 'input');
    writeFileSync(file, input);
    const fd = openSync(file, 'r');
    const { status, signal } = spawnSync(join(ROOT, 'bin/lccclear'), ['--stdin=urls', '--target=www'], {
      env: { ...process.env, LCC_HOME: home, LCC_CRASH_AT: 'clear.request.queued' },
      stdio: [fd, 'ignore', 'ignore'],
    });
    closeSync(fd);
    assert.deepEqual([status, signal], [null, 'SIGKILL']);
    const rows = queued(home);
    assert.equal(rows.length, 5000);
    assert.equal(rows.at(-1), '/4999.html @url www');
  });

  it('waits until the requests are gone from the queue: 0, 75 when the time is over, 65 for what was rejected', async () => {
    const home = newHome();
    const late = runCommand(home, 'lccclear', ['--target=www', '--wait=0.1', '/x.html']);
    assert.equal(late.status, 75);
    assert.deepEqual(late.stderr.split('\n'), [
      'lccclear: lccd-hard does not run',
      'lccclear: lccd-soft does not run',
      'lccclear: 1 request not carried out yet; see lccclearq, lccrail status',
      '',
    ]);
    const wait = (id: string, carryOut: (db: ClearDatabase) => void) => {
      const child = spawn(join(ROOT, 'bin/lccclear'), ['-q', '--target=www', '--wait=100', id], {
        env: { ...process.env, LCC_HOME: home },
        stdio: 'ignore',
      });
      const ended = once(child, 'exit');
      return until(`${id} queued`, () =>
        inDb(home, db => db.queue.after(0, 10).some(row => row.contentId === id)),
      )
        .then(() => inDb(home, db => db.write(() => carryOut(db))))
        .then(() => ended);
    };
    const doneWith = (contentId: string) => (db: ClearDatabase) =>
      void db.queue.done({ contentId, contentType: '@url', target: 'www' }, Infinity);
    assert.deepEqual(await wait('/done.html', doneWith('/done.html')), [0, null]);
    const rejected = await wait('/bad.html', db => {
      const row = db.queue.first({ contentId: '/bad.html', contentType: '@url', target: 'www' });
      db.queue.reject(row?.id ?? 0, 'no-path-map: none', Date.now());
    });
    assert.deepEqual(rejected, [65, null]);
  });

  it('takes operands after two dashes, lines without a type that are paths, and whole numbers as ids', () => {
    const home = newHome();
    assert.equal(runCommand(home, 'lccclear', ['--target=www', '--', '/x']).status, 0);
    assert.match(
      runCommand(home, 'lccclear', ['--stdin=tsv', '--target=www'], { input: '/y\n4711\n' }).stderr,
      /line 2: no path of a page, and no content type; give that in the line, or --type: "4711"/,
    );
    const jsonl = { input: '{"id":"https://www.example.org/z"}\n{"id":4712,"type":"article"}\n{"id":1.5}\n' };
    assert.match(
      runCommand(home, 'lccclear', ['--stdin=jsonl', '--target=www'], jsonl).stderr,
      /line 3: "id" is neither text nor a whole number/,
    );
    assert.deepEqual(queued(home), ['/x @url www', '/y @url www', '/z @url www', '4712 article www']);
  });

  it('says that a target has no rails', () => {
    const home = newHome();
    inDb(home, db => db.rails.remove('r1'));
    const { status, stderr } = runCommand(home, 'lccclear', ['--target=all', '/x']);
    assert.deepEqual(
      [status, stderr],
      [0, 'lccclear: target all has no rails: nothing of it is cleared; lccrail add\n'],
    );
  });

  it('reads no more than the queue may hold, and goes on when there is room', async () => {
    const home = newHome('[clear]\nmax_queued = 2\n');
    const child = spawn(join(ROOT, 'bin/lccclear'), ['--stdin=urls', '--target=www'], {
      env: { ...process.env, LCC_HOME: home },
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (text: Buffer) => void (said += text.toString()));
    child.stdin.write('/1\n/2\n');
    await until('two requests queued', () => queued(home).length === 2);
    child.stdin.write('/3\n');
    await until('the full queue is reported', () =>
      said.includes('the queue holds 2 requests (clear.max_queued)'),
    );
    assert.equal(queued(home).length, 2);
    inDb(home, db => db.write(() => db.queue.drop(1)));
    child.stdin.end();
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    assert.deepEqual(queued(home), ['/2 @url www', '/3 @url www']);
  });

  it('publishes pages with --soft, and refuses those that no path leads to', () => {
    const home = newHome();
    const { status, stderr } = runCommand(home, 'lccclear', ['--soft', '--stdin=tsv', '--target=all'], {
      input: '7\tarticle\n8\tpicture\n/x.html\t@url\n',
    });
    assert.equal(status, 65);
    assert.match(stderr, /line 2: no-path-map/);
    const due = inDb(home, db =>
      db.soft.due(Date.now(), 10).map(row => [row.target, row.url, row.contentId]),
    );
    assert.deepEqual(due, [
      ['www', '/news/7.html', '7'],
      ['www', '/x.html', '/x.html'],
    ]);
    assert.deepEqual(queued(home), []);
  });

  it('refuses what does not go together, and targets that are not there', () => {
    const home = newHome();
    const cases: [string[], number, RegExp][] = [
      [[], 64, /nothing to clear/],
      [['--target=www', '/x', '--stdin=tsv'], 64, /do not go together/],
      [['--target=none', '/x'], 78, /there is no target none; lccrail target add/],
      [['/x'], 65, /no target; give it in the line, or --target/],
      [['--stdin=csv', '--target=www'], 64, /there are tsv, urls, jsonl/],
      [['--rules=r', '--stdin=tsv'], 64, /--rules goes with --stdin=jsonl/],
      [['--cursor=c', '--stdin=jsonl'], 64, /--cursor goes with --rules/],
      [['--show'], 64, /--show needs --cursor/],
      [['--soft', '--force', '/x'], 64, /do not go together/],
      [['--target=www', '--wait=soon', '/x'], 64, /--wait=soon: give seconds/],
    ];
    for (const [args, expected, says] of cases) {
      const { status, stderr } = runCommand(home, 'lccclear', args);
      assert.equal(status, expected, args.join(' '));
      assert.match(stderr, says);
    }
  });
});
