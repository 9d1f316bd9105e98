/**
 * Random kill -9 of every daemon, the supervisor included, while sets of many providers arrive. At the end every url that
 * was acknowledged is stored as its file is now, once, and nothing else is; lccfsck finds what killed robots left,
 * and after its repair nothing.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openReadOnly } from '../../src/db/sqlite/open.js';
import { statusOf } from '../support/daemon.js';
import { type Lcc, startLcc } from '../support/lcc.js';
import { startSite } from '../support/nginx.js';
import { until } from '../support/until.js';

export interface KillOptions {
  kills: number;
  /** Of all providers together. */
  urls: number;
  providers: number;
  /** Makes the choice of victims, files and instants repeatable as far as scheduling allows. */
  seed: number;
  /** Told how far it is. */
  progress: (text: string) => void;
}

export interface KillFigures {
  kills: number;
  killed: Record<string, number>;
  sets: number;
  acknowledged: number;
  stored: number;
  lost: string[];
  wrong: string[];
  /** Stored although it was deleted. */
  revived: string[];
  /** Sets that were absorbed again after they had been, and urls with more than one row. */
  twice: number;
  errorsReported: number;
  /** What lccfsck found, by kind, before its repair and after. */
  found: Record<string, number>;
  left: Record<string, number>;
}

const DELIVERIES_AT_ONCE = 3;
const FOLDER_FILES = 100;
/** A provider's files changed in a round: one in this many. */
const CHANGED_SHARE = 50;

export async function killRun(options: KillOptions): Promise<KillFigures> {
  const scratch = mkdtempSync(join(tmpdir(), 'lcc-kill-'));
  const figures: KillFigures = {
    kills: 0,
    killed: {},
    sets: 0,
    acknowledged: 0,
    stored: 0,
    lost: [],
    wrong: [],
    revived: [],
    twice: 0,
    errorsReported: 0,
    found: {},
    left: {},
  };
  const random = randomFrom(options.seed);
  const docs = join(scratch, 'docs');
  const perProvider = Math.ceil(options.urls / options.providers);
  const sites = Array.from(
    { length: options.providers },
    (_, i) => new Pages(i + 1, join(docs, `s${i + 1}`), perProvider),
  );
  const web = await startSite(docs, join(scratch, 'nginx'));
  const rootOf = (pages: Pages) => `${web.url}s${pages.pid}/`;
  const lcc = await startLcc(
    `${web.url}s1/`,
    '[bm]\ngrace_ms = 1000\n[qm]\nretry_delay_ms = 200\nbackoff_min_ms = 100\nbackoff_max_ms = 1000\n',
  );
  try {
    const passwords = new Map([[1, lcc.env['LCC_PWD'] ?? '']]);
    for (const pages of sites.slice(1)) {
      const shown = await lcc.run(`lccpidb add --pid=${pages.pid} --root=${rootOf(pages)}`);
      passwords.set(pages.pid, shown.trim());
    }
    const deliverAll = async () => {
      const queue = [...sites];
      const deliverer = async () => {
        for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
          await deliver(lcc, next, rootOf(next), passwords.get(next.pid) ?? '');
          figures.sets++;
        }
      };
      await Promise.all(Array.from({ length: DELIVERIES_AT_ONCE }, deliverer));
    };
    const killing = killUntil(lcc, options, random, figures);
    for (let version = 1; figures.kills < options.kills || version < 3; version++) {
      await deliverAll();
      options.progress(`round ${version}, ${figures.kills} kills, ${figures.sets} sets accepted`);
      for (const pages of sites) pages.change(version, random);
    }
    await killing;
    await deliverAll();
    options.progress('waiting until all is fetched');
    await lcc.idle(3600);
    options.progress('judging');
    await judge(lcc, sites, rootOf, figures);
    for (const pages of sites) {
      const said = await say(lcc, pages, rootOf(pages), passwords.get(pages.pid) ?? '', '</dev/null');
      figures.errorsReported += (said.stdout.match(/ code="/g) ?? []).length;
    }
    await lcc.stop();
    figures.twice += absorbedAgain(join(lcc.home, 'lcc.db'));
    figures.found = kindsOf((await lcc.sh('lccfsck -q --repair')).stdout);
    figures.left = kindsOf((await lcc.sh('lccfsck -q')).stdout);
    return figures;
  } finally {
    await lcc.remove();
    await web.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The documents of one provider. */
class Pages {
  readonly pid: number;
  readonly dir: string;
  readonly #count: number;

  constructor(pid: number, dir: string, count: number) {
    this.pid = pid;
    this.dir = dir;
    this.#count = count;
    for (let i = 0; i < count; i += FOLDER_FILES) mkdirSync(join(dir, folderOf(i)), { recursive: true });
    for (let i = 0; i < count; i++) this.#write(i, 0);
  }

  /** Some files change, some go, some of those that had gone come back. */
  change(version: number, random: () => number): void {
    for (let n = 0; n < this.#count / CHANGED_SHARE; n++) {
      const i = Math.floor(random() * this.#count);
      if (random() < 0.3 && existsSync(this.#path(i))) unlinkSync(this.#path(i));
      else this.#write(i, version);
    }
  }

  /** Names below `dir`, and the md5 of each. */
  *files(): Generator<[string, string]> {
    for (let i = 0; i < this.#count; i++) {
      const path = this.#path(i);
      if (existsSync(path)) yield [path.slice(this.dir.length + 1), md5Of(path)];
    }
  }

  #path(i: number): string {
    return join(this.dir, folderOf(i), `p${i}.html`);
  }

  #write(i: number, version: number): void {
    writeFileSync(
      this.#path(i),
      `<p>${this.pid}: url ${i} version ${version} ${'x'.repeat((i * 31) % 977)}</p>`,
    );
  }
}

function folderOf(i: number): string {
  return `d${Math.floor(i / FOLDER_FILES)}`;
}

function md5Of(path: string): string {
  return createHash('md5').update(readFileSync(path)).digest('hex');
}

/** Kills one living daemon after another at random instants; a killed supervisor is started again. */
async function killUntil(
  lcc: Lcc,
  options: KillOptions,
  random: () => number,
  figures: KillFigures,
): Promise<void> {
  while (figures.kills < options.kills) {
    await new Promise(resolve => void setTimeout(resolve, 50 + random() * 700));
    const sockets = readdirSync(join(lcc.home, 'run')).filter(name => name.endsWith('.ctl.sock'));
    const name = sockets[Math.floor(random() * sockets.length)];
    if (name === undefined) continue;
    try {
      const { pid } = await statusOf(lcc.home, name.replace('.ctl.sock', ''));
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      continue;
    }
    const victim = name.replace(/(-\d+)?\.ctl\.sock$/, '');
    figures.kills++;
    figures.killed[victim] = (figures.killed[victim] ?? 0) + 1;
    if (figures.kills % 50 === 0)
      options.progress(`${figures.kills} kills ${JSON.stringify(figures.killed)}`);
    if (victim === 'lccd') await lcc.start();
  }
}

/** Runs the pipeline as cron does: again and again until it was accepted. */
async function deliver(lcc: Lcc, pages: Pages, root: string, password: string): Promise<void> {
  const pipe = `| file2url --md5 --docroot . | lcccpstate --statefile=../../state${pages.pid}.txt |`;
  await until(`a set of provider ${pages.pid} is accepted`, async () => {
    const { status } = await say(lcc, pages, root, password, '', `find . -type f -name '*.html' ${pipe} `);
    return status <= 1;
  });
}

function say(lcc: Lcc, pages: Pages, root: string, password: string, input: string, before = '') {
  const cp = `lcccp --uns=${lcc.uns} --pid=${pages.pid} --urlprefix=${root} ${input}`;
  return lcc.sh(before + cp, { LCC_PWD: password }, pages.dir);
}

async function judge(
  lcc: Lcc,
  sites: readonly Pages[],
  rootOf: (pages: Pages) => string,
  figures: KillFigures,
): Promise<void> {
  const held = new Map<string, { md5: string; file: string }>();
  for (const line of (await lcc.run('lccq --format=jsonl --no-deleted')).trim().split('\n')) {
    const row = JSON.parse(line) as { curl: string; md5: string; file: string };
    if (held.has(row.curl)) figures.twice++;
    held.set(row.curl, row);
  }
  for (const pages of sites) {
    for (const [name, wanted] of pages.files()) {
      const url = rootOf(pages) + name;
      const row = held.get(url);
      held.delete(url);
      figures.acknowledged++;
      if (row === undefined) {
        figures.lost.push(url);
        continue;
      }
      figures.stored++;
      if (row.md5 !== wanted || md5Of(row.file) !== wanted) figures.wrong.push(url);
    }
  }
  figures.revived = [...held.keys()];
}

/** Every set that is begun gets the next id: there are no more of these than sets that are remembered. */
function absorbedAgain(path: string): number {
  const db = openReadOnly(path);
  try {
    const value = (sql: string) => Number(db.prepare(sql).pluck().get());
    return value("SELECT value FROM counter WHERE name = 'psetid'") - value('SELECT count(*) FROM absorbed');
  } finally {
    db.close();
  }
}

/** How often each kind stands at the beginning of a line. */
function kindsOf(findings: string): Record<string, number> {
  const kinds: Record<string, number> = {};
  for (const line of findings.split('\n').slice(0, -1)) {
    const kind = line.split('\t')[0] ?? '';
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  return kinds;
}

/** Repeatable numbers in [0, 1) from a seed. */
function randomFrom(seed: number): () => number {
  let drawn = 0;
  return () => createHash('md5').update(`${seed} ${drawn++}`).digest().readUInt32BE() / 2 ** 32;
}
