import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { noApache, startApache, type ApacheSite } from '../support/apache.js';
import { Authority } from '../fetch/authority.js';
import { spawnBot, talk } from './lccbot.js';
import { newFolder } from '../fetch/support.js';

const PAGES = 40;

describe('a robot at Apache with HTTP/2', { skip: noApache }, () => {
  const authority = new Authority();
  const dir = newFolder();
  const docroot = join(dir, 'www');
  let site: ApacheSite;

  before(async () => {
    // Its workers are another user.
    chmodSync(dir, 0o755);
    mkdirSync(docroot);
    for (let n = 0; n < PAGES; n++) writeFileSync(join(docroot, `${n}.html`), `<p>page ${n}</p>`);
    const large = '<p>a page that is larger than any window of flow control</p>\n'.repeat(60_000);
    writeFileSync(join(docroot, 'large.html'), large);
    writeFileSync(join(docroot, 'small.html'), large.slice(0, 5000));
    writeFileSync(join(docroot, 'empty.html'), '');
    writeFileSync(join(docroot, 'noise.bin'), randomBytes(6_000_000));
    site = await startApache(
      docroot,
      join(dir, 'apache'),
      authority.issue(),
      `Redirect 301 /moved /1.html
H2MaxSessionStreams 5
H2WindowSize 65535
<Location /small.html>
  SetOutputFilter BROTLI_COMPRESS
</Location>
<Location /large.html>
  SetOutputFilter DEFLATE
</Location>`,
    );
  });
  after(() => site?.stop());

  const requestOf = (id: number, url: string, folder: string, more = '') =>
    `<fetch id="${id}" url="${url}" file="${join(folder, String(id))}" ${more}/>\n`;
  const resultsOf = (out: string, count: number) =>
    Array.from(
      { length: count },
      (_, id) => out.split('\n').find(line => line.startsWith(`<fetched id="${id}" `)) ?? '',
    );

  /** What the last pages were asked for with. */
  let protocols = new Set<string | undefined>();
  /** Fetches and compares with the files; results in the order of the names. */
  async function fetchAll(names: string[], http2 = true, root = site.url, more = ''): Promise<string[]> {
    const folder = newFolder();
    const config = join(folder, 'lcc.toml');
    writeFileSync(config, `[bot]\nhttp2 = ${http2}\n`);
    const input = names.map((name, id) => requestOf(id, root + name, folder, more)).join('');
    site.forgetRequests();
    const { out } = await talk(input, [`--config=${config}`, '--allow-address=::1'], authority.env);
    const results = resultsOf(out, names.length);
    const answered = results.filter(result => /status="(?:ok|unchanged)"| code="404"/.test(result)).length;
    protocols = new Set((await site.requests(answered)).map(line => line.split(' ').at(2)));
    names.forEach((name, id) => {
      if (!results[id]?.includes('status="ok"')) return;
      const expected = readFileSync(join(docroot, name === 'moved' ? '1.html' : name));
      assert.ok(readFileSync(join(folder, String(id))).equals(expected), name);
    });
    return results;
  }

  it('fetches page after page, in one lane and in many', async () => {
    const names = Array.from({ length: PAGES }, (_, n) => `${n}.html`);
    for (const lane of ['lane="1"', '']) {
      const results = await fetchAll(names, true, site.url, lane);
      for (const result of results) assert.match(result, /status="ok".* mimetype="text\/html"/);
      assert.deepEqual([...protocols], ['HTTP/2.0']);
      assert.equal((await site.requests(PAGES)).length, PAGES, 'nothing was asked twice');
    }
  });

  it('takes what is coded by its filters, empty, and larger than its windows', async () => {
    const names = ['small.html', 'large.html', 'empty.html', 'noise.bin', 'large.html', 'noise.bin'];
    const results = await fetchAll(names);
    for (const result of results) {
      assert.match(result, /status="ok"/);
      assert.doesNotMatch(result, /verified="no"/);
    }
    const wireBytes = results.map(result => Number(/wirebytes="(\d+)"/.exec(result)?.[1]));
    assert.ok((wireBytes[1] ?? Infinity) < 1_000_000, `${wireBytes.join()}: it travelled compressed`);
  });

  it('follows its redirects, believes its errors, finds what is unchanged', async () => {
    const [moved = '', missing = '', page = ''] = await fetchAll(['moved', 'missing', '0.html']);
    assert.match(moved, /status="ok".* furl="https:\/\/localhost:\d+\/1\.html"/);
    assert.match(missing, /code="404" reach="real"/);
    const mtime = / mtime="([^"]+)"/.exec(page)?.[1];
    assert.ok(mtime !== undefined);
    const [unchanged = ''] = await fetchAll(['0.html'], true, site.url, `mtime="${mtime}"`);
    assert.match(unchanged, /status="unchanged" http="304"/);
  });

  it('speaks HTTP/1.1 where it is told to, and over plain text, whatever upgrade is offered with the answer', async () => {
    for (const root of [site.url, site.plainUrl]) {
      const results = await fetchAll(['0.html', 'large.html', '1.html'], false, root, 'lane="1"');
      for (const result of results) assert.match(result, /status="ok"/);
      assert.deepEqual([...protocols], ['HTTP/1.1']);
    }
    const [plain = ''] = await fetchAll(['0.html'], true, site.plainUrl);
    assert.match(plain, /status="ok"/);
  });

  it('loses nothing to a graceful restart in the middle of many pages', async () => {
    const folder = newFolder();
    const bot = spawnBot(
      ['--stdio', '--allow-address=127.0.0.0/8', '--allow-address=::1', '--slots=8'],
      authority.env,
    );
    const { stdin, stdout } = bot.child;
    assert.ok(stdin !== null && stdout !== null);
    const count = 600;
    for (let id = 0; id < count; id++)
      stdin.write(requestOf(id, `${site.url}${id % PAGES}.html`, folder, `lane="${id % 8}"`));
    let restarts = 0;
    let results = 0;
    stdout.on('data', (chunk: Buffer) => {
      results += chunk.toString().split('<fetched ').length - 1;
      if (results < 200 * (restarts + 1) || restarts === 2) return;
      restarts++;
      site.restartGracefully();
    });
    stdin.end();
    const found = resultsOf(await bot.stdout, count);
    assert.equal(await bot.exited, 0);
    assert.equal(restarts, 2);
    for (const [id, result] of found.entries()) {
      assert.match(result, /status="ok"/);
      assert.equal(readFileSync(join(folder, String(id)), 'utf8'), `<p>page ${id % PAGES}</p>`);
    }
  });
});
