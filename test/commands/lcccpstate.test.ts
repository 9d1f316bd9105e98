import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runBin } from '../support/command.js';
import { decodePath, HOSTILE_NAMES } from '../support/hostile-names.js';
import { longIt } from '../support/long.js';
import { ROOT } from '../support/tree.js';
import {
  accept,
  CUT,
  END,
  freshDir,
  run,
  site,
  stateOf,
  stream,
  streamOf,
  url,
} from '../support/lcccpstate.js';

test('the first run sends all and says so; the state stays pending until it is accepted', () => {
  const dir = freshDir();
  const done = run(dir, stream(url('b', 2), url('a', 1)));
  assert.equal(done.status, 0);
  const [made = '', pending = ''] = readdirSync(dir).sort();
  const { ino, mtimeNs } = statSync(join(dir, pending), { bigint: true });
  const id = `${ino}-${mtimeNs}`;
  assert.equal(
    done.stdout,
    `<?lcc from="lcccpstate" set="partial" state="${dir}/state.txt" id="${id}" base="" host="${hostname()}"?>\n` +
      `${url('a', 1)}\n${url('b', 2)}\n${END}`,
  );
  assert.match(
    done.stderr,
    /first run, every url is new\nlcccpstate: 2 new, 0 changed, 0 deleted, 0 unchanged\n$/,
  );
  assert.deepEqual([made, pending], [`state.txt.made.${id}`, `state.txt.pending.${id}`]);
  assert.equal(readFileSync(join(dir, pending), 'utf8'), `${url('a', 1)}\n${url('b', 2)}\n`);
  // Not accepted: the next run sends it all again.
  assert.deepEqual(run(dir, stream(url('b', 2), url('a', 1))).urls, [url('a', 1), url('b', 2)]);
});

test('later runs send what is new, changed and gone, in order, and keep the rest', () => {
  const dir = freshDir();
  run(dir, stream(...site(20)), ['--commit-now']);
  const now = [...site(20).slice(2), url('new', 7)];
  now[5] = url('p7', 777);
  const done = run(dir, stream(...now.reverse()), ['-q']);
  assert.equal(done.stderr, '');
  assert.deepEqual(done.urls, [
    url('new', 7),
    '<url curl="p0" mimetype="text/html" op="delete"/>',
    '<url curl="p1" mimetype="text/html" op="delete"/>',
    url('p7', 777),
  ]);
  accept(dir);
  assert.equal(
    stateOf(dir),
    [...now]
      .sort()
      .map(l => `${l}\n`)
      .join(''),
  );
});

test('nothing changed: nothing is sent and the state is its own successor', () => {
  const dir = freshDir();
  run(dir, stream(...site(20)), ['--commit-now']);
  const { ino: before, mtimeNs } = statSync(join(dir, 'state.txt'), { bigint: true });
  const done = run(dir, stream(...site(20)));
  assert.equal(
    done.stdout,
    `<?lcc from="lcccpstate" set="partial" state="${dir}/state.txt" id="" base="${before}-${mtimeNs}" host="${hostname()}"?>\n${END}`,
  );
  assert.equal(statSync(join(dir, 'state.txt'), { bigint: true }).ino, before);
  assert.deepEqual(readdirSync(dir), ['state.txt']);
});

test('--full sends everything as a full set, --commit-now keeps the state at once', () => {
  const dir = freshDir();
  const done = run(dir, stream(...site(3)), ['--full', '--commit-now']);
  assert.equal(done.stdout, `<?lcc from="lcccpstate" set="full"?>\n${site(3).join('\n')}\n${END}`);
  assert.deepEqual(readdirSync(dir), ['state.txt']);
  assert.deepEqual(run(dir, stream(...site(3)), ['--full']).urls, site(3));
  assert.deepEqual(run(dir, stream(url('p0', 0), url('p1', 5), url('p2', 2)), ['--full']).urls.length, 3);
});

test('any spelling of a url is one state: order, quotes, entities, old names, times, roots and encodings', () => {
  const dir = freshDir();
  run(
    dir,
    stream(
      '<url curl="a&amp;é" mimetype="text/html" md5="00000000000000000000000000000abc" mtime="2026-11-20T10:13:01Z"/>',
    ),
    ['--commit-now'],
  );
  const spelled = `<?xml version="1.0" encoding="ISO-8859-1"?>\n<!-- by hand --><urls>
    <url mtime='20261120101301' c='a&#38;\xe9' md5="00000000000000000000000000000ABC"\n mimetype="text/html"></url></urls>`;
  const done = run(dir, Buffer.from(spelled, 'latin1'));
  assert.equal(done.status, 0, done.stderr);
  assert.deepEqual(done.urls, []);
  assert.match(done.stderr, /1 unchanged/);
});

test('refuses an empty listing, unless told', () => {
  const dir = freshDir();
  run(dir, stream(...site(3)), ['--commit-now']);
  for (const empty of ['', stream(), '<urls/>']) {
    const done = run(dir, empty);
    assert.equal(done.status, 65);
    assert.equal(done.stdout, CUT);
    assert.match(done.stderr, /no url in the input.*--allow-empty/);
  }
  assert.deepEqual(readdirSync(dir), ['state.txt']);
  const told = run(dir, stream(), ['--allow-empty']);
  assert.equal(told.status, 0);
  assert.equal(told.urls.length, 3);
});

test('refuses a mass deletion, unless told; a site of a few pages may be replaced', () => {
  const dir = freshDir();
  run(dir, stream(...site(100)), ['--commit-now']);
  const half = stream(...site(49));
  const refused = run(dir, half);
  assert.equal(refused.status, 65);
  assert.equal(refused.stdout, CUT);
  assert.match(refused.stderr, /51 of 100 urls would be deleted, more than 50 %.*--max-delete/);
  assert.deepEqual(readdirSync(dir), ['state.txt']);
  assert.equal(run(dir, stream(...site(50))).status, 0);
  assert.equal(run(dir, half, ['--max-delete=51%']).status, 0);
  assert.equal(run(dir, half, ['--max-delete=51']).status, 0);
  assert.equal(run(dir, half, ['--max-delete=50']).status, 65);
  for (const bad of ['x', '101%', '-1', '1.5', ''])
    assert.equal(run(dir, half, [`--max-delete=${bad}`]).status, 64);
  const small = freshDir();
  run(small, stream(...site(9)), ['--commit-now']);
  assert.equal(run(small, stream(url('new', 1))).status, 0);
  assert.equal(run(small, stream(url('new', 1)), ['--max-delete=5']).status, 65);
});

test('a stream that was cut changes nothing, wherever it was cut', () => {
  const dir = freshDir();
  run(dir, stream(...site(3)), ['--commit-now']);
  const whole = stream(...site(3));
  for (const at of [
    1,
    10,
    20,
    30,
    whole.indexOf('p1'),
    whole.indexOf('<url curl="p2'),
    whole.length - 12,
    whole.length - 3,
  ]) {
    const done = run(dir, whole.slice(0, at));
    assert.equal(done.status, 65, `cut at ${at}: ${whole.slice(0, at)}`);
    assert.equal(done.stdout, CUT);
    assert.deepEqual(readdirSync(dir), ['state.txt']);
  }
});

test('malformed input is told with line and column and changes nothing', () => {
  const dir = freshDir();
  const done = run(dir, stream(url('a', 1), '<url curl="b" mimetype=text/html/>'));
  assert.equal(done.status, 65);
  assert.match(done.stderr, /^lcccpstate: standard input:3:\d+: /);
  assert.deepEqual(readdirSync(dir), []);
  // Plain lines before and after it do not shift the count.
  const after = run(dir, stream(url('a', 1), "<url curl='b' mimetype='t/h'/>", url('c', 1), '<url curl=d/>'));
  assert.match(after.stderr, /^lcccpstate: standard input:5:\d+: /);
});

test('a record without key is reported and left out, exit 1; one with op="delete" is not part of the site', () => {
  const dir = freshDir();
  const done = run(
    dir,
    stream(
      url('a', 1),
      '<url curl="b"/>',
      '<url mimetype="t/h"/>',
      '<url curl="gone" mimetype="t/h" op="delete"/>',
    ),
  );
  assert.equal(done.status, 1);
  assert.deepEqual(done.urls, [url('a', 1)]);
  assert.match(done.stderr, /<url curl="b"\/> has no mimetype\n.*<url mimetype="t\/h"\/> has no curl\n/);
});

test('what a record without key named may be there: nothing is deleted for it, and it is no full set', () => {
  const dir = freshDir();
  run(dir, stream(...site(12)), ['--commit-now']);
  const spoilt = stream(...site(12).slice(0, 11), '<url mimetype="text/html" len="11"/>');
  const done = run(dir, spoilt);
  assert.deepEqual([done.status, done.urls], [1, []]);
  assert.match(done.stdout, / whole="no" /);
  assert.match(done.stderr, /names a part of the site only: nothing is deleted, 1 url .* is kept/);
  assert.equal(run(dir, spoilt, ['--full']).status, 65);
  assert.equal(run(dir, stream('<url mimetype="text/html"/>')).status, 65);
  assert.equal(run(dir, stream(...site(12).slice(0, 11))).urls.length, 1);
});

test('the same url twice is one; twice differently is refused', () => {
  const dir = freshDir();
  assert.deepEqual(run(dir, stream(url('a', 1), url('a', 1))).urls, [url('a', 1)]);
  const done = run(dir, stream(url('a', 1), url('b', 1), url('a', 2)));
  assert.equal(done.status, 65);
  assert.match(done.stderr, /<url curl="a" mimetype="text\/html": named twice/);
});

test('a damaged statefile is an error with its line, never an empty state', () => {
  const good = site(5).sort();
  const cases: [string, string, RegExp][] = [
    ['cut in a line', good.join('\n').slice(0, -5), /:5: it is cut off/],
    ['cut at a line without newline', good.join('\n'), /:5: it is cut off/],
    ['garbage', `${good[0]}\n\0\0\0\n${good[2]}\n`, /:2: it is not a canonical/],
    ['not in order', `${good[1]}\n${good[0]}\n`, /:2: it is not in order/],
    ['twice', `${good[0]}\n${good[0]}\n`, /:2: it is not in order/],
  ];
  for (const [what, content, message] of cases) {
    const dir = freshDir();
    writeFileSync(join(dir, 'state.txt'), content);
    const done = run(dir, stream(url('x', 1)), ['--max-delete=100%']);
    assert.equal(done.status, 65, what);
    assert.match(done.stderr, message, what);
    assert.equal(done.stdout, CUT);
    assert.equal(readFileSync(join(dir, 'state.txt'), 'utf8'), content);
  }
  const dir = freshDir();
  mkdirSync(join(dir, 'state.txt'));
  assert.equal(run(dir, stream(url('x', 1))).status, 74);
  assert.equal(run(join(dir, 'nowhere'), stream(url('x', 1))).status, 73);
  assert.equal(runBin('lcccpstate', [], { input: '' }).status, 64);
  assert.equal(runBin('lcccpstate', ['--statefile=s', '--commit', '--full'], { input: '' }).status, 64);
});

test('killed at any durable step, the next run does what the uninterrupted one would have done', () => {
  const expected = (() => {
    const dir = freshDir();
    run(dir, stream(...site(20)), ['--commit-now']);
    const { urls } = run(dir, stream(...site(19), url('new', 1)), ['--commit-now']);
    return { urls, state: stateOf(dir) };
  })();
  for (const step of [
    'state.pending.synced',
    'state.pending.renamed',
    'cp.set.doubtful',
    'state.committed',
  ]) {
    const dir = freshDir();
    run(dir, stream(...site(20)), ['--commit-now']);
    const before = stateOf(dir);
    const killed = run(dir, stream(...site(19), url('new', 1)), ['--commit-now'], { LCC_CRASH_AT: step });
    assert.equal(killed.signal, 'SIGKILL', step);
    if (step === 'state.committed') {
      assert.equal(stateOf(dir), expected.state);
      continue;
    }
    assert.equal(stateOf(dir), before);
    if (step === 'state.pending.synced') assert.ok(!killed.stdout.includes('new'));
    assert.deepEqual(run(dir, stream(...site(19), url('new', 1)), ['--commit-now']).urls, expected.urls);
    assert.equal(stateOf(dir), expected.state);
    assert.deepEqual(readdirSync(dir), ['state.txt'], 'nothing is left behind');
  }
});

test('the pending state is synced and named before a byte leaves, and committed last', () => {
  const dir = freshDir();
  const log = join(dir, 'steps');
  run(dir, stream(...site(3)), ['--commit-now'], { LCC_STEP_LOG: log });
  const steps = readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map(l => l.split(' ')[1]);
  assert.deepEqual(steps, [
    'state.pending.synced',
    'state.pending.renamed',
    'cp.set.doubtful',
    'state.committed',
  ]);
});

test('hostile names make the trip from file to state and back to the same bytes', () => {
  const dir = freshDir();
  const tree = join(dir, 'tree');
  mkdirSync(tree);
  for (const name of HOSTILE_NAMES) writeFileSync(Buffer.from(`${tree}/${name}`, 'latin1'), 'x');
  const pipe = `cd "$1" && "$2/file2url" --find . -type f | "$2/lcccpstate" --statefile="$3" --commit-now`;
  const done = spawnSync('bash', ['-c', pipe, 'bash', tree, join(ROOT, 'bin'), join(dir, 'state.txt')]);
  assert.equal(done.status, 0, done.stderr.toString());
  const names = (xml: string) =>
    [...xml.matchAll(/curl="([^"]*)"/g)].map(m => decodePath((m[1] ?? '').replaceAll('&amp;', '&'))).sort();
  assert.deepEqual(names(done.stdout.toString()), [...HOSTILE_NAMES].sort());
  assert.deepEqual(names(stateOf(dir)), [...HOSTILE_NAMES].sort());
  assert.equal(spawnSync('sort', ['-c', join(dir, 'state.txt')], { env: { LC_ALL: 'C' } }).status, 0);
  // Gone again: each is asked to be removed by the very key it was sent with.
  const gone = run(dir, stream(), ['--allow-empty']);
  assert.deepEqual(names(gone.stdout), [...HOSTILE_NAMES].sort());
});

test('the path of the statefile reaches lcccp as it is, whatever letters it has', () => {
  const dir = join(freshDir(), 'sites of Zoë & 北京 "quoted"');
  mkdirSync(dir);
  const done = run(dir, stream(...site(1)));
  const rehearsed = runBin('lcccp', ['--dry-run'], { input: done.stdout });
  assert.equal(rehearsed.stderr, 'lcccp: 1 url would be sent\n');
  assert.ok(done.stdout.includes('sites of Zoë &amp; 北京 &quot;quoted&quot;/state.txt'), done.stdout);
});

longIt('a site larger than memory is told to hold gives the same answer', async () => {
  const dir = freshDir();
  const many = Array.from({ length: 320_000 }, (_, i) =>
    url(`section-${(i * 7919) % 320_000}/a-name-of-some-length-${i % 7}.html`, i),
  );
  const first = run(dir, streamOf(many), ['--commit-now']);
  assert.equal(first.status, 0, first.stderr);
  assert.ok(existsSync(join(dir, 'state.txt')));
  many[1000] = url('changed-to-new', 1);
  const second = run(dir, streamOf(many));
  assert.match(second.stderr, /1 new, 0 changed, 1 deleted, 319999 unchanged/);
  assert.equal(second.urls.length, 2);
});

test('an empty statefile is a damaged one, unless told that the site had nothing', () => {
  const dir = freshDir();
  writeFileSync(join(dir, 'state.txt'), '');
  const refused = run(dir, stream(...site(3)));
  assert.equal(refused.status, 65);
  assert.match(refused.stderr, /state\.txt: empty: restore it, or remove it to send every url again/);
  assert.equal(run(dir, stream(...site(3)), ['--allow-empty']).status, 0);
});
