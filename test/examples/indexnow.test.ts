/** examples/indexnow and the lines of docs/guide/push.md, as printed: with nginx in front that answers for a fixed name. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Authority } from '../fetch/authority.js';
import { freePort } from '../support/free-port.js';
import { Lcc } from '../support/lcc.js';
import { noNginx, startDocs, startSite, type DocsSite } from '../support/nginx.js';
import { readProjectFile, ROOT } from '../support/tree.js';
import { until } from '../support/until.js';

const KEY = '7f4e9c21d0b84a6f';
const EXAMPLES = join(ROOT, 'examples/indexnow');

describe('the example of IndexNow', { skip: noNginx }, () => {
  let site: DocsSite;
  let lcc: Lcc;
  let server: string;
  let host: string;

  before(async () => {
    site = await startDocs();
    host = new URL(site.url).host;
    const port = await freePort();
    server = `http://127.0.0.1:${port}`;
    lcc = new Lcc(
      site.url,
      `[rs]\nlisten = ["127.0.0.1:${port}"]\nurl = "${server}/"\nports = ["${site.port}"]\nproxies = ["127.0.0.1"]\n`,
    );
    await lcc.addProvider(7);
    await lcc.start();
    writeFileSync(join(site.docroot, `${KEY}.txt`), KEY);
    for (const name of ['a.html', 'b.html', 'news.html', 'c.html'])
      writeFileSync(join(site.docroot, name), name);
  });
  after(async () => {
    await lcc?.remove();
    await site?.stop();
  });

  const isHeld = (name: string) =>
    until(`${name} is held`, async () => (await lcc.holdings()).rows.some(row => row.startsWith(`${name} `)));
  /** A line of a page with the addresses of the test. */
  const here = (line: string) =>
    line
      .replaceAll('https://lcc.example.org', server)
      .replaceAll('http://www.example.org', site.url.replace(/\/$/, ''))
      .replaceAll('www.example.org', host);
  const linesOf = (page: string) =>
    (page.match(/(?:^ {4}.*\n)+/gm) ?? []).map(block => block.replace(/^ {4}/gm, '').trim());

  it('pushes urls by the script as its page prints it, and says when they are refused', async () => {
    const line =
      linesOf(readFileSync(join(EXAMPLES, 'README.md'), 'utf8')).find(one => one.includes('push.sh')) ?? '';
    const { status, stdout, stderr } = await lcc.sh(here(line), {}, EXAMPLES);
    assert.equal(status, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), { errorCode: 'Ok', message: '', accepted: 2, refused: 0 });
    await isHeld('a.html');
    await isHeld('b.html');
    const wrong = await lcc.sh(here(line).replace(KEY, 'another-key'), {}, EXAMPLES);
    assert.equal(wrong.status, 1);
    assert.match(wrong.stdout, /InvalidKey/);
  });

  it('pushes by the script more urls than an argument holds, and asks for nothing where there are none', async () => {
    const push = `sh push.sh ${server}/indexnow ${host} ${KEY}`;
    const long = `seq 2000 | sed 's|.*|${site.url}${'x'.repeat(80)}&.html|'`;
    const { status, stdout, stderr } = await lcc.sh(`${long} | ${push}`, {}, EXAMPLES);
    assert.equal(status, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), { errorCode: 'Ok', message: '', accepted: 2000, refused: 0 });
    const none = await lcc.sh(`printf '\\n\\n' | ${push}`, {}, EXAMPLES);
    assert.deepEqual([none.status, none.stdout, none.stderr], [0, '', '']);
    const spaced = await lcc.sh(`printf '%s\\n' '' ${site.url}a.html '' | ${push}`, {}, EXAMPLES);
    assert.deepEqual(JSON.parse(spaced.stdout), { errorCode: 'Ok', message: '', accepted: 1, refused: 0 });
  });

  it('takes what the lines of the guide push', async () => {
    const lines = linesOf(readProjectFile('docs/guide/push.md')).filter(one => one.includes('/indexnow'));
    const [one = '', many = ''] = lines.filter(line => line.startsWith('curl'));
    for (const line of [one, many]) {
      const { status, stdout, stderr } = await lcc.sh(here(line));
      assert.equal(status, 0, stderr);
      assert.deepEqual(JSON.parse(stdout), { errorCode: 'Ok', message: '', accepted: 1, refused: 0 }, line);
    }
    await isHeld('news.html');
    assert.match(await lcc.run('lccrs show --pid=7'), /^\d{4}-\d\d-\d\d +indexnow +\d+ sent/m);
  });

  it('answers for api.indexnow.org by the lines for nginx', async () => {
    const authority = new Authority();
    const [{ keyFile, certFile }, port] = [authority.issue('api.indexnow.org'), await freePort()];
    const block = readFileSync(join(EXAMPLES, 'nginx.conf'), 'utf8')
      .replace('listen 443', `listen 127.0.0.1:${port}`)
      .replace(/(?<=ssl_certificate )\S+(?=;)/, certFile)
      .replace(/(?<=ssl_certificate_key )\S+(?=;)/, keyFile)
      .replace('http://127.0.0.1:9080', server);
    const nginx = await startSite(site.docroot, join(lcc.dir, 'proxy'), { http: block });
    try {
      const urlList = [`${site.url}c.html`];
      const body = JSON.stringify({ host, key: KEY, urlList });
      const led = `--cacert ${authority.env['NODE_EXTRA_CA_CERTS'] ?? ''} --connect-to api.indexnow.org:443:127.0.0.1:${port}`;
      const said = await lcc.run(`curl -sS ${led} -d '${body}' https://api.indexnow.org/indexnow/`);
      assert.deepEqual(JSON.parse(said), { errorCode: 'Ok', message: '', accepted: 1, refused: 0 });
      await isHeld('c.html');
    } finally {
      await nginx.stop();
    }
  });
});
