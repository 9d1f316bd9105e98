import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { HOSTILE_NAMES } from '../support/hostile-names.js';
import { type Lcc, startLcc } from '../support/lcc.js';
import { type DocsSite, noNginx, startDocs } from '../support/nginx.js';

const md5 = (data: Buffer) => createHash('md5').update(data).digest('hex');
const bytes = (name: string) => Buffer.from(name, 'latin1');

/** Parsed lines of `lccq --format=jsonl`. */
interface Row {
  op: 'upsert' | 'delete';
  curl: string;
  mimetype: string;
  md5?: string;
  file?: string;
  seq: number;
}

describe('the main line, from files on a site to an index', { skip: noNginx }, () => {
  let docroot: string;
  let site: DocsSite;
  let lcc: Lcc;

  before(async () => {
    site = await startDocs();
    ({ docroot } = site);
    mkdirSync(join(docroot, 'guide'), { recursive: true });
    for (const [index, name] of HOSTILE_NAMES.entries()) {
      writeFileSync(
        Buffer.concat([Buffer.from(`${docroot}/`), bytes(name)]),
        `content of name ${index}: ${index * 7919}`,
      );
    }
    writeFileSync(join(docroot, 'index.html'), '<html><title>Start</title><body>aardvark page</body></html>');
    for (let i = 0; i < 40; i++) {
      writeFileSync(
        join(docroot, 'guide', `page${i}.html`),
        `<html><title>Page ${i}</title><body>word${i} common</body></html>`,
      );
    }
    lcc = await startLcc(site.url);
  });
  after(async () => {
    await lcc.remove();
    await site.stop();
  });

  const send = () =>
    lcc.sh(
      `file2url --docroot '${docroot}' -0 < <(find '${docroot}' -type f -print0)` +
        ` | lcccpstate --statefile=state.txt` +
        ` | lcccp --uns=${lcc.uns} --pid=1 --urlprefix=${site.url}`,
    );
  const delivered = async () => {
    const result = await send();
    assert.equal(result.status, 0, result.stderr + result.stdout);
    await lcc.idle();
    return result;
  };
  const changes = async () => {
    const text = await lcc.run(`lccq --cursor=seen.cursor --format=jsonl -- cat`);
    return text
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as Row);
  };

  it('brings every file, whatever its name, into the store byte for byte', async () => {
    await delivered();
    const rows = await changes();
    assert.equal(rows.length, HOSTILE_NAMES.length + 41);
    const stored = new Map(rows.map(row => [row.curl.slice(site.url.length), row]));
    for (const [index, name] of HOSTILE_NAMES.entries()) {
      const path = [...stored.keys()].find(key => latin1Decoded(key) === name);
      assert.ok(path !== undefined, `name ${index} did not arrive: ${JSON.stringify(name)}`);
      const row = stored.get(path);
      const content = readFileSync(row?.file ?? '');
      assert.equal(content.toString(), `content of name ${index}: ${index * 7919}`);
      assert.equal(row?.md5, md5(content));
    }
  });

  it('sends nothing and fetches nothing when nothing has changed', async () => {
    await site.forgetRequests();
    const result = await delivered();
    assert.equal(result.stdout, '');
    assert.deepEqual(await site.requests(), []);
    assert.deepEqual(await changes(), []);
  });

  it('sends exactly what was changed, added and deleted, and the cursor shows exactly that', async () => {
    await site.forgetRequests();
    writeFileSync(
      join(docroot, 'index.html'),
      '<html><title>Start</title><body>bumblebee page</body></html>',
    );
    writeFileSync(
      join(docroot, 'guide/new page.html'),
      '<html><title>New</title><body>chameleon</body></html>',
    );
    rmSync(join(docroot, 'guide/page7.html'));
    await delivered();
    const rows = await changes();
    assert.deepEqual(rows.map(row => `${row.op} ${row.curl.slice(site.url.length)}`).sort(), [
      'delete guide/page7.html',
      'upsert guide/new%20page.html',
      'upsert index.html',
    ]);
    assert.deepEqual(
      new Set((await site.requests()).map(line => line.split(' ')[1])),
      new Set(['/guide/new%20page.html', '/index.html']),
    );
    assert.equal((await site.requests()).length, 2);
  });

  it('feeds an SQLite FTS5 index that answers with browse URLs, incrementally', async () => {
    const feed = 'lccq --cursor=fts.cursor --format=fts5-sql --mime=text/html -- sqlite3 -bail fts.db';
    await lcc.run(feed);
    const search = async (word: string) =>
      (
        await lcc.run(`sqlite3 fts.db "select burl from pages where pages match '${word}' order by burl"`)
      ).trim();
    assert.equal(await search('bumblebee'), `${site.url}index.html`);
    assert.equal(await search('aardvark'), '');
    assert.equal(await search('word7'), '');
    assert.equal(await search('chameleon'), `${site.url}guide/new%20page.html`);
    rmSync(join(docroot, 'guide/page8.html'));
    writeFileSync(join(docroot, 'index.html'), '<html><title>Start</title><body>dromedary</body></html>');
    await delivered();
    await lcc.run(feed);
    assert.equal(await search('word8'), '');
    assert.equal(await search('dromedary'), `${site.url}index.html`);
    assert.equal(await search('bumblebee'), '');
    await lcc.run(feed);
    assert.equal(await search('dromedary'), `${site.url}index.html`);
  });

  it("runs the documents' SQL as they print it", async () => {
    const rows = await lcc.run(
      `sqlite3 '${lcc.home}/lcc.db' "select furl, mimetype, fetched_machineid, fetched_fileid from lccurl where fetched_time > 0"`,
    );
    assert.ok(rows.includes(`${site.url}index.html|text/html|local|`), rows);
  });

  it('reports a url that cannot be fetched to its provider, once, in the next session', async () => {
    const send404 = `echo '<url curl="nowhere.html" mimetype="text/html"/>' | lcccp --uns=${lcc.uns} --pid=1 --urlprefix=${site.url}`;
    assert.equal((await lcc.sh(send404)).status, 0);
    await lcc.idle();
    const report = await lcc.sh(`lcccp --uns=${lcc.uns} --pid=1 --urlprefix=${site.url} </dev/null`);
    assert.match(report.stdout, /<url curl="[^"]*nowhere\.html"[^>]* code="404"[^>]*>/);
    assert.equal(report.status, 1);
    const again = await lcc.sh(`lcccp --uns=${lcc.uns} --pid=1 --urlprefix=${site.url} </dev/null`);
    assert.equal(again.stdout, '');
    assert.equal(again.status, 0);
  });

  it('finds everything again after a restart, and sends nothing twice', async () => {
    await lcc.stop();
    await lcc.start();
    await site.forgetRequests();
    await delivered();
    assert.deepEqual(await site.requests(), []);
    const count = (await lcc.run('lccq --count')).trim();
    assert.equal(count, String(HOSTILE_NAMES.length + 41 - 1));
  });

  it('removes what a full set does not name', async () => {
    const full = `find '${docroot}/guide' -type f -print0 | file2url -0 --docroot '${docroot}' | lcccp --uns=${lcc.uns} --pid=1 --urlprefix=${site.url} --set=full`;
    await lcc.run(full);
    await lcc.idle();
    assert.equal((await lcc.run('lccq --count --no-deleted')).trim(), '39');
  });
});

function latin1Decoded(path: string): string {
  return path.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}
