/** The page of docs/change-feed.md in Chromium, behind nginx as it is printed there. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { chromium } from 'playwright-core';
import { TestCache } from '../support/cache.js';
import { administer, startCu } from '../support/cu.js';
import { statusOf } from '../support/daemon.js';
import { noNginx, startSite } from '../support/nginx.js';
import { readProjectFile } from '../support/tree.js';
import { until } from '../support/until.js';

const CHROMIUM = '/usr/bin/chromium';
const skip = noNginx || (!existsSync(CHROMIUM) && process.env['CI'] !== 'true' && 'no chromium');
const blockOf = (language: string) => {
  const block = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(
    readProjectFile('docs/change-feed.md'),
  );
  return block?.[1] ?? assert.fail(`no ${language}`);
};

it(
  'a page shows each change as it is committed, and goes on after its connection was cut',
  { skip },
  async t => {
    const cache = new TestCache();
    const dir = mkdtempSync(join(tmpdir(), 'lcc-changes-'));
    const docroot = join(dir, 'docs');
    mkdirSync(docroot);
    t.after(() => {
      cache.close();
      rmSync(dir, { recursive: true, force: true });
    });
    const login = `search:${administer(cache, '--add-reader=search').trim()}`;
    const toml = '[cu]\nstream_ms = "3s"\n';
    const daemon = await startCu(cache, toml, '--http-listen=127.0.0.1:0');
    t.after(() => daemon.stop());
    const { http_listens: listens } = await statusOf(cache.home, 'lccd-cu');
    const location = blockOf('nginx')
      .replace('127.0.0.1:9011', String((listens as string[])[0]))
      .replace(/Basic [^"]*/, `Basic ${Buffer.from(login).toString('base64')}`);
    writeFileSync(join(docroot, 'index.html'), blockOf('html'));
    const site = await startSite(docroot, join(dir, 'nginx'), { server: location });
    t.after(() => site.stop());
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    t.after(() => browser.close());
    const page = await browser.newPage();
    cache.put({ curl: 'http://h/before' });
    await page.goto(`${site.url}index.html`);
    const streams = async () => Number((await statusOf(cache.home, 'lccd-cu'))['streams']);
    const shown = () => page.locator('#changes li').allTextContents();
    await until('it is connected', async () => (await streams()) === 1);
    cache.put({ curl: 'http://h/a' });
    await until('the first line', async () => (await shown()).length === 1);
    // Its stream ends after 3 s; the browser comes again by itself, with its last event.
    await until('the stream is over', async () => (await streams()) === 0);
    cache.put({ curl: 'http://h/b' });
    cache.remove('http://h/a');
    await until('what was committed meanwhile', async () => (await shown()).length === 3);
    assert.deepEqual(await shown(), ['upsert http://h/a', 'upsert http://h/b', 'delete http://h/a']);
  },
);
