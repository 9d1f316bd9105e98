import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { FIGURES } from '../../src/commands/figures.js';
import { pageOf } from '../support/mdoc.js';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';
import { ROOT } from '../support/tree.js';
import { runCommand } from '../support/command.js';

const home = mkdtempSync(join(tmpdir(), 'lcc-lccstat-'));
after(() => rmSync(home, { recursive: true }));

const lccstat = (...args: string[]) => runCommand(home, 'lccstat', args);

describe('lccstat', () => {
  it('says 69 when no daemon answers', () => {
    for (const args of [[], ['--json'], ['--until-idle=0.1']]) {
      const { status, stderr } = lccstat(...args);
      assert.equal(status, 69);
      assert.match(stderr, /no daemon answers below .*; start lccd, or set LCC_HOME/);
    }
  });

  it('says 66 when there is no queue yet', () => {
    const { status, stderr } = lccstat('--queue');
    assert.deepEqual([status, /lcc\.db.*lccd creates it/.test(stderr)], [66, true]);
  });

  it('refuses numbers that are none', () => {
    for (const option of ['--until-idle=soon', '--limit=0', '--limit=all'])
      assert.equal(lccstat('--queue', option).status, 64, option);
  });

  it('either waits or shows', () => {
    const { status, stderr } = lccstat('--watch', '--until-idle=1');
    assert.deepEqual(
      [status, stderr],
      [64, 'lccstat: --until-idle and --watch: give one of them; --until-idle prints nothing\n'],
    );
  });

  for (const other of [[], ['--json'], ['--until-idle=1']])
    it(`refuses --limit without --queue${other.map(option => `, with ${option}`).join('')}`, () => {
      const { status, stderr } = lccstat('--limit=5', ...other);
      const why = 'lccstat: --limit goes with --queue: it says how many providers are shown\n';
      assert.deepEqual([status, stderr], [64, why]);
    });
});

/** Names of fields in an object and all it holds, but not below `daemons`, where the keys are names of daemons. */
function fieldsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(fieldsOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === 'daemons'
      ? [name, ...Object.values(inner as object).flatMap(fieldsOf)]
      : [name, ...fieldsOf(inner)],
  );
}

/** Kinds of daemons that run here. */
const RUNNING = ['lccd', 'lccd-qm', 'lccd-bm', 'lccbot', 'lccd-uns', 'lccd-cu'];
/** What lccstat(1) lists under JSON. */
/** Fields of a rail that those of other lists have not. */
const OF_RAILS = 'target tier changed_ms sending done parked mean_ms last_error backlog dead'.split(' ');
/** Fields of a provider that is silent; none is here. */
const OF_SILENT = ['lastset', 'lastconntime', 'every'];

function documentedFields(): Set<string> {
  const lines = pageOf('lccstat')?.lines ?? [];
  const section = lines.slice(lines.indexOf('.Ss JSON'), lines.indexOf('.Sh ENVIRONMENT'));
  return new Set(
    section
      .flatMap(line => (/^\.(?:It )?Li /.test(line) ? (line.match(/\b[a-z]\w+\b/g) ?? []) : []))
      .filter(word => word !== 'null'),
  );
}

describe('lccstat and an LCC whose site is away', () => {
  let lcc: Lcc;
  const seen = new Set<string>();
  before(async () => {
    // Nobody listens on port 9.
    const readers = join(home, 'cu.sock');
    lcc = await startLcc(
      'http://127.0.0.1:9/',
      `[cu]\nlisten = ["unix:${readers}"]\n[qm]\nbackoff_min_ms = "1h"\n`,
    );
    await lcc.announce(Array.from({ length: 40 }, (_, i) => urlTag(`p${i}`)));
    await lcc.shows('lccstat --queue --json', /"state":"back-off"/);
    // What was on its way to the robot comes back.
    await lcc.shows('lccstat --json', /"in_flight":0\b/);
  });
  after(() => lcc.remove());

  const json = async (command: string): Promise<Record<string, unknown>> => {
    const parsed = JSON.parse(await lcc.run(command)) as Record<string, unknown>;
    for (const field of fieldsOf(parsed)) seen.add(field);
    return parsed;
  };

  it('says in plain words how much waits, and why', async () => {
    const text = await lcc.run('lccstat');
    assert.match(text, /^busy: 40 urls wait for 1 provider, the oldest set for \d+ s$/m);
    assert.match(text, /^! every site with urls waiting is left alone.*lccctl flush tries at once$/m);
    assert.match(text, /^lccd-qm +busy .* 40 urls queued/m);
    assert.match(text, /^lccbot +idle .* 0 of \d+ slots fetching/m);
  });

  it('says why when it is not idle in time', async () => {
    const { status, stderr } = await lcc.sh('lccstat --until-idle=0.2 --cursor=links.cursor');
    assert.equal(status, 75);
    assert.match(
      stderr,
      /^lccstat: still busy after 0\.2 s\nlccstat: ! every site with urls waiting is left alone.*\nlccstat: ! links.cursor is not there: /,
    );
  });

  it('says after ten seconds what it waits for, unless it is told to be quiet', async () => {
    const waits = ['', '-q'].map(quiet => lcc.sh(`lccstat ${quiet} --until-idle=11`));
    const [told, quiet] = await Promise.all(waits);
    assert.match(
      told?.stderr ?? '',
      /^lccstat: waiting: every site with urls waiting is left alone[^\n]*\nlccstat: still busy after 11 s\n/,
    );
    assert.deepEqual([quiet?.status, quiet?.stderr], [75, '']);
  });

  it('shows the queue by provider and age', async () => {
    assert.match(
      await lcc.run('lccstat --queue'),
      /^PROVIDER +T +5 10 .* 1280\+ STATE\n +TOTAL 40 40 +0 .*\n +1 40 40 +0 .* does not answer \(602 connection refused at 127\.0\.0\.1:9\), left alone until [\d: -]+\n$/,
    );
    assert.match(
      await lcc.run('lccpidb show --pid=1'),
      /^fetched from: .* failed as a whole once: 602 connection refused at 127\.0\.0\.1:9 \(lccctl flush\)$/m,
    );
    const { providers, total } = await json('lccstat --queue --json');
    assert.deepEqual(total, { waiting: 40, ages: [40, 0, 0, 0, 0, 0, 0, 0, 0, 0], exact: true });
    const [first] = providers as Record<string, unknown>[];
    assert.deepEqual([first?.['pid'], first?.['state'], first?.['fetching']], [1, 'back-off', 0]);
  });

  it('watches: one object a line, rates from the second on', async () => {
    const watch = spawn(join(ROOT, 'bin/lccstat'), ['--watch', '--json'], {
      env: lcc.env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines: string[] = [];
    let text = '';
    for await (const chunk of watch.stdout) {
      text += String(chunk);
      lines.push(...text.split('\n').slice(0, -1));
      text = text.slice(text.lastIndexOf('\n') + 1);
      if (lines.length >= 2) break;
    }
    watch.kill('SIGINT');
    const [first, second] = lines.map(line => JSON.parse(line) as Record<string, unknown>);
    assert.equal(first?.['rates'], undefined);
    assert.deepEqual(second?.['rates'], { urls_per_s: 0, bytes_per_s: 0 });
    for (const field of fieldsOf(second)) seen.add(field);
  });

  it('shows the queue while the daemons are away', async () => {
    await lcc.run('lccctl pause');
    await lcc.stop();
    assert.match(await lcc.run('lccstat --queue'), /^ +1 40 .* paused$/m);
  });

  it('every field is in the manual', () => {
    const documented = documentedFields();
    // The daemons of cache clearing, registration and the Spider do not run here.
    const elsewhere = Object.entries(FIGURES).flatMap(([kind, figures]) =>
      RUNNING.includes(kind) ? [] : Object.keys(figures),
    );
    assert.deepEqual(
      elsewhere.filter(field => !documented.has(field)),
      [],
    );
    assert.ok(documented.size > 80);
    assert.deepEqual(
      [...seen].filter(field => !documented.has(field)),
      [],
    );
    // What an LCC says only at other times.
    const notNow = new Set([
      'problem',
      'rests_ms',
      'silent_ms',
      'machine',
      'at_ms',
      'reason',
      'back',
      'since_ms',
      'files',
      'pages',
      'off',
      'paused',
      'bandwidth',
      'lcc',
      'pace',
      'host',
      'unasked',
      'closed',
      'later',
      'up',
      'uns',
      ...elsewhere,
      ...OF_RAILS,
      ...OF_SILENT,
    ]);
    const states = new Set(['fetching', 'waiting', 'retry', 'disabled', 'idle']);
    assert.deepEqual(
      [...documented].filter(field => !seen.has(field) && !notNow.has(field) && !states.has(field)),
      [],
    );
  });
});
