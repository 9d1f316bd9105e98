/**
 * A tree of real documentation, found from its first page by its links, against programs that mirror. What was asked for is
 * compared in every round: the same pages as wget -m, each once. As in `line`, the LCC has been running: it has crawled the same
 * tree at another port before the clock starts.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/support/free-port.js';
import { startSite, type Site } from '../../test/support/nginx.js';
import { compare, removeAtEnd, requireProgram, shell, type Contender, type Outcome } from '../harness.js';
import { Crawler } from './service.js';

/** Of Debian's packages linux-doc and postgresql-doc: LCC_BENCH_TREE=postgresql is the small one. */
const TREES = { linux: /^linux-doc-\d/, postgresql: /^postgresql-doc-\d/ };
const TREE = (process.env['LCC_BENCH_TREE'] ?? 'linux') as keyof typeof TREES;
const DOCS = '/usr/share/doc';
/** As wget: rel=nofollow of single links is not obeyed, and Sphinx writes it at the source of each page. */
const OPTIONS = ['--assets', '--nofollow=page'];
const PARALLEL = 8;
const SCRAPY = join(dirname(fileURLToPath(import.meta.url)), '../../../bench/peers/scrapy_crawl.py');

export async function benchTree(): Promise<Outcome[]> {
  for (const [program, from] of Object.entries({
    nginx: 'nginx-light',
    wget: 'wget',
    wget2: 'wget2',
    scrapy: 'python3-scrapy',
  }))
    requireProgram(program, from);
  const docroot = treeOf(TREES[TREE]);
  const scratch = mkdtempSync(join(tmpdir(), 'lcc-bench-tree-'));
  const warmPort = await freePort();
  const site = await startSite(docroot, join(scratch, 'nginx'), {
    http: `server { listen 127.0.0.1:${warmPort}; access_log off; root "${docroot}"; }`,
  });
  try {
    const tree = new Tree(scratch, site, `http://127.0.0.1:${warmPort}/`);
    await tree.mirror();
    const amount = tree.wanted.length;
    const work = (how: string) =>
      `Crawl of ${TREE}-doc, ${amount.toLocaleString('en-US')} files, ${how}, from its first page to the last link`;
    return [
      await compare({
        work: work('one request at a time'),
        amount,
        unit: 'files',
        rounds: 3,
        ours: tree.lcc('lcc', 1),
        peers: [
          { contender: tree.peer('wget -m', 'wget -q -m -P w'), atLeast: 0.6 },
          {
            contender: {
              ...tree.peer('scrapy CrawlSpider', `scrapy runspider ${SCRAPY} -a out=w -a url=`),
              once: true,
            },
            atLeast: 6,
          },
        ],
      }),
      await compare({
        work: work(`${PARALLEL} requests at a time`),
        amount,
        unit: 'files',
        rounds: 3,
        ours: tree.lcc(`lcc, parallel ${PARALLEL}`, PARALLEL),
        peers: [
          {
            contender: tree.peer('wget2 -m', `wget2 -q -m --max-threads=${PARALLEL} -P w`),
            atLeast: 0.25,
          },
        ],
      }),
    ];
  } finally {
    await site.stop();
    removeAtEnd(scratch);
  }
}

function treeOf(name: RegExp): string {
  const found = existsSync(DOCS) ? readdirSync(DOCS).find(folder => name.test(folder)) : undefined;
  if (found === undefined) throw new Error(`${TREE}-doc is missing: apt-get install ${TREE}-doc`);
  return join(DOCS, found, 'html');
}

class Tree {
  readonly #scratch: string;
  readonly #site: Site;
  readonly #warm: string;
  #homes = 0;
  /** Paths that wget -m was given. */
  wanted: string[] = [];

  constructor(scratch: string, site: Site, warm: string) {
    this.#scratch = scratch;
    this.#site = site;
    this.#warm = warm;
  }

  async mirror(): Promise<void> {
    await this.#site.forgetRequests();
    // Its status is 8 where a link leads nowhere.
    spawnSync('wget', ['-q', '-m', '-P', 'first', `${this.#site.url}index.html`], { cwd: this.#scratch });
    this.wanted = found(await this.#site.requests());
  }

  /** A program that begins with the url at the end of its command line, and writes below `w`. */
  peer(name: string, command: string): Contender {
    const line = `${command}${command.endsWith('=') ? '' : ' '}${this.#site.url}index.html || test $? = 8`;
    return {
      ...shell(name, line, { cwd: this.#scratch }),
      // Renamed away, not deleted: deleting a tree just before making it again slows the making on ext4.
      prepare: () => void spawnSync('mv', ['w', `w.${this.#homes++}`], { cwd: this.#scratch }),
    };
  }

  lcc(name: string, parallel: number): Contender {
    let crawler: Crawler | undefined;
    return {
      name,
      prepare: async () => {
        crawler = await Crawler.start(join(this.#scratch, `home-${this.#homes++}`), OPTIONS);
        for (const [pid, root] of [this.#warm, this.#site.url].entries())
          crawler.run(
            `lccpidb add --pid=${pid + 1} --root=${root} --spider=yes --pace=0 --parallel=${parallel}`,
          );
        await crawler.crawl([`${this.#warm}index.html`]);
        await this.#site.forgetRequests();
      },
      run: async () => {
        if (crawler === undefined) throw new Error('prepare comes first');
        const seconds = await crawler.crawl([`${this.#site.url}index.html`]);
        const rssBytesOf = await crawler.lcc.rssBytes();
        this.#check(await this.#site.requests());
        const held = Number(crawler.run('lccq --pid=2 --count'));
        await crawler.stop();
        if (held !== this.wanted.length) throw new Error(`${held} of ${this.wanted.length} files are held`);
        return { seconds, maxRssBytes: Math.max(...Object.values(rssBytesOf)), rssBytesOf };
      },
    };
  }

  /** @throws Error where it is not what wget -m found, or something was asked for twice */
  #check(requests: string[]): void {
    const asked = requests.map(line => line.split(' ')[1] ?? '');
    const twice = asked.filter((path, i) => asked.indexOf(path) !== i);
    if (twice.length > 0) throw new Error(`asked for twice: ${twice.slice(0, 5).join(' ')}`);
    const ours = new Set(found(requests));
    const theirs = new Set(this.wanted);
    const missing = this.wanted.filter(path => !ours.has(path));
    const more = [...ours].filter(path => !theirs.has(path));
    if (missing.length + more.length > 0)
      throw new Error(
        `not found: ${missing.length} ${missing.slice(0, 5).join(' ')}; not found by wget: ${more.length} ${more.slice(0, 5).join(' ')}`,
      );
  }
}

/** Paths that were answered with content. */
function found(requests: string[]): string[] {
  return requests.flatMap(line => {
    const [method, path = '', , status] = line.split(' ');
    return method === 'GET' && status === '200' ? [path] : [];
  });
}
