import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Lcc, startLcc } from '../support/lcc.js';
import { type DocsSite, noNginx, startDocs } from '../support/nginx.js';

/** All of them is what the long set takes. */
const isWhole = process.env['LCC_TEST_TREES'] === 'whole';
/** Documentation trees of Debian packages openjdk-17-doc and linux-doc, or a part of each. */
const TREES = [
  {
    name: 'java',
    source: '/usr/share/doc/openjdk-17-jre-headless/api',
    part: isWhole ? '' : 'java.base',
    atLeast: isWhole ? 10_000 : 2000,
  },
  {
    name: 'linux',
    source: '/usr/share/doc/linux-doc-6.1',
    part: isWhole ? '' : 'html',
    atLeast: isWhole ? 10_000 : 5000,
  },
];
const missing = TREES.filter(tree => !existsSync(tree.source)).map(tree => tree.source);
const skip =
  noNginx ||
  (missing.length > 0 &&
    process.env['CI'] !== 'true' &&
    `no ${missing.join(', ')} (openjdk-17-doc, linux-doc)`);

describe('the documentation trees of openjdk-17-doc and linux-doc, served by nginx', { skip }, () => {
  let docroot: string;
  let site: DocsSite;
  let lcc: Lcc;
  let files: string[];

  before(async () => {
    site = await startDocs();
    ({ docroot } = site);
    for (const { name, source, part } of TREES)
      cpSync(join(source, part), join(docroot, name, part), { recursive: true, dereference: true });
    lcc = await startLcc(site.url);
    files = (await lcc.run(`cd '${docroot}' && find . -type f | sort`))
      .trim()
      .split('\n')
      .map(name => name.slice(2));
  });
  after(async () => {
    await lcc.remove();
    await site.stop();
  });

  /** The pipeline of the manual; resolves with what lcccp said. */
  const deliver = async () => {
    const result = await lcc.sh(
      `find '${docroot}' -type f | file2url --docroot '${docroot}' | lcccpstate --statefile=state.txt | lcccp --uns=${lcc.uns} --pid=1 --urlprefix=${site.url}`,
    );
    assert.equal(result.status, 0, result.stderr + result.stdout.slice(0, 4000));
    await lcc.idle(300);
    return result;
  };
  const shown = async () =>
    (await lcc.run('lccq --cursor=seen --format=tsv --fields=op,curl -- cat'))
      .split('\n')
      .filter(line => /^(upsert|delete)\t/.test(line));

  it('arrive whole: every stored file equals its source', async () => {
    await deliver();
    assert.ok(files.length > TREES.reduce((sum, tree) => sum + tree.atLeast, 0), `${files.length} files`);
    const rows = (await lcc.run('lccq --format=jsonl')).trim().split('\n');
    assert.equal(rows.length, files.length);
    const sums = new Map<string, string>();
    for (const line of rows) {
      const row = JSON.parse(line) as { curl: string; md5: string; file: string };
      const sum = createHash('md5').update(readFileSync(row.file)).digest('hex');
      assert.equal(sum, row.md5, row.curl);
      sums.set(decodeURIComponent(row.curl.slice(site.url.length)), sum);
    }
    for (const name of files) {
      assert.equal(
        sums.get(name),
        createHash('md5')
          .update(readFileSync(join(docroot, name)))
          .digest('hex'),
        name,
      );
    }
    assert.equal((await shown()).length, files.length);
  });

  it('are not sent and not fetched a second time', async () => {
    await site.forgetRequests();
    await deliver();
    assert.deepEqual(await site.requests(), []);
    assert.deepEqual(await shown(), []);
  });

  it('after changing 100, adding 50 and deleting 50 files exactly 200 are sent, and the cursor shows exactly those', async () => {
    const expected: string[] = [];
    // These trees hold no name that reads differently once decoded.
    const url = (name: string) => site.url + name;
    for (let i = 0; i < 150; i++) {
      const name = files[Math.floor((i * files.length) / 150)] ?? '';
      if (i % 3 === 0) rmSync(join(docroot, name));
      else
        writeFileSync(
          join(docroot, name),
          Buffer.concat([readFileSync(join(docroot, name)), Buffer.from(`\n<!-- change ${i} -->\n`)]),
        );
      expected.push(`${i % 3 === 0 ? 'delete' : 'upsert'}\t${url(name)}`);
    }
    for (let i = 0; i < 50; i++) {
      const name = `linux/added-${i}.html`;
      writeFileSync(
        join(docroot, name),
        `<html><title>Added ${i}</title><body>quokka${i} was added</body></html>`,
      );
      expected.push(`upsert\t${url(name)}`);
    }
    await site.forgetRequests();
    const delta = await lcc.run(
      `find '${docroot}' -type f | file2url --docroot '${docroot}' | lcccpstate --statefile=state.txt | grep -c '^<url '`,
    );
    assert.equal(delta.trim(), '200');
    await deliver();
    assert.equal((await site.requests()).length, 150);
    const byText = (a: string, b: string) => (a < b ? -1 : 1);
    assert.deepEqual((await shown()).map(decodeURIComponent).sort(byText), expected.sort(byText));
  });

  it('are found in an FTS5 index under their browse URLs', async () => {
    // A part of each: the text of all pages takes minutes to make.
    for (const part of ['linux/added', 'java/java.base/java/util/'])
      await lcc.run(
        `lccq --cursor=fts-${part.slice(0, 4)} --prefix=${site.url}${part} --format=fts5-sql --mime=text/html -- sqlite3 -bail fts-${part.slice(0, 4)}.db`,
      );
    const found = await lcc.run(`sqlite3 fts-linu.db "select burl from pages where pages match 'quokka7'"`);
    assert.equal(found.trim(), `${site.url}linux/added-7.html`);
    const java = await lcc.run(
      `sqlite3 fts-java.db "select burl from pages where pages match 'NavigableMap' order by rank limit 200"`,
    );
    assert.match(java, /java\/java\.base\/java\/util\/NavigableMap\.html/);
  });
});
