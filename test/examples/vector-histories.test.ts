/**
 * Random histories of an LCC into tables of vectors, with kills of either side at any line: after each run a table is what the lines
 * that were taken make of it, and in the end what the pages are. Asked of the model is what the table has not, once.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { TestCache } from '../support/cache.js';
import { homeEnv, runProgram } from '../support/command.js';
import { LCCQ } from '../support/lccq.js';
import { isLong, longIt } from '../support/long.js';
import { postgresRows, sqliteRows, VECTORS, vectorOf } from '../support/vector-table.js';

const support = (name: string) => join(import.meta.dirname, '../support', name);
const EMBED = `${process.execPath} ${support('noting-embedder.js')}`;

type Row = Record<string, unknown>;
interface Store {
  /** Below the folder of a history. */
  file: string;
  loader: (file: string) => string[];
  rows: (file: string) => Row[] | Promise<Row[]>;
  /** Vectors of rows that a `reset` has taken away are of use until a run has ended well. */
  keeps: boolean;
}
const SQLITE: Store = {
  file: 'v.db',
  loader: file => [join(VECTORS, 'vectors.mjs'), file, `--embed=${EMBED}`],
  rows: file => (existsSync(file) ? sqliteRows(file) : []),
  keeps: true,
};
const POSTGRES: Store = {
  file: 'pg',
  loader: file => [support('postgres-loader.js'), file, EMBED],
  rows: file => (existsSync(file) ? postgresRows(file) : []),
  keeps: false,
};

interface Line {
  op: string;
  doc: number;
  n: number;
  from: number;
  url: string;
  text: string;
  hash: string;
}

/** What a table is after the lines that a loader has taken. */
class Model {
  #pages = new Map<number, Line[]>();
  #pieces: Line[] = [];
  readonly #kept = new Set<string>();
  readonly #keeps: boolean;

  constructor(keeps: boolean) {
    this.#keeps = keeps;
  }

  get #hashes(): Set<string> {
    return new Set([...this.#pages.values()].flat().map(({ hash }) => hash));
  }

  /** @returns the texts that a page needs vectors of, at its last line */
  #lacking(): string[] {
    const has = new Set([...this.#hashes, ...this.#kept]);
    const lacking = new Map(
      this.#pieces.filter(({ hash }) => !has.has(hash)).map(each => [each.hash, each.text]),
    );
    return [...lacking.values()];
  }

  /** @returns texts that are embedded */
  take(line: string): string[] {
    if (line === '') return [];
    const record = JSON.parse(line) as Line;
    if (record.op === 'upsert') this.#pieces.push(record);
    if (record.op === 'reset') {
      if (this.#keeps) for (const hash of this.#hashes) this.#kept.add(hash);
      this.#pages.clear();
    }
    if (record.op !== 'delete') return [];
    const lacking = this.#lacking();
    assert.equal(record.from, this.#pieces.length);
    this.#pages.set(record.doc, this.#pieces);
    this.#pieces = [];
    return lacking;
  }

  /** What the line would have embedded, had it been taken whole. */
  wanted(line: string): string[] {
    return line.startsWith('{"op":"delete"') ? this.#lacking() : [];
  }

  /** A run is over. @param well to its end @param begun the program was started */
  over(well: boolean, begun: boolean): void {
    this.#pieces = [];
    if (well && begun) this.#kept.clear();
  }

  rows(): Row[] {
    return [...this.#pages.entries()]
      .sort(([one], [other]) => one - other)
      .flatMap(([doc, pieces]) =>
        pieces.map(({ n, url, text, hash }) => ({ doc, n, url, text, hash, vector: vectorOf(text) })),
      );
  }
}

const shown = (rows: Row[]): Row[] =>
  rows.map(({ doc, n, url, text, hash, vector }) => ({
    doc,
    n,
    url,
    text,
    hash,
    vector: JSON.parse(String(vector)) as unknown,
  }));

/** A page as the test knows it. */
interface Page {
  words: string;
  parts: number;
  mimetype: string;
  burl?: string;
}
const SENTENCE = 'Water rises and falls with the moon.';
const contentOf = ({ words, parts, mimetype }: Page, footer: string): string =>
  mimetype === 'text/plain'
    ? words
    : `<title>T</title><main>${Array.from({ length: parts }, (_, i) => `<h2>Part ${i}</h2><p>${words} ${SENTENCE}</p>`).join('')}</main><footer>${footer}</footer>`;
const textsOf = ({ words, parts, mimetype }: Page): string[] =>
  mimetype === 'text/plain'
    ? [words]
    : Array.from({ length: parts }, (_, i) => `T > Part ${i}\n${words} ${SENTENCE}`);

const kill = fc.oneof(
  fc.constant(''),
  ...['reader', 'writer', 'asked'].map(who => fc.integer({ min: 1, max: 40 }).map(at => `${who}:${at}`)),
  fc.integer({ min: 1, max: 4 }).map(at => `cu.cursor.advanced:${at}`),
);
const change = fc.record({
  what: fc.constantFrom(
    'add',
    'add',
    'edit',
    'shorten',
    'footer',
    'delete',
    'return',
    'move',
    'type',
    'browse',
    'hide',
    'purge',
    'cursor',
    'other',
  ),
  page: fc.integer({ min: 1, max: 8 }),
  words: fc.constantFrom('one', 'two', 'three', 'four'),
});
const history = (length: number) =>
  fc.array(
    fc.record({
      changes: fc.array(change, { minLength: 1, maxLength: 8 }),
      batch: fc.integer({ min: 1, max: 50 }),
      kill,
    }),
    { minLength: Math.min(2, length), maxLength: length },
  );
type History = ReturnType<typeof history> extends fc.Arbitrary<infer T> ? T : never;
type Change = History[number]['changes'][number];

class Life {
  readonly #folder = mkdtempSync(join(tmpdir(), 'lcc-vector-histories-'));
  readonly #store: Store;
  readonly #model: Model;
  #cache = new TestCache();
  readonly #pages = new Map<string, Page>();
  #gone: Page = { words: 'zero', parts: 2, mimetype: 'text/html' };
  /** How often a cursor was refused. */
  refused = 0;

  constructor(store: Store) {
    this.#store = store;
    this.#model = new Model(store.keeps);
  }

  close(): void {
    this.#cache.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  readonly #in = (name: string) => join(this.#folder, name);

  #put(curl: string, page: Page, footer = 'F'): void {
    // Another type of the same url is another row.
    if (this.#pages.get(curl)?.mimetype !== page.mimetype) this.#remove(curl);
    this.#pages.set(curl, page);
    const { mimetype, burl } = page;
    this.#cache.put({
      curl,
      mimetype,
      content: contentOf(page, footer),
      ...(burl !== undefined && { burl }),
    });
  }

  #remove(curl: string): void {
    const page = this.#pages.get(curl);
    if (page === undefined) return;
    this.#cache.remove(curl, { mimetype: page.mimetype });
    this.#gone = page;
    this.#pages.delete(curl);
  }

  change({ what, page: number, words }: Change): void {
    const curl = `https://h/${number}`;
    const page = this.#pages.get(curl) ?? { words, parts: 3, mimetype: 'text/html' };
    if (what === 'add') this.#put(curl, { words, parts: number, mimetype: 'text/html' });
    else if (what === 'edit') this.#put(curl, { ...page, words });
    else if (what === 'shorten') this.#put(curl, { ...page, parts: 1 });
    else if (what === 'footer') for (const [each, held] of this.#pages) this.#put(each, held, words);
    else if (what === 'delete') this.#remove(curl);
    else if (what === 'return') {
      this.#remove(curl);
      this.#put(curl, this.#gone);
    } else if (what === 'move') {
      this.#remove(curl);
      this.#remove(`https://moved/${number}`);
      this.#put(`https://moved/${number}`, page);
    } else if (what === 'type') {
      this.#remove(curl);
      this.#put(curl, { ...page, mimetype: page.mimetype === 'text/html' ? 'text/plain' : 'text/html' });
    } else if (what === 'browse') this.#put(curl, { ...page, burl: `https://browse/${number}/${words}` });
    else if (what === 'hide') this.#put(curl, { ...page, burl: '' });
    else if (what === 'purge') {
      this.#remove(curl);
      this.#cache.forgetDeletions();
    } else if (what === 'cursor') rmSync(this.#in('cursor'), { force: true });
    else {
      this.#cache.close();
      this.#cache = new TestCache();
      this.#pages.clear();
      this.#put(curl, page);
    }
  }

  /** One run of lccq. @returns its status, null after its kill */
  async run(batch: number, killed: string): Promise<number | null> {
    for (const name of ['lines', 'asked']) rmSync(this.#in(name), { force: true });
    const table = this.#in(this.#store.file);
    const isStep = killed.startsWith('cu.');
    const { status, signal, stderr } = runProgram(
      LCCQ,
      [
        `--cursor=${this.#in('cursor')}`,
        '--format=chunks',
        '--chunk-size=300',
        `--batch=${batch}`,
        '--stay',
        '--',
        process.execPath,
        `--import=${pathToFileURL(support('at-line.js')).href}`,
        ...this.#store.loader(table),
      ],
      {
        env: homeEnv(this.#cache.home, {
          LCC_TEST_LINES: this.#in('lines'),
          LCC_TEST_ASKED: this.#in('asked'),
          ...(isStep ? { LCC_CRASH_AT: killed } : { LCC_TEST_KILL: killed }),
        }),
      },
    );
    const linesOf = (name: string) =>
      existsSync(this.#in(name)) ? readFileSync(this.#in(name), 'utf8').split('\n').slice(0, -1) : [];
    const lines = linesOf('lines');
    const asked = linesOf('asked').map(line => JSON.parse(line) as string);
    if (status === 65) {
      assert.deepEqual([lines, asked], [[], []]);
      this.refused++;
      rmSync(this.#in('cursor'));
      return await this.run(batch, killed);
    }
    assert.equal(signal ?? '', signal === null ? '' : 'SIGKILL', stderr);
    // Lines come one after the other: a reader that died at one had taken all before it, and of that one nothing.
    const isReader = signal === null && status !== 0;
    if (isReader) assert.match(killed, /^(reader|asked):/, stderr);
    const last = isReader ? (lines.pop() ?? '') : undefined;
    const expected = lines.flatMap(line => this.#model.take(line));
    if (last !== undefined && killed.startsWith('asked:'))
      expected.push(
        ...this.#model.wanted(last).slice(0, Number(killed.slice('asked:'.length)) - expected.length),
      );
    assert.deepEqual(asked, expected, 'what the model is asked for');
    // Where nothing is new the program is not started, and what it keeps stays.
    this.#model.over(status === 0, stderr !== '');
    if (lines.length > 0)
      assert.deepEqual(
        shown(await this.#store.rows(table)),
        this.#model.rows(),
        'after each run, what was taken of it',
      );
    return status;
  }

  /** All that the pages are, without what is not to be seen. */
  async check(): Promise<void> {
    const ids = this.#cache.db.prepare<[], [string, number]>('SELECT curl, id FROM lccurl').raw().all();
    const docs = new Map(ids);
    const expected = [...this.#pages]
      .filter(([, { burl }]) => burl !== '')
      .flatMap(([curl, page]) =>
        textsOf(page).map((text, n) => ({
          doc: docs.get(curl) ?? 0,
          n,
          url: page.burl ?? curl,
          text,
          vector: vectorOf(text),
        })),
      )
      .sort((one, other) => one.doc - other.doc || one.n - other.n);
    const rows = shown(await this.#store.rows(this.#in(this.#store.file)));
    assert.deepEqual(
      rows.map(({ hash: _hash, ...row }) => row),
      expected,
    );
  }
}

async function lives(store: Store, runs: number, length: number): Promise<void> {
  const live = async (past: History) => {
    const life = new Life(store);
    try {
      for (const { changes, batch, kill: killed } of past) {
        for (const each of changes) life.change(each);
        if ((await life.run(batch, killed)) !== 0 && batch % 2 === 0)
          assert.equal(await life.run(batch, ''), 0);
      }
      assert.equal(await life.run(50, ''), 0);
      assert.equal(await life.run(50, ''), 0, 'nothing is left to be told');
      await life.check();
    } finally {
      life.close();
    }
  };
  // Each run is many processes: a counterexample as it was found is soon enough.
  await fc.assert(fc.asyncProperty(history(length), live), {
    numRuns: runs,
    endOnFailure: true,
    includeErrorInReport: true,
  });
}

for (const [name, store] of [
  ['SQLite', SQLITE],
  ['PostgreSQL', POSTGRES],
] as const)
  describe(`a table of vectors in ${name}`, () => {
    const [runs, length] = isLong ? [15, store === SQLITE ? 8 : 5] : [1, store === SQLITE ? 4 : 1];
    it('is after any history, whichever side is killed at any line, what the pages are', () =>
      lives(store, runs, length));

    const body = async () => {
      const life = new Life(store);
      const change = (what: Change['what'], page: number, words: Change['words'] = 'one') =>
        life.change({ what, page, words });
      try {
        for (const [i, words] of (['one', 'two', 'three', 'four'] as const).entries())
          change('add', i + 1, words);
        assert.equal(await life.run(50, ''), 0);
        change('purge', 4);
        // The writer dies between two batches: to the reader that looks like the end.
        assert.equal(await life.run(1, 'cu.cursor.advanced:1'), null);
        assert.equal(life.refused, 1);
        assert.notEqual(await life.run(1, 'reader:2'), 0);
        assert.equal(await life.run(1, ''), 0);
        assert.equal(life.refused, 1);
        await life.check();
      } finally {
        life.close();
      }
    };
    longIt(
      'is told all again after deletions that are forgotten: 65, and a kill on the way has nothing embedded that is kept',
      body,
      store === SQLITE,
    );
  });
