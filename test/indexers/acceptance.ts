/**
 * What every indexer fed by an LCC keeps, with the real programs: a site served by nginx, fetched by lccd, brought into
 * each index by its example under examples/. All go through the same changes.
 */
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { noNginx, startSite, type Site } from '../support/nginx.js';
import { type Lcc, startLcc } from '../support/lcc.js';
import { binDir } from '../support/shell.js';
import { isLong } from '../support/long.js';
import { readProjectFile, ROOT } from '../support/tree.js';
import { ADAPTERS, missing, type Adapter, type Family } from './adapters.js';

/** When all pages of the first load were made. */
const FIRST = new Date('2026-01-02T03:04:05Z');
const BEFORE = new Date('2020-01-02T03:04:05Z');
const LATER = new Date('2026-03-04T05:06:07Z');

/** Elements that parsers of HTML 4 do not know, and a bare ampersand. */
const HTML5 =
  '<!DOCTYPE html><html><head><title>html5</title></head>\n<body><header>Zoo & Co</header><nav><a href="/">Home</a></nav>' +
  '<main><article><p>Very long<wbr>word: okapi, plateau & wilderness</p></article></main><aside>axolotl</aside></body></html>\n';

let site: Site;
let lcc: Lcc;
let dir: string;
let docroot: string;

function write(name: string, words: string, at: Date): void {
  writePage(
    name,
    `<html><head><title>${name}</title></head>\n<body><p>${words} wilderness</body></html>\n`,
    at,
  );
}

function writePage(name: string, page: string, at: Date): void {
  writeFileSync(join(docroot, name), page);
  utimesSync(join(docroot, name), at, at);
}

/** Announces what the shell line writes as a partial set, and waits until all is fetched. */
async function announce(line: string): Promise<void> {
  await lcc.run(`cd '${docroot}'; ${line} | lcccp -q --uns=${lcc.uns} --pid=1 --urlprefix=${site.url}`);
  await lcc.idle();
}

class Index {
  readonly dir: string;
  readonly #example: string;
  readonly #adapter: Adapter;

  constructor(adapter: Adapter, dir = adapter.name) {
    this.#adapter = adapter;
    this.#example = join(ROOT, 'examples', adapter.name);
    this.dir = join(lcc.dir, dir);
    mkdirSync(this.dir);
  }

  /** The same indexer, without anything in its directory. */
  lost(): Index {
    return new Index(this.#adapter, `${this.#adapter.name}-lost`);
  }

  get cursor(): string {
    return join(this.dir, 'lcc.cursor');
  }

  cursorLine(): string | undefined {
    return existsSync(this.cursor) ? readFileSync(this.cursor, 'utf8') : undefined;
  }

  update(env: NodeJS.ProcessEnv = {}): ReturnType<Lcc['sh']> {
    return lcc.sh(`'${this.#example}/update' '${this.dir}'`, env);
  }

  async updateSilently(): Promise<void> {
    // What cron would mail.
    assert.deepEqual(await this.update(), { status: 0, stdout: '', stderr: '' });
  }

  /** Names of the pages found, below the site. */
  async found(word: string): Promise<string[]> {
    const { stdout } = await lcc.sh(this.#adapter.search, { W: word, EXAMPLE: this.#example }, this.dir);
    const urls = stdout.match(/http:\/\/127\.0\.0\.1:\d+\/[^\s"'<>\]]*/g) ?? [];
    return [...new Set(urls)].map(url => url.replace(site.url, '')).toSorted();
  }

  async finds(expected: Record<string, readonly string[]>): Promise<void> {
    const found: Record<string, string[]> = {};
    for (const word of Object.keys(expected)) found[word] = await this.found(word);
    assert.deepEqual(found, expected);
  }

  /**
   * Runs each command that the README prints for searching, as somebody who has set nothing but PATH.
   * @returns command lines and what they printed
   */
  async searchAsPrinted(): Promise<[command: string, printed: string][]> {
    const { name } = this.#adapter;
    const [, section = ''] =
      /^## Searching\n([\s\S]*?)^## /m.exec(readProjectFile(`examples/${name}/README.md`)) ?? [];
    const here = (line: string) =>
      line
        .replaceAll(`/var/lib/lcc-index/${name}`, this.dir)
        .replaceAll('/var/lib/lcc', lcc.home)
        .replaceAll('/opt/lcc', ROOT);
    const printed: [string, string][] = [];
    for (const [block] of section.matchAll(/^(?: {4}.*\n)+/gm)) {
      let exports = '';
      for (const line of here(block).replaceAll('\\\n', '').split('\n')) {
        if (line.trim().startsWith('export ')) exports += `${line};`;
        else if (line.includes('walrus') && !/^ *index\./.test(line))
          printed.push([line, await runAsPrinted(exports + line)]);
      }
    }
    return printed;
  }

  get resolves(): boolean {
    return this.#adapter.resolves ?? false;
  }

  get deja(): string {
    return this.#adapter.deja ?? 'déjà';
  }

  async stop(): Promise<void> {
    if (this.#adapter.stop !== undefined) await lcc.sh(this.#adapter.stop, {}, this.dir);
  }
}

async function runAsPrinted(line: string): Promise<string> {
  const { status, stdout, stderr } = await lcc.sh(`unset LCC_HOME LCC_PWD; ${line}`);
  assert.deepEqual({ line, status, stderr }, { line, status: 0, stderr: '' });
  return stdout;
}

let tried: readonly Adapter[] = [];
const indexes = new Map<string, Index>();

/** The same promise of every indexer. */
function each(promise: string, keeps: (index: Index) => Promise<void>): void {
  for (const adapter of tried) {
    it(`${adapter.name}: ${promise}`, { skip: missing(adapter) }, async () => {
      let index = indexes.get(adapter.name);
      if (index === undefined) indexes.set(adapter.name, (index = new Index(adapter)));
      await keeps(index);
    });
  }
}

/** The acceptance of the indexers of one family, with one LCC; each family has its own test file, for all take a minute. */
export function keepsItsPromises(family: Family): void {
  tried = ADAPTERS.filter(adapter => adapter.family === family && (isLong || adapter.often === true));
  describe('an index fed by an LCC', { skip: noNginx }, () => {
    before(async () => {
      dir = mkdtempSync(join(tmpdir(), 'lcc-indexers-'));
      docroot = join(dir, 'site');
      mkdirSync(docroot);
      site = await startSite(docroot, join(dir, 'nginx'));
      lcc = await startLcc(site.url);
      write('untouched.html', 'walrus mountain', FIRST);
      write('changed.html', 'penguin river', FIRST);
      write('deleted.html', 'hippopotamus meadow', FIRST);
      write('déjà.html', 'd&eacute;j&agrave; quokka', FIRST);
      write('same.html', 'ferret valley', FIRST);
      write('older.html', 'marmoset island', FIRST);
      write('moved.html', 'giraffe savanna', FIRST);
      writePage('html5.html', HTML5, FIRST);
      await announce('file2url --md5 -- *.html');
    });
    after(async () => {
      for (const index of indexes.values()) await index.stop();
      await lcc.remove();
      await site.stop();
      rmSync(dir, { recursive: true });
    });

    describe('at the first load', () => {
      each('finds each word at exactly its browse URL', async index => {
        await index.updateSilently();
        await index.finds({
          walrus: ['untouched.html'],
          penguin: ['changed.html'],
          hippopotamus: ['deleted.html'],
          giraffe: ['moved.html'],
          okapi: ['html5.html'],
          // In an `<aside>`, outside the main text.
          axolotl: ['html5.html'],
          ostrich: [],
        });
      });

      each('is searched by the lines that its README prints', async index => {
        const printed = await index.searchAsPrinted();
        assert.ok(printed.length > 0);
        for (const [line, text] of printed) assert.match(text, /untouched\.html/, line);
      });

      each('finds déjà at its percent-encoded browse URL', async index => {
        await index.finds({ [index.deja]: ['d%C3%A9j%C3%A0.html'], quokka: ['d%C3%A9j%C3%A0.html'] });
      });
    });

    describe('after changes', () => {
      before(async () => {
        write('changed.html', 'ostrich river', LATER);
        write('added.html', 'armadillo desert', LATER);
        // New content with the date of the old one, or an older date.
        write('same.html', 'weasel valley', FIRST);
        write('older.html', 'capybara island', BEFORE);
        await announce('file2url --md5 -- added.html changed.html older.html same.html');
        const moved = `burl="${site.url}now-here.html" mtime="2026-01-02T03:04:05Z"`;
        const elements =
          '<url curl="deleted.html" mimetype="text/html" op="delete"/>' +
          `<url curl="moved.html" mimetype="text/html" ${moved}/>`;
        await announce(`printf %s '${elements}'`);
      });

      const now = {
        ostrich: ['changed.html'],
        penguin: [],
        armadillo: ['added.html'],
        hippopotamus: [],
        walrus: ['untouched.html'],
        weasel: ['same.html'],
        ferret: [],
        capybara: ['older.html'],
        marmoset: [],
        giraffe: ['now-here.html'],
      };

      each('keeps the old index and the old cursor when the stream is killed half-way', async index => {
        const cursor = index.cursorLine();
        const { status } = await index.update({ PATH: `${killing()}:${lcc.env['PATH']}` });
        assert.notEqual(status, 0);
        assert.ok(existsSync(join(lcc.dir, 'killed')), 'the stream was not killed');
        assert.equal(index.cursorLine(), cursor);
        await index.finds({
          walrus: ['untouched.html'],
          penguin: index.resolves ? [] : ['changed.html'],
          armadillo: [],
        });
      });

      each(
        'finds the new text, not the old one nor the deleted page, whatever dates pages have',
        async index => {
          const cursor = index.cursorLine();
          cpSync(index.cursor, `${index.cursor}.before`);
          await index.updateSilently();
          assert.notEqual(index.cursorLine(), cursor);
          await index.finds(now);
        },
      );

      each('is the same after the same changes once more', async index => {
        const cursor = index.cursorLine();
        cpSync(`${index.cursor}.before`, index.cursor);
        await index.updateSilently();
        assert.equal(index.cursorLine(), cursor);
        await index.finds(now);
      });

      each('refuses to leave a gap when the index is lost but not its cursor', async index => {
        const lost = index.lost();
        cpSync(`${index.cursor}.before`, lost.cursor);
        const { status, stderr } = await lost.update();
        assert.notEqual(status, 0);
        assert.match(stderr, /to load (it|everything) again/);
        assert.equal(lost.cursorLine(), readFileSync(`${index.cursor}.before`, 'utf8'));
      });

      each('takes nothing for a change when there is none', async index => {
        await index.updateSilently();
        await index.finds({ ostrich: ['changed.html'], walrus: ['untouched.html'] });
      });
    });

    describe('loaded anew, without its cursor', () => {
      each('has forgotten what is gone', async index => {
        cpSync(index.cursor, `${index.cursor}.before`);
        await lcc.run(`rm '${index.cursor}'`);
        await index.updateSilently();
        await index.finds({
          ostrich: ['changed.html'],
          penguin: [],
          hippopotamus: [],
          giraffe: ['now-here.html'],
        });
      });
    });
  });
}

/** A directory whose `lccq` writes half of its stream and is killed: what `kill -9` leaves to the reader. */
function killing(): string {
  const directory = join(lcc.dir, 'killing');
  mkdirSync(directory, { recursive: true });
  writeFileSync(
    join(directory, 'lccq'),
    `#!/bin/bash
args=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do args+=("$1"); shift; done
shift
stream=$(mktemp)
'${binDir}/lccq' "\${args[@]}" >"$stream" || exit
rm -f lcc.cursor.next
[ $# -gt 0 ] || set -- cat
head -c $(($(stat -c %s "$stream") / 2)) "$stream" | "$@"
rm "$stream"
touch '${lcc.dir}/killed'
kill -9 $$
`,
    { mode: 0o755 },
  );
  return directory;
}
