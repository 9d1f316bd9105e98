import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, fstatSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand, type CommandContext } from '../../src/commands/run.js';
import { VERSION } from '../../src/commands/version.js';
import { systemClock } from '../../src/lib/clock.js';
import { readProjectFile, ROOT } from '../support/tree.js';

const PROBE = join(ROOT, 'dist/test/support/probe-command.js');

function probe(args: string[], env: Record<string, string> = {}) {
  const done = spawnSync(process.execPath, [PROBE, ...args], {
    env: { ...process.env, LCC_DEBUG: '', ...env },
    encoding: 'utf8',
  });
  return { status: done.status, stdout: done.stdout, stderr: done.stderr };
}

test('--help prints synopsis, options, a worked example and where the manual is, on stdout', () => {
  for (const flag of ['--help', '-h']) {
    const done = probe([flag]);
    assert.equal(done.status, 0);
    assert.equal(done.stderr, '');
    assert.match(done.stdout, /^Usage: probe \[options\] \[DEED\] \[-- NAME\.\.\.\]\n/);
    assert.match(done.stdout, /does what it is told/);
    assert.match(done.stdout, /-0, --null +names end with NUL/);
    assert.match(done.stdout, /-q, --quiet/);
    assert.match(done.stdout, /\nExample:\n {2}probe print -- a b\n {2}probe say\n/);
    assert.match(done.stdout, /\nThe manual: man probe \(in a clone: man -l man\/probe\.1\)\n$/);
  }
});

test('--version prints the name and the version of package.json', () => {
  const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
  assert.equal(VERSION, version);
  assert.deepEqual(probe(['--version']), { status: 0, stdout: `probe (LCC) ${version}\n`, stderr: '' });
});

test('options are read as --opt value and --opt=value, short and repeated', () => {
  const expected = { null: true, size: '12', type: ['a=b/c', 'd=e/f'], quiet: true };
  for (const args of [
    ['-0', '--size', '12', '--type', 'a=b/c', '--type', 'd=e/f', '-q', 'print'],
    ['print', '-0q', '--size=12', '--type=a=b/c', '--type=d=e/f'],
  ]) {
    const done = probe(args);
    assert.equal(done.stderr, '');
    assert.deepEqual((JSON.parse(done.stdout) as { options: unknown }).options, expected);
  }
});

test('a system error that names a file is reported by its name and what to do', () => {
  const message = 'probe: /nowhere/at/all: there is no such file or directory; check the name\n';
  assert.deepEqual(probe(['open']), { status: 66, stdout: '', stderr: message });
});

test('of a setting the last value counts, of what is acted on a second one is refused', () => {
  const { options } = JSON.parse(probe(['print', '--size=1', '--size', '2']).stdout) as { options: unknown };
  assert.deepEqual(options, { size: '2' });
  assert.deepEqual(probe(['print', '--pid=1', '--pid', '2']), {
    status: 64,
    stdout: '',
    stderr: 'probe: --pid <N>: given twice, as 1 and as 2; run once for each\n',
  });
  const same = JSON.parse(probe(['print', '--pid=1', '--pid=1']).stdout) as { options: unknown };
  assert.deepEqual(same.options, { size: '7', pid: '1' });
});

test('the name of a file or directory is not empty, as that of a variable which is not set', () => {
  for (const flags of ['--list <FILE>', '--docroot <DIR>'])
    assert.deepEqual(probe(['print', '--docroot=.', `${flags.split(' ')[0]}=`]), {
      status: 64,
      stdout: '',
      stderr: `probe: ${flags}: the name is empty; is a variable not set?\n`,
    });
});

test('defaults hold where nothing is said', () => {
  const { options } = JSON.parse(probe(['print']).stdout) as { options: unknown };
  assert.deepEqual(options, { size: '7' });
});

test('what follows -- is left alone, options and further dashes included', () => {
  assert.deepEqual(JSON.parse(probe(['--', '-q', '--', '--size']).stdout), ['-q', '--', '--size']);
  assert.deepEqual(JSON.parse(probe(['--']).stdout), []);
  assert.equal(JSON.parse(probe([]).stdout), null);
});

test('what follows --find belongs to find, -- included', () => {
  const rest = ['.', '-name', '*.html', '--', '-q'];
  assert.deepEqual(JSON.parse(probe(['-0', '--find', ...rest]).stdout), rest);
});

test('misuse is one line that says what is wrong, one that says where help is, and status 64', () => {
  for (const [args, what] of [
    [['--sise=1'], /unknown option '--sise=1'.*--size/],
    [['--size'], /argument missing/],
    [['--nul'], /unknown option '--nul'/],
  ] as const) {
    const done = probe([...args]);
    assert.equal(done.status, 64, args.join(' '));
    assert.equal(done.stdout, '');
    const lines = done.stderr.trimEnd().split('\n');
    assert.equal(lines.length, 2, done.stderr);
    assert.match(lines[0] ?? '', what);
    assert.equal(lines[1], `probe: try 'probe --help'`);
  }
});

test('talk goes to stderr with the name in front; -q silences talk but no warning', () => {
  assert.deepEqual(probe(['say']), {
    status: 1,
    stdout: '',
    stderr: 'probe: one of many\nprobe: a warning\n',
  });
  assert.deepEqual(probe(['say', '-q']), { status: 1, stdout: '', stderr: 'probe: a warning\n' });
});

test('a failure is one line and the status of its code', () => {
  assert.deepEqual(probe(['refuse']), {
    status: 65,
    stdout: '',
    stderr: 'probe: set.xml:3:7: bad; things; mend them\n',
  });
});

test('a bug says that it is one; the stack is shown only with LCC_DEBUG=1', () => {
  const silent = probe(['break']);
  assert.deepEqual([silent.status, silent.stderr.split('\n').length], [70, 2]);
  assert.match(silent.stderr, /^probe: undefined is not a function \(a bug; LCC_DEBUG=1 shows where\)\n$/);
  const talkative = probe(['break'], { LCC_DEBUG: '1' });
  assert.equal(talkative.status, 70);
  assert.match(talkative.stderr, /at .*probe-command\.js:\d+/);
});

test('a reader that goes away ends a command in silence', () => {
  for (const deed of ['pour', '--help']) {
    const done = spawnSync(
      'bash',
      ['-c', `"$0" "$1" "$2" | true; echo "\${PIPESTATUS[0]}"`, process.execPath, PROBE, deed],
      { encoding: 'utf8' },
    );
    assert.deepEqual([done.stdout, done.stderr], ['0\n', ''], deed);
  }
});

test('a full disk under stdout is said, with status 74', () => {
  const done = spawnSync('bash', ['-c', '"$0" "$1" pour >/dev/full', process.execPath, PROBE], {
    encoding: 'utf8',
  });
  assert.equal(done.status, 74);
  assert.equal(done.stderr, 'probe: cannot write standard output: no space left; free some and run again\n');
});

const noScript = spawnSync('script', ['--version']).error !== undefined && process.env['CI'] !== 'true';

test(
  'progress is shown on a terminal while work lasts, and nowhere else',
  { skip: noScript && 'no script(1)' },
  async t => {
    const folder = mkdtempSync(join(tmpdir(), 'lcc-run-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const seen = join(folder, 'seen');
    const work = (names: string, options = '') =>
      `(${names}) | ${join(ROOT, 'bin/file2url')} ${options} >/dev/null`;
    const terminal = (command: string) => spawn('script', ['-qec', command, '/dev/null']);

    // It lasts until progress is seen, however long the start takes.
    const lasting = `for i in $(seq 600); do [ -e ${seen} ] && break; echo a; sleep 0.1; done`;
    let shown = '';
    for await (const chunk of terminal(work(lasting)).stdout.setEncoding('latin1')) {
      shown += String(chunk);
      if (shown.includes(' files,')) writeFileSync(seen, '');
    }
    assert.match(shown, /\r\u001b\[Kfile2url: \d+ files, \d+\/s.*\r\u001b\[K/s);

    const long = 'echo a; sleep 2.5; echo b';
    assert.doesNotMatch((await terminal(work(long, '-q')).stdout.toArray()).join(''), /files,/);
    assert.doesNotMatch(spawnSync('bash', ['-c', work(long)], { encoding: 'latin1' }).stderr, /files,/);
  },
);

test('a run that has ended reads nothing more of the input it was given, and leaves it open', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'run-'));
  const path = join(dir, 'input');
  writeFileSync(path, 'x'.repeat(1_000_000));
  const stdin = openSync(path, 'r');
  try {
    let input: Readable | undefined;
    const run = async (context: CommandContext) => {
      input = context.input();
      for await (const chunk of input.iterator({ destroyOnReturn: false })) return (chunk as Buffer).length;
      return 0;
    };
    const surroundings = {
      args: [],
      env: {},
      stdin,
      stdout: 1,
      stderr: 2,
      clock: systemClock,
      launcher: 'probe',
      end: (status: number) => assert.fail(`it ends with ${status}`),
    };
    const spec = { name: 'probe', summary: 'reads the beginning', options: [], example: 'probe', run };
    assert.ok((await runCommand(spec, surroundings)) > 0);
    assert.equal(input?.closed, true);
    assert.equal(fstatSync(stdin).size, 1_000_000);
  } finally {
    closeSync(stdin);
    rmSync(dir, { recursive: true });
  }
});
