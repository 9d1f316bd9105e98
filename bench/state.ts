/**
 * lcccpstate by the size of a site: user CPU time of a url, and memory, with nothing changed and with a hundredth changed.
 * The start of the command is taken off: it is measured with a site of one url, in turn with the others.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median, requireProgram, timeShell, type Outcome } from './harness.js';

const BIN = join(dirname(fileURLToPath(import.meta.url)), '../../bin');
const SIZES = [1, 100_000, 500_000, 1_000_000, 3_000_000];
const SMALL = 100_000;
const LARGE = 3_000_000;
/** One url in this many changes. */
const CHANGED = 100;
const ROUNDS = 3;
const MB = 1024 * 1024;

type Case = 'nothing changed' | '1 % changed';
interface Measured {
  urls: number;
  what: Case;
  userSeconds: number[];
  maxRssBytes: number;
}

export async function bench(): Promise<Outcome[]> {
  requireProgram('/usr/bin/time', 'time');
  const dir = join(tmpdir(), 'lcc-bench-state');
  mkdirSync(dir, { recursive: true });
  const measured: Measured[] = [];
  for (const urls of SIZES) {
    for (const what of ['nothing changed', '1 % changed'] as const) {
      const input = inputOf(dir, urls, what);
      if (!existsSync(input)) writeSite(input, urls, what === 'nothing changed' ? 0 : CHANGED);
      measured.push({ urls, what, userSeconds: [], maxRssBytes: 0 });
    }
    const state = join(dir, `state-${urls}`);
    rmSync(state, { force: true });
    run(`lcccpstate -q --commit-now --statefile=${state} < ${inputOf(dir, urls, 'nothing changed')}`);
  }
  for (let round = 0; round < ROUNDS; round++)
    for (const one of measured) {
      const state = join(dir, `state-${one.urls}`);
      const command = `lcccpstate -q --statefile=${state} < ${inputOf(dir, one.urls, one.what)} > /dev/null`;
      one.userSeconds.push(run(command));
      if (round === 0) one.maxRssBytes = timeShell(command, { env: ENV }).maxRssBytes ?? NaN;
      // The set that nobody delivered: the next run is not to find it in doubt.
      spawnSync('bash', ['-c', `rm -f ${state}.*`]);
    }

  const start = median(measured.filter(({ urls }) => urls === 1).flatMap(({ userSeconds }) => userSeconds));
  const microseconds = (urls: number, what: Case) => {
    const found = measured.find(one => one.urls === urls && one.what === what);
    return ((median(found?.userSeconds ?? []) - start) / urls) * 1e6;
  };
  const cases = ['nothing changed', '1 % changed'] as const;
  return [
    {
      work: 'lcccpstate: user CPU time of a url, by the size of the site',
      unit: 'urls',
      rounds: ROUNDS,
      lines: [],
      bounds: [
        ...cases.map(what => ({
          what: `${what}: a url of 3 M ÷ one of 100 k`,
          value: microseconds(LARGE, what) / microseconds(SMALL, what),
          atMost: 1.3,
          unit: '×',
        })),
        ...cases.map(what => ({
          what: `${what}: largest resident set, 3 M urls`,
          value: (measured.find(one => one.urls === LARGE && one.what === what)?.maxRssBytes ?? NaN) / MB,
          atMost: 200,
          unit: 'MB',
        })),
      ],
      notes: SIZES.slice(1).map(
        urls =>
          `${urls.toLocaleString('en-US')} urls: ${cases
            .map(what => `${microseconds(urls, what).toFixed(2)} µs a url with ${what}`)
            .join(', ')}`,
      ),
    },
  ];
}

const ENV = { ...process.env, PATH: `${BIN}:${process.env['PATH']}`, LC_ALL: 'C' };

/** User CPU seconds of a command line. @throws Error when it fails */
function run(command: string): number {
  const done = spawnSync('bash', ['-c', `TIMEFORMAT=%3U; time { ${command}; } > /dev/null`], { env: ENV });
  if (done.status !== 0) throw new Error(`exit ${done.status} from: ${command}\n${done.stderr.toString()}`);
  return Number(done.stderr.toString().trim());
}

function inputOf(dir: string, urls: number, what: Case): string {
  return join(dir, `${urls}-${what === 'nothing changed' ? 'same' : 'changed'}.xml`);
}

/** @param changed one url in `changed` has another length; 0: none */
function writeSite(path: string, urls: number, changed: number): void {
  const half = `${path}.half`;
  const fd = openSync(half, 'w');
  writeSync(fd, '<?lcc from="bench"?>\n');
  let text = '';
  for (let i = 0; i < urls; i++) {
    // Out of order, as directories are.
    const n = (i * 7919) % urls;
    const len = changed > 0 && n % changed === 0 ? n + 1 : n;
    text += `<url curl="section-${n % 20}/part-${n % 4000}/page-${n}-about-something.html" mimetype="text/html" len="${len}" mtime="2026-11-20T10:13:01Z"/>\n`;
    if (text.length > MB) {
      writeSync(fd, text);
      text = '';
    }
  }
  writeSync(fd, `${text}<?lcc end?>\n`);
  closeSync(fd);
  renameSync(half, path);
}
