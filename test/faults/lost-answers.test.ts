/**
 * A whole LCC with every conversation going through a proxy that cuts it in the middle of an answer. Whatever both sides
 * believe then, after a round without cuts they have the same: the CP's state, what the UNS accepted, the Queue Manager's
 * rows, the files of the store, the consumer's copy.
 */
import fc from 'fast-check';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { openReadOnly } from '../../src/db/sqlite/open.js';
import { Cutter } from '../support/cutter.js';
import { statusOf } from '../support/daemon.js';
import { Lcc } from '../support/lcc.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

const HISTORIES = Number(process.env['LCC_TEST_HISTORIES'] ?? 1);
const PAGES = ['a', 'b', 'c'].map(name => `${name}.html`);

/**
 * Conversations that are cut, the side that answers in each, and about how long the answers of a round are (0: as the last
 * ones).
 */
const EDGES = {
  'CP–UNS': { speaker: 'listener', bytes: 0 },
  'UNS–QM': { speaker: 'listener', bytes: 300 },
  'QM–BM': { speaker: 'caller', bytes: 2000 },
  'BM–robot': { speaker: 'caller', bytes: 2000 },
} as const;
type Edge = keyof typeof EDGES;
const edges = Object.keys(EDGES) as Edge[];

/** Where in the answers: anywhere, or near their end, where something has been done. */
const share = fc.oneof(
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.double({ min: 0.8, max: 1, noNaN: true }),
);
const cut = fc.record({ edge: fc.constantFrom(...edges), share });
const round = fc.record({
  /** Pages that get other content, or go. */
  changes: fc.array(fc.record({ page: fc.constantFrom(...PAGES), goes: fc.boolean() }), {
    minLength: 1,
    maxLength: 4,
  }),
  isFull: fc.integer({ min: 0, max: 4 }).map(one => one === 0),
  cuts: fc.array(cut, { minLength: 1, maxLength: 4 }),
  /** What the consumer takes of its changes: all, all but failing then, or a number of bytes and failing. */
  consumer: fc.oneof(fc.constant('takes'), fc.constant('fails'), fc.integer({ min: 0, max: 500 })),
});
const history = fc.array(round, { minLength: 2, maxLength: 3 });
type Round = typeof round extends fc.Arbitrary<infer T> ? T : never;

const TOML = 'qm.retry_delay_ms = 10\n';

/** When the first version of a page was made. */
const FIRST_S = 1_790_000_000;

class CutLcc extends Lcc {
  readonly docroot = join(this.dir, 'site');
  readonly #cutters = new Map<Edge, Cutter>();
  /** What the consumer has, by URL. */
  readonly #copy = new Map<string, string>();
  #made = 0;

  path(name: string): string {
    return join(this.dir, name);
  }

  /** Starts each daemon by itself, with a proxy on every edge. */
  async startCut(): Promise<void> {
    mkdirSync(this.docroot);
    await this.addProvider(1, this.root, '--fullsetsallowed=1000000 --fuse-percent=100');
    for (const [i, edge] of edges.entries()) {
      const cutter = new Cutter(this.path(`near${i}`), this.path(`far${i}`), EDGES[edge].speaker);
      this.#cutters.set(edge, await cutter.listen());
    }
    const near = edges.map((_, i) => `unix:${this.path(`near${i}`)}`);
    const [cp, uns, bm, bot] = edges.map((_, i) => `unix:${this.path(`far${i}`)}`);
    await this.startDaemon('lccd-qm', `--listen-uns=${uns}`, `--listen-bm=${bm}`).ready;
    const others = [
      ['lccd-uns', `--listen=${cp}`, `--qm=${near[1]}`],
      [
        'lccd-bm',
        `--source=${near[2]}`,
        `--listen=${bot}`,
        `--store=${this.home}/store`,
        '--machineid=local',
      ],
      ['lccbot', `--bm=${near[3]}`, '--slots=4'],
    ] as const;
    await Promise.all(others.map(([name, ...args]) => this.startDaemon(name, ...args).ready));
  }

  override async remove(): Promise<void> {
    await super.remove();
    for (const cutter of this.#cutters.values()) cutter.close();
  }

  /** Kinds of what lccfsck finds once everything is killed. */
  async amiss(): Promise<Set<string>> {
    await this.killAll();
    const { status, stdout, stderr } = await this.sh('lccfsck');
    assert.ok(status === 0 || status === 1, stderr);
    return new Set(stdout.split('\n').flatMap(line => (line === '' ? [] : [line.split('\t')[0] ?? ''])));
  }

  /** @returns what the conversations so far were cut, by edge */
  get cuts(): Record<string, number> {
    return Object.fromEntries([...this.#cutters].map(([edge, { made }]) => [edge, made]));
  }

  get #push(): string {
    return (
      `file2url --docroot=site --find site -type f | lcccpstate -q --allow-empty --max-delete=100% --statefile=state |` +
      ` lcccp --allow-empty --uns=unix:near0 --pid=1 --urlprefix=${this.root}`
    );
  }

  /** Nothing is spooled, queued or being fetched; what leaves a spool is in the queue before. */
  override async idle(): Promise<void> {
    for (const daemon of ['lccd-uns', 'lccd-qm'])
      await until(`${daemon} is idle`, async () => (await statusOf(this.home, daemon))['idle']);
  }

  async play({ changes, isFull, cuts, consumer }: Round): Promise<void> {
    for (const { page, goes } of changes) {
      if (goes) rmSync(join(this.docroot, page), { force: true });
      else this.#write(page);
    }
    for (const { edge, share } of cuts) {
      const cutter = this.#cutters.get(edge);
      cutter?.cutAfter(Math.floor(share * (EDGES[edge].bytes || cutter.saidBytes)));
    }
    await this.sh(isFull ? this.#push.replace('lcccpstate', 'lcccpstate --full') : this.#push);
    await this.idle();
    await this.consume(consumer);
  }

  /** Each version has a second of its own: two of one second and one length are one to file2url without --md5. */
  #write(page: string): void {
    const path = join(this.docroot, page);
    writeFileSync(path, `<p>${page}, version ${++this.#made}</p>\n`);
    const madeS = FIRST_S + this.#made;
    utimesSync(path, madeS, madeS);
  }

  /** The consumer keeps what it has taken, be it that it failed then, or died in the middle. */
  async consume(how: Round['consumer']): Promise<void> {
    const take = { takes: 'cat >taken', fails: 'cat >taken; exit 3' }[how] ?? `head -c ${how} >taken; exit 3`;
    const command = `lccq --cursor=cursor --format=jsonl --fields=op,burl,md5 -- sh -c '${take}'`;
    // It is not run where nothing has changed.
    writeFileSync(this.path('taken'), '');
    const { status, stderr } = await this.sh(command);
    if (how === 'takes') assert.equal(status, 0, stderr);
    const lines = readFileSync(this.path('taken'), 'utf8').split('\n').slice(0, -1);
    for (const line of lines.filter(each => each.startsWith('{"op"'))) {
      const { op, burl, md5 } = JSON.parse(line) as { op: string; burl: string; md5: string };
      if (op === 'delete') this.#copy.delete(burl);
      else this.#copy.set(burl, md5);
    }
  }

  /** A round without cuts; then all must be as the site is. */
  async compare(): Promise<void> {
    for (const cutter of this.#cutters.values()) cutter.calm();
    await this.run(this.#push);
    await this.idle();
    await this.consume('takes');
    const prefix = this.root;
    const md5 = (content: Buffer) => createHash('md5').update(content).digest('hex');
    const site = readdirSync(this.docroot).map(
      page => `${page} ${md5(readFileSync(join(this.docroot, page)))}`,
    );
    const rows = (await this.run('lccq --format=jsonl --fields=curl,md5,file'))
      .split('\n')
      .filter(line => line.startsWith('{"curl"'))
      .map(line => JSON.parse(line) as { curl: string; md5: string; file: string })
      .map(row => {
        assert.equal(md5(readFileSync(row.file)), row.md5, row.curl);
        return `${row.curl.replace(prefix, '')} ${row.md5}`;
      });
    const state = [...readFileSync(this.path('state'), 'utf8').matchAll(/ curl="([^"]*)"/g)];
    const inOrder = (lines: string[]) => lines.toSorted((a, b) => a.localeCompare(b));
    assert.deepEqual(inOrder(rows), inOrder(site), 'the Queue Manager’s rows, and their files');
    assert.deepEqual(
      inOrder([...this.#copy].map(([url, sum]) => `${url.replace(prefix, '')} ${sum}`)),
      inOrder(site),
      'the consumer’s copy',
    );
    assert.deepEqual(
      inOrder(state.map(([, curl = '']) => curl)),
      inOrder(readdirSync(this.docroot)),
      'the state of the CP',
    );
    this.#compareRemains();
  }

  /** Nothing is left on its way, and what is counted is what is there. */
  #compareRemains(): void {
    assert.deepEqual(readdirSync(join(this.home, 'spool/uns/uns/new')), []);
    const db = openReadOnly(join(this.home, 'lcc.db'));
    try {
      const counts = db
        .prepare(
          `SELECT (SELECT count(*) FROM qdb) AS queued, (SELECT count(*) FROM qpsdb) AS sets,
             (SELECT count(*) FROM absorbed WHERE complete = 0) AS open, nurlproc, nurlerrs, fullsetwanted,
             filesused - (SELECT count(*) FROM lccurl) AS files FROM pidb`,
        )
        .all();
      const none = { queued: 0, sets: 0, open: 0, nurlproc: 0, nurlerrs: 0, fullsetwanted: null, files: 0 };
      assert.deepEqual(counts, [none]);
    } finally {
      db.close();
    }
  }
}

it(`${HISTORIES} histories in which answers are lost anywhere: all sides have the same after a round in which none is`, async t => {
  const site = await TestSite.listen();
  const lcc = new CutLcc(site.urlOf('/'), TOML);
  site.answer = (request, response) => {
    try {
      const content = readFileSync(join(lcc.docroot, request.url ?? ''));
      response.writeHead(200, { 'content-type': 'text/html' }).end(content);
    } catch {
      response.writeHead(404).end();
    }
  };
  try {
    await lcc.startCut();
    await fc.assert(
      fc.asyncProperty(history, async rounds => {
        for (const one of rounds) await lcc.play(one);
        await lcc.compare();
      }),
      {
        numRuns: HISTORIES,
        endOnFailure: true,
        ...(process.env['LCC_TEST_SEED'] === undefined ? {} : { seed: Number(process.env['LCC_TEST_SEED']) }),
      },
    );
    t.diagnostic(JSON.stringify(lcc.cuts));
    // Content lies there without a row when its result was lost on the way; nothing else may be amiss.
    const amiss = await lcc.amiss();
    for (const kind of ['orphan', 'leftover']) amiss.delete(kind);
    assert.deepEqual([...amiss], []);
    const uncut = edges.filter(edge => lcc.cuts[edge] === 0);
    assert.ok(uncut.length < (HISTORIES < 20 ? edges.length : 1), `never cut: ${uncut.join(' ')}`);
  } finally {
    await lcc.remove();
    site.close();
  }
});
