import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { asText, runBinLater } from '../support/command.js';
import { TestSite } from '../support/site.js';
import { ROOT } from '../support/tree.js';

const dir = realpathSync(mkdtempSync(join(tmpdir(), 'sitemap2url-')));
after(() => rmSync(dir, { recursive: true, force: true }));

const env = { ...process.env, TMPDIR: dir, LCC_HOME: dir, LCC_CONFIG: '' };

const run = async (args: string[], input: string | Buffer = '') =>
  asText(await runBinLater('sitemap2url', args, { input, env, cwd: dir }));

const BEGIN = '<?lcc from="sitemap2url"?>\n';
const LINE = '<url curl="http://e/a?b&amp;c" mimetype="*/*"/>\n';
const SITEMAP = '<urlset><url><loc>http://e/a?b&amp;c</loc></url></urlset>';

test('files, the standard input and urls are read; no file is left behind', async () => {
  writeFileSync(join(dir, 'list'), gzipSync(SITEMAP));
  for (const [args, input] of [
    [['list'], ''],
    [[], SITEMAP],
    [['-'], SITEMAP],
  ] as [string[], string][]) {
    const done = await run(args, input);
    assert.deepEqual(done, {
      status: 0,
      stdout: `${BEGIN}${LINE}<?lcc end?>\n`,
      stderr: 'sitemap2url: 1 url of 1 document\n',
    });
  }
  assert.deepEqual(readdirSync(dir), ['list']);
  assert.equal((await run(['-q', 'list', '--state=new/state'])).status, 0);
});

test('killed while a long list comes, it leaves nothing in the folder of temporary files', async () => {
  const before = readdirSync(dir);
  const sent = new EventEmitter();
  const site = await TestSite.listen((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/xml' });
    response.write(
      `<urlset>${'<url><loc>http://e/a</loc></url>'.repeat(100_000)}`,
      () => void sent.emit('sent'),
    );
  });
  after(() => site.close());
  const isSent = once(sent, 'sent');
  const child = spawn(join(ROOT, 'bin/sitemap2url'), [`${site.url}/list`], {
    env,
    cwd: dir,
    stdio: 'ignore',
  });
  const ended = once(child, 'close');
  await isSent;
  child.kill('SIGKILL');
  assert.deepEqual(await ended, [null, 'SIGKILL']);
  assert.deepEqual(readdirSync(dir), before);
});

test('exit statuses', async () => {
  const site = await TestSite.listen((request, response) => {
    const status = Number(request.url?.slice(1)) || 404;
    response
      .writeHead(status)
      .end(status === 200 ? SITEMAP.replace('</urlset>', '<url><loc>x</loc></url></urlset>') : '');
  });
  after(() => site.close());
  const closed = await TestSite.listen();
  const { url: gone } = closed;
  closed.close();
  const cases: [string[], number, RegExp][] = [
    [[site.urlOf('/200')], 1, /200: x is no http or https url; left out/],
    [[site.urlOf('/200'), site.urlOf('/500')], 1, /500: the answer is status 500\n.*a part of the site/],
    [[site.urlOf('/404')], 66, /404: the answer is status 404/],
    [[site.urlOf('/503')], 75, /503: the answer is status 503/],
    [[site.urlOf('/429')], 75, /status 429/],
    [[site.urlOf('/500')], 69, /status 500/],
    [[`--site=${gone}/`], 69, /robots\.txt: refused: /],
    [['none.xml'], 66, /none\.xml: there is no such file/],
    [['.'], 66, /\.: it is a directory/],
    [['-'], 65, /standard input: it is empty/],
    [['--lastmod=x', 'list'], 64, /--lastmod=x: trust or ignore/],
    [['--revisit=1', 'list'], 64, /--revisit=1: give a time with its unit/],
    [['--type=x', 'list'], 64, /--type x/],
    [['--site=ftp://e/'], 64, /write http:\/\/host\//],
    [['-', '-'], 64, /can be read once/],
    [['--allow-address=x', 'list'], 64, /x/],
    [
      ['--state=/proc/none', 'list'],
      73,
      /\/proc\/none: no directory can be made here: there is no such file or directory; check the name\n/,
    ],
  ];
  for (const [args, status, message] of cases) {
    const done = await run(args);
    assert.equal(done.status, status, `${args.join(' ')}: ${done.stderr}`);
    assert.match(done.stderr, message);
    if (status > 1) assert.doesNotMatch(done.stdout, /<\?lcc end/);
  }
});
