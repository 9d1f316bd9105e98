/** The lines of docs/guide/site.md, indexer.md and crawl.md, in their order, with a site on the loopback and a whole LCC. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Lcc } from '../support/lcc.js';
import { TestSite } from '../support/site.js';
import { readProjectFile, ROOT } from '../support/tree.js';

const guide = (name: string) => readProjectFile(`docs/guide/${name}.md`);

/** What is set off in a page: its blocks, and in them the commands, some of which take several lines. */
function commandsOf(page: string): string[] {
  return (page.match(/(?:^ {4}.*\n)+/gm) ?? []).flatMap(indented => {
    const block = indented.replace(/^ {4}/gm, '');
    return block.startsWith('cd ') ? [block] : block.split(/(?<![|\\])\n(?! )/).filter(line => line !== '');
  });
}

describe('the guide', () => {
  let site: TestSite;
  let lcc: Lcc;
  let docroot: string;

  before(async () => {
    site = await TestSite.listen();
    lcc = new Lcc(`${site.url}/`);
    docroot = join(lcc.dir, 'www');
    mkdirSync(docroot);
    mkdirSync(join(lcc.dir, 'bin'));
    writeFileSync(join(lcc.dir, 'bin/my-indexer'), '#!/bin/sh\nexec cat\n', { mode: 0o755 });
    if (spawnSync('sqlite3', ['-version']).error !== undefined) {
      const standIn = `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, 'examples/fts5/sqlite3.mjs')}' "$@"\n`;
      writeFileSync(join(lcc.dir, 'bin/sqlite3'), standIn, { mode: 0o755 });
    }
    Object.assign(lcc.env, { HOME: lcc.dir, PATH: `${join(lcc.dir, 'bin')}:${lcc.env['PATH']}` });
    await lcc.start();
  });
  after(async () => {
    await lcc?.remove();
    site?.close();
  });

  /** A page of the site, and its file. */
  const put = (name: string, content: string) => {
    site.pages.set(`/${name}`, content);
    writeFileSync(join(docroot, name), content);
  };
  /** Runs the command of a page that has these words, with the addresses and folders of the test. */
  const run = (page: string, words: string) => {
    const found = commandsOf(guide(page)).filter(command => command.includes(words));
    assert.equal(found.length, 1, `${page}: ${words}`);
    const [command = ''] = found;
    return lcc.sh(
      command
        .replace(/^(?:\S+ +){5}(?=cd |lccscan)/, '')
        .replaceAll(/https?:\/\/www\.example\.org\//g, `${site.url}/`)
        .replaceAll(/tls:lcc\.example\.org:9443|localhost:9000/g, lcc.uns)
        .replaceAll('~/.local/share/lcc', lcc.home)
        .replaceAll('/var/www', docroot),
    );
  };
  const succeeds = async (page: string, words: string) => {
    const { status, stdout, stderr } = await run(page, words);
    assert.equal(status, 0, `${page}: ${words}\n${stdout}${stderr}`);
    return { stdout, stderr };
  };
  const held = async () => (await lcc.run('lccq --format=urls | sort')).replaceAll(`${site.url}/`, '');

  it('has a site deliver, by hand and from cron', async () => {
    put('index.html', '<title>Start</title><p>spool');
    put('second.html', '<p>second');
    await succeeds('site', 'lccpidb add --pid=7');
    await succeeds('site', 'lccpidb passwd --pid=7');
    copyFileSync(join(lcc.dir, 'site.pwd'), join(lcc.dir, '.lcc-password'));
    const { stderr } = await succeeds('site', "file2url --find . -name '*.html' |\n");
    const [, recorded = ''] = /^```text\n([^]*?)^```$/m.exec(guide('site')) ?? [];
    const alike = (text: string) =>
      text.replace(/\S+ is not there/, 'FILE is not there').replace(/\d+/g, 'N');
    assert.equal(alike(stderr), alike(recorded));
    await lcc.idle();
    assert.equal(await held(), 'index.html\nsecond.html\n');

    put('third.html', '<p>third');
    rmSync(join(docroot, 'second.html'));
    assert.deepEqual(await succeeds('site', '*/15 * * * *'), { stdout: '', stderr: '' });
    await lcc.idle();
    assert.equal(await held(), 'index.html\nthird.html\n');
    assert.match((await succeeds('site', '--status')).stdout, /files: 2 used/);
  });

  it('has an indexer follow with a cursor', async () => {
    await succeeds('indexer', 'lccq --cursor=$HOME/index.cursor --format=fts5-sql');
    assert.equal((await succeeds('indexer', 'SELECT burl')).stdout, `${site.url}/index.html\n`);
    assert.match((await succeeds('indexer', '--since=2h')).stdout, /^delete\t\S+\/second\.html$/m);
    assert.match((await succeeds('indexer', 'my-indexer')).stdout, /"op":"upsert"/);
    assert.doesNotMatch((await succeeds('indexer', 'my-indexer')).stdout, /"op"/, 'its cursor has moved');
    assert.match((await succeeds('indexer', 'select furl')).stdout, /index\.html\|text\/html\|local\|/);
  });

  it('reads a sitemap and a feed', async () => {
    site.pages.set('/robots.txt', `Sitemap: ${site.url}/sitemap.xml\n`);
    site.pages.set('/listed.html', '<p>listed');
    site.pages.set('/news.html', '<p>news');
    site.pages.set(
      '/sitemap.xml',
      `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>${site.url}/listed.html</loc></url></urlset>`,
    );
    site.pages.set(
      '/feed.xml',
      `<rss version="2.0"><channel><title>t</title><item><link>${site.url}/news.html</link></item></channel></rss>`,
    );
    await succeeds('crawl', 'lccpidb add --pid=8');
    await succeeds('crawl', 'sitemap2url');
    await succeeds('crawl', 'feed2url');
    await lcc.idle();
    assert.equal(await lcc.run('lccq --pid=8 --count'), '2\n');
  });
});

describe('the guide on a crawl', () => {
  it('follows the links of a site, and asks for its pages again', async () => {
    const site = await TestSite.listen();
    const lcc = new Lcc(`${site.url}/`);
    try {
      site.pages.set('/', '<a href="a.html">a</a>');
      site.pages.set('/a.html', '<a href="b.html">b</a>');
      site.pages.set('/b.html', 'the last');
      site.pages.set('/robots.txt', '');
      await lcc.start();
      const [, section = ''] = /^## Neither: follow the links\n([^]*)/m.exec(guide('crawl')) ?? [];
      const lines = commandsOf(section).map(line =>
        line.replace('https://www.example.org/', `${site.url}/`).replace(/^(?:\S+ +){5}(?=lccscan)/, ''),
      );
      const [add = '', seed = '', follow = '', wait = '', urls = '', show = '', pace = '', ...scans] = lines;
      // A pause between two pages is not what is shown.
      const script = [add, pace, seed, follow, wait, 'kill %1', urls, show].join('\n');
      const { status, stdout, stderr } = await lcc.sh(script);
      assert.equal(status, 0, stderr);
      for (const page of ['/', '/a.html', '/b.html'])
        assert.ok(stdout.includes(`${site.url}${page}\n`), stdout);
      assert.equal(scans.length, 2);
      for (const scan of scans) await lcc.run(scan);
    } finally {
      await lcc.remove();
      site.close();
    }
  });
});
