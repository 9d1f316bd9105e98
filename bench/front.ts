/**
 * The provider's side: file2url, with and without md5, the whole front with nothing changed, start-up of the filters,
 * memory of lcccpstate at a million urls. The tree is made once and kept beside the results: on ext4, deleting one just
 * before making another would cost more than the work measured.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compare, median, requireProgram, shell, timeShell, type Outcome } from './harness.js';

const BIN = join(dirname(fileURLToPath(import.meta.url)), '../../bin');
const FILES = 100_000;
const FILE_BYTES = 4096;
const FILES_PER_DIRECTORY = 250;
const LARGE_SITE_URLS = 1_000_000;
const MB = 1024 * 1024;

export async function bench(): Promise<Outcome[]> {
  for (const [program, apt] of [
    ['/usr/bin/time', 'time'],
    ['find', 'findutils'],
    ['rsync', 'rsync'],
    ['rclone', 'rclone'],
    ['hashdeep', 'hashdeep'],
    ['md5sum', 'coreutils'],
  ] as const)
    requireProgram(program, apt);
  const dir = join(tmpdir(), 'lcc-bench-front');
  makeTree(dir);
  const env = { ...process.env, PATH: `${BIN}:${process.env['PATH']}`, LC_ALL: 'C' };
  const at = { cwd: dir, env };
  const work = (name: string, command: string) => shell(name, command, at);
  const amount = { amount: FILES, unit: 'files', rounds: 5 };

  const listing = await compare({
    work: 'file2url: 100 k files described',
    ...amount,
    ours: work('find and file2url', 'find t -type f | file2url --docroot=t > out.xml'),
    peers: [
      { contender: work('find -printf', "find t -type f -printf '%P %s %T+\\n' > out.txt"), atLeast: 0.45 },
      {
        contender: work('rclone lsf', 'rclone lsf --config= -R --files-only --format pst t > out.txt'),
        atLeast: 1,
      },
    ],
  });

  const find0 = 'find t -type f -print0';
  const hashing = await compare({
    work: 'file2url --md5, one thread: 100 k files of 4 KiB',
    ...amount,
    ours: work('file2url --md5 --jobs=1', `${find0} | file2url -0 --md5 --jobs=1 --docroot=t > out.xml`),
    peers: [
      { contender: work('xargs md5sum', `${find0} | xargs -0 md5sum > out.txt`), atLeast: 0.85 },
      { contender: work('hashdeep -j0', 'hashdeep -c md5 -j0 -r t > out.txt') },
    ],
  });
  const hashing2 = await compare({
    work: 'file2url --md5, two threads: 100 k files of 4 KiB',
    ...amount,
    ours: work('file2url --md5 --jobs=2', `${find0} | file2url -0 --md5 --jobs=2 --docroot=t > out.xml`),
    peers: [
      {
        contender: work('xargs -P2 md5sum', `${find0} | xargs -0 -P2 -n1000 md5sum > out.txt`),
        atLeast: 0.95,
      },
      { contender: work('hashdeep', 'hashdeep -c md5 -r t > out.txt'), atLeast: 1.1 },
    ],
  });

  timeShell(
    'rm -f state.txt; find t -type f | file2url --docroot=t | lcccpstate -q --commit-now --statefile=state.txt',
    at,
  );
  timeShell('rsync -a t/ copy/', at);
  const front = await compare({
    work: 'the whole front, nothing changed: 100 k files',
    ...amount,
    ours: work(
      'file2url --find and lcccpstate',
      'file2url --docroot=t --find t -type f | lcccpstate -q --statefile=state.txt > out.xml',
    ),
    peers: [{ contender: work('rsync -an', 'rsync -an t/ copy/ > out.txt'), atLeast: 1 }],
  });

  return [listing, hashing, hashing2, front, startUp(env, dir), largeSite(env, dir)];
}

/** Median CPU seconds of runs in turn, of filters that have nothing to do and of an empty script. */
function startUp(env: NodeJS.ProcessEnv, dir: string): Outcome {
  const empty = join(dir, 'empty.cjs');
  writeFileSync(empty, '');
  const state = join(dir, 'empty-state.txt');
  const commands: [string, string][] = [
    ['bare', `node ${empty}`],
    ['file2url', 'file2url < /dev/null'],
    ['lcccpstate', `lcccpstate -q --allow-empty --statefile=${state} < /dev/null`],
    ['lcccp', 'lcccp -q --dry-run < /dev/null'],
  ];
  const seconds = new Map(commands.map(([name]) => [name, [] as number[]]));
  for (let round = 0; round < 21; round++)
    for (const [name, command] of commands) seconds.get(name)?.push(cpuSeconds(command, env));
  const bare = median(seconds.get('bare') ?? []);
  return {
    work: 'start-up of a filter, CPU time against bare node',
    unit: 'starts',
    rounds: 21,
    lines: [],
    bounds: commands.slice(1).map(([name]) => ({
      what: `${name} ÷ node of an empty file (${Math.round(bare * 1000)} ms)`,
      value: median(seconds.get(name) ?? []) / bare,
      atMost: 1.25,
      unit: '×',
    })),
  };
}

/** User and system time of a command and its children. */
function cpuSeconds(command: string, env: NodeJS.ProcessEnv): number {
  const done = spawnSync('bash', ['-c', `TIMEFORMAT='%3U %3S'; time ${command} > /dev/null`], { env });
  const [user = NaN, system = NaN] = done.stderr.toString().trim().split(' ').map(Number);
  return user + system;
}

/** Memory of lcccpstate with a million urls: the first run, and one with nothing changed. */
function largeSite(env: NodeJS.ProcessEnv, dir: string): Outcome {
  const input = join(dir, 'large.xml');
  const state = join(dir, 'large-state.txt');
  if (!existsSync(input)) writeLargeSite(input);
  rmSync(state, { force: true });
  const command = `lcccpstate -q --commit-now --statefile=${state} < ${input} > /dev/null`;
  const bounds = ['first run', 'nothing changed'].map(what => ({
    what: `lcccpstate, 1 M urls, ${what}: largest resident set`,
    value: (timeShell(command, { env }).maxRssBytes ?? NaN) / MB,
    atMost: 200,
    unit: 'MB',
  }));
  return { work: 'memory of lcccpstate', unit: 'urls', rounds: 1, lines: [], bounds };
}

function makeTree(dir: string): void {
  if (existsSync(join(dir, 't'))) return;
  const half = join(dir, 't.half');
  for (let at = 0; at < FILES; at += FILES_PER_DIRECTORY) {
    const n = at / FILES_PER_DIRECTORY;
    const sub = join(half, `section-${n % 20}`, `part-${n}`);
    mkdirSync(sub, { recursive: true });
    for (let i = 0; i < FILES_PER_DIRECTORY; i++)
      writeFileSync(join(sub, `page-${i}-about-something.html`), randomBytes(FILE_BYTES));
  }
  renameSync(half, join(dir, 't'));
}

function writeLargeSite(path: string): void {
  const fd = openSync(path, 'w');
  writeSync(fd, '<?lcc from="bench"?>\n');
  let text = '';
  for (let i = 0; i < LARGE_SITE_URLS; i++) {
    // Out of order, as directories are.
    const n = (i * 7919) % LARGE_SITE_URLS;
    text += `<url curl="section-${n % 20}/part-${n % 4000}/page-${n}-about-something.html" mimetype="text/html" len="${n}" mtime="2026-11-20T10:13:01Z"/>\n`;
    if (text.length > MB) {
      writeSync(fd, text);
      text = '';
    }
  }
  writeSync(fd, `${text}<?lcc end?>\n`);
  closeSync(fd);
}
