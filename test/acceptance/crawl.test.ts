/** Sites that announce nothing, crawled by the commands of lcclinks(1) with real daemons, and what nginx was asked for. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openReadOnly } from '../../src/db/sqlite/open.js';
import { CrawlService, cursorOf } from '../support/crawl-service.js';
import { ODD_PATHS, oddPages, TRAP_LOCATIONS, TRAPS, treeOf, writePages } from '../support/crawl-site.js';
import { Lcc } from '../support/lcc.js';
import { noNginx, startSite, type Site } from '../support/nginx.js';
import { BOUND_MS, until } from '../support/until.js';

/** Pages of the site that is compared with wget. */
const PAGES = Number(process.env['LCC_TEST_CRAWL_PAGES'] ?? 40);
/** No more than what buffers between two sockets take is sent of it. */
const FILM_BYTES = 256 * 1024 * 1024;
const noWget =
  spawnSync('wget', ['--version']).error !== undefined && process.env['CI'] !== 'true' && 'no wget';

const SPECIAL = `
  location = /moved-1 { return 301 /moved-2; }
  location = /moved-2 { return 302 /moved-3.html; }
  location = /loop-1 { return 301 /loop-2; }
  location = /loop-2 { return 301 /loop-1; }
  location = /leaves { return 301 http://127.0.0.1:1/elsewhere; }
  location = /film.mp4 { access_log "@STATE@/film.log" sized; }
  location = /paper { types {} default_type application/pdf; }
  location = /robots/header.html { add_header X-Robots-Tag "noindex"; }
  location = /robots/nofollow-header.html { add_header X-Robots-Tag "otherbot: noindex, nofollow"; }
  location = /robots/ours.html { add_header X-Robots-Tag "nofollow"; }
`;
const PAGES_OF_CASES = {
  'cases.html': `<a href="/moved-1"><a href="/loop-1"><a href="/leaves"><a href="/paper"><a href="/film.mp4"><a href="/robots/index.html">`,
  'moved-3.html': '<a href="after-moved.html">',
  'after-moved.html': 'after',
  paper: '%PDF-1.4',
  'robots/index.html': `<a href="meta.html"><a href="header.html"><a href="nofollow-meta.html"><a href="nofollow-header.html"><a href="ours.html">
    <a rel="nofollow" href="no-1.html"><a rel="ugc" href="no-2.html"><a rel="sponsored" href="no-3.html">`,
  'robots/meta.html': '<meta name="robots" content="noindex"><a href="from-meta.html">',
  'robots/from-meta.html': 'x',
  'robots/header.html': '<a href="from-header.html">',
  'robots/from-header.html': 'y',
  'robots/nofollow-meta.html': '<meta name="robots" content="nofollow"><a href="no-4.html">',
  'robots/nofollow-header.html': '<a href="from-nofollow-header.html">',
  'robots/from-nofollow-header.html': 'z',
  'robots/ours.html': '<a href="no-5.html">',
  ...Object.fromEntries([1, 2, 3, 4, 5].map(n => [`robots/no-${n}.html`, 'no'])),
};

describe('a crawl', { skip: noNginx || noWget }, () => {
  let dir: string;
  let site: Site;
  let lcc: Lcc;
  let service: CrawlService;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'lcc-crawl-'));
    const docroot = join(dir, 'docs');
    writePages(docroot, { ...treeOf(PAGES), ...PAGES_OF_CASES, 'index.html': 'top' });
    site = await startSite(docroot, join(dir, 'nginx'), {
      server:
        TRAP_LOCATIONS +
        SPECIAL.replaceAll('; }', `; root "${docroot}"; }`).replace('@STATE@', join(dir, 'nginx')),
      http: "log_format sized '$status $body_bytes_sent';",
    });
    writeFileSync(join(docroot, 'film.mp4'), '');
    truncateSync(join(docroot, 'film.mp4'), FILM_BYTES);
    writePages(docroot, oddPages(site.url.slice(0, -1)));
    lcc = new Lcc(
      site.url,
      '[qm]\npace_ms = 0\n\n[uns]\nmime = ["text/*", "image/*", "application/*"]\n\n[links]\nmax_path_queries = 20\n',
    );
    await lcc.start();
    await lcc.run(`lccpidb add --pid=100 --root=${site.url} --spider=yes --pace=0 --priority=1 --parallel=8`);
    service = new CrawlService(lcc, ['--assets', '--max-hops=25']);
  });
  after(async () => {
    await service.stop();
    await lcc.remove();
    await site.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  /** Begins with paths of the site, and waits until nothing more comes. @returns what nginx was asked for meanwhile: `GET /path 200` */
  const crawled = async (...paths: string[]): Promise<string[]> => {
    await site.forgetRequests();
    await lcc.run(
      `printf '%s\\n' ${paths.map(path => `'${site.url.slice(0, -1)}${path}'`).join(' ')} | lcclinks --seeds --deliver`,
    );
    await done();
    return asked();
  };
  const done = () => lcc.run(`lccstat --until-idle=${(4 * BOUND_MS) / 1000} --cursor=links.cursor`);
  const asked = async () =>
    (await site.requests())
      .filter(line => !line.includes(' /robots.txt '))
      .map(line => line.replace(/ HTTP\/[\d.]+/, ''))
      .sort();
  const held = async () =>
    (await lcc.run('lccq --format=tsv --fields=furl'))
      .trim()
      .split('\n')
      .map(url => url.slice(site.url.length - 1));

  it('asks for what wget -m finds, each once, and holds it', async () => {
    const requests = await crawled('/tree/0/page-0.html');
    await site.forgetRequests();
    spawnSync('wget', ['-q', '-m', '-P', join(dir, 'wget'), `${site.url}tree/0/page-0.html`]);
    const ofWget = (await asked()).filter(line => line.startsWith('GET '));
    assert.ok(ofWget.length > PAGES);
    assert.deepEqual(requests, ofWget);
    assert.deepEqual(
      (await held()).sort(),
      ofWget.filter(line => line.endsWith(' 200')).map(line => line.split(' ')[1]),
    );
  });

  it('is of a provider without a password: nobody announces for it until it is given one', async () => {
    const announce = (password: string) =>
      lcc.sh(
        `echo '<?lcc?><url curl="${site.url}tree/0/page-0.html" mimetype="text/html"/><?lcc end?>' | LCC_PWD='${password}' lcccp --uns=${lcc.uns} --pid=100`,
      );
    assert.match(await lcc.run('lccpidb show --pid=100'), /^password: +none/m);
    for (const guess of ['none', 'x']) {
      const { status, stderr } = await announce(guess);
      assert.equal(status, 77, stderr);
      assert.match(stderr, /101/);
    }
    const password = (await lcc.run('lccpidb passwd --pid=100')).trim();
    const { status, stderr } = await announce(password);
    assert.equal(status, 0, stderr);
    assert.doesNotMatch(await lcc.run('lccpidb show --pid=100'), /^password:/m);
    await done();
  });

  it('asks for a link that leads nowhere once, however many pages have it', async () => {
    assert.equal((await lcc.run('lccq --format=urls | grep -c tree/.*html')).trim(), String(PAGES));
    assert.deepEqual(await crawled('/missing.html'), ['GET /missing.html 404']);
    await lcc.run('lccq | lcclinks --deliver --max-hops=25');
    await lcc.idle();
    assert.deepEqual(await asked(), ['GET /missing.html 404'], 'no link does');
  });

  it('asks for nothing when its cursor is removed', async () => {
    await service.stop();
    await site.forgetRequests();
    rmSync(cursorOf(lcc));
    service = new CrawlService(lcc, ['--assets', '--max-hops=25'], 7);
    await done();
    assert.deepEqual(await asked(), []);
  });

  it('finds links however they are written', async () => {
    const requests = await crawled('/odd/index.html');
    assert.deepEqual(
      requests,
      ODD_PATHS.map(path => `GET ${path} 200`),
    );
  });

  it('ends in every trap, and says its name', async () => {
    const requests = await crawled(...Object.keys(TRAPS));
    assert.ok(requests.length < 250, String(requests.length));
    assert.deepEqual(Object.keys(service.traps).sort(), Object.values(TRAPS).toSorted());
  });

  it('follows redirects as links: each url is asked once, and no page has two names', async () => {
    const requests = await crawled('/cases.html');
    assert.deepEqual(
      requests.filter(line => /moved|loop|leaves/.test(line)),
      [
        'GET /after-moved.html 200',
        'GET /leaves 301',
        'GET /loop-1 301',
        'GET /loop-2 301',
        'GET /moved-1 301',
        'GET /moved-2 302',
        'GET /moved-3.html 200',
      ],
    );
    assert.deepEqual((await held()).filter(path => /moved|loop|leaves/.test(path)).sort(), [
      '/after-moved.html',
      '/moved-3.html',
    ]);
  });

  it('holds content as the type that was served', async () => {
    const rows = (await lcc.run('lccq --format=tsv --fields=curl,mimetype')).split('\n');
    assert.ok(rows.includes(`${site.url}paper\tapplication/pdf`), rows.join('\n'));
  });

  it('reads no more than the header of a type that is not taken, and remembers that', async () => {
    const log = join(dir, 'nginx/film.log');
    await until('nginx has written it down', () => readFileSync(log, 'utf8') !== '');
    const [status, bytes] = readFileSync(log, 'utf8').trim().split(' ').map(Number);
    assert.equal(status, 200);
    assert.ok(Number(bytes) < FILM_BYTES / 4, `${bytes} of ${FILM_BYTES} bytes were on their way`);
    assert.ok(!(await held()).includes('/film.mp4'));
    const db = openReadOnly(join(lcc.home, 'lcc.db'));
    const known = db.prepare("SELECT code FROM known WHERE curl LIKE '%/film.mp4'").pluck().all();
    db.close();
    assert.deepEqual(known, [303]);
    assert.match(await lcc.run('lccq | lcclinks --assets --deliver --max-hops=25 -v 2>&1'), /pages/);
    await lcc.idle();
    assert.equal(readFileSync(log, 'utf8').trim().split('\n').length, 1);
  });

  it('obeys nofollow and noindex of meta elements, headers and links', async () => {
    const ofRobots = (await held()).filter(path => path.startsWith('/robots/')).sort();
    assert.deepEqual(
      ofRobots,
      [
        'from-header',
        'from-meta',
        'from-nofollow-header',
        'index',
        'nofollow-header',
        'nofollow-meta',
        'ours',
      ].map(name => `/robots/${name}.html`),
    );
    // What is not kept is not asked for again either.
    await site.forgetRequests();
    const url = `${site.url}robots/meta.html`;
    assert.match(
      await lcc.run(`(echo ${url} | lcclinks --seeds --deliver 2>&1; echo $?)`),
      /code 618.*\n.*\n1\n$/,
    );
    await lcc.idle();
    assert.deepEqual(await asked(), []);
  });

  it('asks for nothing when all of it is looked at again', async () => {
    await site.forgetRequests();
    await lcc.run('lccq | lcclinks --deliver --assets --max-hops=25');
    await lcc.idle();
    assert.deepEqual(await asked(), []);
  });
});
