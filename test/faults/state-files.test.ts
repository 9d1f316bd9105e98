/**
 * Every database and state file of the LCC, put back older, removed, emptied or damaged, alone and together, after a clean stop and
 * after a kill: it is noticed, or does no harm, and no file goes that something acknowledged depends on. The table of
 * docs/design/durability.md; cells of other programs are in the tests that it names.
 */
import assert from 'node:assert/strict';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startLcc, urlTag, type Lcc } from '../support/lcc.js';
import { isLong } from '../support/long.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

const HOWS = ['older', 'removed', 'emptied', 'damaged'] as const;
type How = (typeof HOWS)[number];

/** What a start is to say; `refused`: and nothing is served until the right files are back, or those of them that `back` names. */
type Outcome = 'harmless' | { says: RegExp } | { refused: RegExp; back?: readonly string[] };

interface Cell {
  /** Names below the home, as globs. */
  files: readonly string[];
  outcome: Partial<Record<How, Outcome>>;
  /** The gate has this one. */
  isShort?: How;
}

const database = (path: string) => [path, `${path}-wal`, `${path}-shm`];
const OLDER = /an older copy was put back|a copy was put in its place after/;
const harmless = {
  older: 'harmless',
  removed: 'harmless',
  emptied: 'harmless',
  damaged: 'harmless',
} as const;
const OTHER_NAMES =
  /names\.db: (an older copy was put back|a copy was put in its place|another database).*move it out/;
const NO_NAMES = /names\.db: missing although there is content/;
const STRANGE_STORE = /rows point to files of machine .* in another store than this one/;
const OTHER_DATABASE = /another database than the one served last/;

const CELLS: Readonly<Record<string, Cell>> = {
  'lcc.db': {
    files: database('lcc.db'),
    outcome: {
      older: { refused: OLDER },
      removed: { refused: /lcc\.db: not there, though it was served until its change/ },
      emptied: { refused: /lcc\.db: empty, though it was served until its change/ },
      damaged: { refused: /database damaged|no provider can be read/ },
    },
    isShort: 'removed',
  },
  'marks of lcc.db': {
    files: ['lcc.db.last-*'],
    outcome: {
      older: 'harmless',
      removed: 'harmless',
      emptied: { refused: OTHER_DATABASE },
      damaged: { refused: OTHER_DATABASE },
    },
  },
  'names.db': {
    files: database('store/names.db'),
    outcome: {
      older: { refused: OTHER_NAMES },
      removed: { says: NO_NAMES },
      emptied: { says: NO_NAMES },
      damaged: { refused: /names\.db: damaged.*move it out of the store/ },
    },
    isShort: 'older',
  },
  'marks of names.db': {
    files: ['store/names.db.last-*'],
    outcome: {
      older: 'harmless',
      removed: 'harmless',
      emptied: { refused: OTHER_NAMES },
      damaged: { refused: OTHER_NAMES },
    },
  },
  'machine-id': {
    files: ['store/machine-id'],
    outcome: {
      older: 'harmless',
      removed: { refused: STRANGE_STORE },
      emptied: { refused: /the store of machine .{2,4}, not/ },
      damaged: { refused: /the store of machine .*, not/ },
    },
  },
  'the whole store': {
    files: ['store'],
    outcome: {
      older: { refused: /is an older copy than the one served last/ },
      removed: { refused: STRANGE_STORE },
      emptied: { refused: STRANGE_STORE },
    },
    isShort: 'older',
  },
  'sessions.db': {
    files: database('spool/uns/sessions.db'),
    outcome: {
      ...harmless,
      damaged: { refused: /sessions\.db: database damaged .*move it away/ },
    },
  },
  'sequence of the spool': {
    files: ['spool/uns/*/sequence'],
    outcome: {
      ...harmless,
      emptied: { says: /sequence of a spool damaged/ },
      damaged: { says: /sequence of a spool damaged/ },
    },
  },
  'id of the spool': { files: ['spool/uns/*/id'], outcome: harmless },
  'the whole spool': {
    files: ['spool'],
    outcome: { older: 'harmless', removed: 'harmless', emptied: 'harmless' },
  },
  locks: {
    files: ['*.lock', 'spool/uns/*.lock', 'spool/uns/*/lock', 'run/*.lock'],
    outcome: { ...harmless, damaged: { refused: /lock: no lock of the LCC; remove it/ } },
  },
  'lcc.db and names.db': {
    files: [...database('lcc.db'), ...database('store/names.db')],
    // The Bot Manager has made a new names.db meanwhile, and would refuse the one before.
    outcome: {
      older: { refused: OLDER },
      removed: { refused: /lcc\.db: not there/, back: database('lcc.db') },
    },
  },
  'lcc.db and the spool': {
    files: [...database('lcc.db'), 'spool'],
    outcome: { older: { refused: OLDER }, removed: { refused: /lcc\.db: not there/ } },
  },
  'names.db and sessions.db': {
    files: [...database('store/names.db'), ...database('spool/uns/sessions.db')],
    outcome: {
      older: { refused: OTHER_NAMES },
      removed: { says: NO_NAMES },
      emptied: { says: NO_NAMES },
      damaged: { refused: /(names|sessions)\.db: .*move it/ },
    },
  },
  'sessions.db and the sequence of the spool': {
    files: [...database('spool/uns/sessions.db'), 'spool/uns/*/sequence'],
    outcome: { older: 'harmless', removed: 'harmless' },
  },
};

const site = await TestSite.listen();
let lcc: Lcc;
/** All pages that were acknowledged, by name; and what a consumer made of the changes. */
const truth = new Map<string, string>();
const index = new Map<string, string>();
let round = 0;

/** One of its own after a test that failed, which leaves nothing that another can go on with. */
async function begin(): Promise<void> {
  truth.clear();
  index.clear();
  lcc = await startLcc(site.urlOf('/'));
  await publishMore();
  await lcc.stop();
}

before(begin);
after(async () => {
  site.close();
  await lcc.remove();
});

const olderHome = () => join(lcc.dir, 'older');
const asideHome = () => join(lcc.dir, 'aside');

/** Pages come, one changes and one goes; the consumer hears of it. */
async function publishMore(): Promise<void> {
  const n = ++round;
  const pages = { [`new-${n}`]: `new in ${n}`, [`more-${n}`]: `more in ${n}`, changing: 'x'.repeat(n) };
  for (const [name, text] of Object.entries(pages)) truth.set(name, text);
  await lcc.publish(site, pages);
  const gone = `more-${n - 1}`;
  if (!truth.has(gone)) return consume();
  truth.delete(gone);
  site.pages.delete(`/${gone}`);
  await lcc.deliver('partial', [urlTag(gone, ' op="delete"')]);
  await lcc.idle();
  await consume();
}

async function consume(): Promise<void> {
  const cursor = join(lcc.dir, 'cursor');
  for (;;) {
    const { status, stdout, stderr } = await lcc.sh(`lccq --format=jsonl --cursor=${cursor}`);
    if (status === 65 && /resync/.test(stderr)) {
      // It was told that all begins again.
      rmSync(cursor);
      index.clear();
      continue;
    }
    assert.equal(status, 0, stderr);
    for (const line of stdout.split('\n').filter(text => text.startsWith('{'))) {
      const { op, url, curl, md5 } = JSON.parse(line) as Record<string, string>;
      const name = String(curl ?? url).replace(lcc.root, '');
      if (op === 'delete') index.delete(name);
      else index.set(name, String(md5));
    }
    await lcc.sh(`lccq --commit ${cursor}`);
    return;
  }
}

const md5Of = (text: string) => createHash('md5').update(text).digest('hex');

/** Everything that was acknowledged is held as it is, and the consumer has the same. */
async function allIsThere(): Promise<void> {
  const expected = [...truth].map(([name, text]) => `${name} ${md5Of(text)}`).toSorted();
  assert.deepEqual((await lcc.holdings()).rows, expected);
  assert.deepEqual([...index].map(([name, md5]) => `${name} ${md5}`).toSorted(), expected);
}

function existing(files: readonly string[], below = lcc.home): string[] {
  const namesIn = (dir: string) => readdirSync(join(below, dir), { withFileTypes: true });
  const isLike = (name: string, part: string) =>
    new RegExp(`^${part.replaceAll('.', '\\.').replaceAll('*', '.*')}$`).test(name);
  return files.flatMap(file => {
    let found = [''];
    const parts = file.split('/');
    for (const [n, part] of parts.entries())
      found = found.flatMap(dir =>
        namesIn(dir)
          .filter(entry => isLike(entry.name, part) && (n === parts.length - 1 || entry.isDirectory()))
          .map(entry => join(dir, entry.name)),
      );
    return found;
  });
}

/** Puts what is there aside, by a new name alone: it is the same file when it is put back. */
function alter(files: readonly string[], how: How): void {
  const there = existing(files);
  assert.ok(there.length > 0, `${files.join()} is there`);
  for (const name of there) {
    mkdirSync(dirname(join(asideHome(), name)), { recursive: true });
    renameSync(join(lcc.home, name), join(asideHome(), name));
  }
  if (how === 'older') {
    for (const name of existing(files, olderHome())) {
      mkdirSync(dirname(join(lcc.home, name)), { recursive: true });
      cpSync(join(olderHome(), name), join(lcc.home, name), { recursive: true, preserveTimestamps: true });
    }
    return;
  }
  if (how === 'removed') return;
  for (const name of there.filter(file => !/-(wal|shm)$/.test(file))) {
    const before = join(asideHome(), name);
    const now = join(lcc.home, name);
    if (statSync(before).isDirectory()) mkdirSync(now);
    else writeFileSync(now, how === 'emptied' ? '' : damaged(readFileSync(before)));
  }
}

/** Of a database all pages but the first. */
function damaged(bytes: Buffer): Buffer {
  if (bytes.length <= 4096) return Buffer.from('no such file: \u{1}');
  return Buffer.concat([bytes.subarray(0, 4096), Buffer.alloc(bytes.length - 4096, 0x55)]);
}

function putBack(files: readonly string[]): void {
  for (const name of existing(files)) rmSync(join(lcc.home, name), { recursive: true, force: true });
  for (const name of existing(files, asideHome())) renameSync(join(asideHome(), name), join(lcc.home, name));
}

async function isServing(): Promise<boolean> {
  const daemons = await lcc.daemons().catch(() => undefined);
  const managers = daemons?.['lccd-qm']?.['bot_managers'] as { machines: string[] }[] | undefined;
  return (
    daemons?.['lccd-uns'] !== undefined && managers?.some(({ machines }) => machines.length > 0) === true
  );
}

async function tryCell({ files, outcome }: Cell, how: How, end: 'stop' | 'kill'): Promise<void> {
  const expected = outcome[how] ?? 'harmless';
  for (const dir of [olderHome(), asideHome()]) rmSync(dir, { recursive: true, force: true });
  cpSync(lcc.home, olderHome(), {
    recursive: true,
    preserveTimestamps: true,
    filter: from => !from.endsWith('.sock'),
  });
  await lcc.start();
  await publishMore();
  await allIsThere();
  if (end === 'stop') await lcc.stop();
  else await lcc.killAll();
  alter(files, how);
  const logged = lcc.log.length;
  lcc.launch();
  const said = () => lcc.log.slice(logged);
  const words = expected === 'harmless' ? undefined : 'says' in expected ? expected.says : expected.refused;
  if (words !== undefined) await until(`a start says ${String(words)}`, () => words.test(said()));
  if (expected !== 'harmless' && 'refused' in expected) {
    assert.equal(await isServing(), false, 'it is not served');
    await lcc.killAll();
    putBack(expected.back ?? files);
    await lcc.start();
  } else await until('it is served', isServing);
  await lcc.idle();
  await consume();
  await allIsThere();
  await publishMore();
  await allIsThere();
  await lcc.stop();
}

describe('a database or state file that is not as the LCC left it', () => {
  for (const [what, cell] of Object.entries(CELLS))
    for (const how of HOWS)
      for (const end of ['stop', 'kill'] as const) {
        if (cell.outcome[how] === undefined) continue;
        if (!isLong && (cell.isShort !== how || end !== 'stop')) continue;
        const outcome = cell.outcome[how] === 'harmless' ? 'does no harm' : 'is noticed';
        it(`${what}, ${how} after a ${end}: ${outcome}`, async () => {
          try {
            await tryCell(cell, how, end);
          } catch (error) {
            await lcc.remove();
            await begin();
            throw error;
          }
        });
      }
});

it('the table of docs/design/durability.md has these cells', () => {
  const page = readFileSync(new URL('../../../docs/design/durability.md', import.meta.url), 'utf8');
  for (const what of Object.keys(CELLS)) assert.ok(page.includes(`| ${what} |`), `${what} has a row`);
});
