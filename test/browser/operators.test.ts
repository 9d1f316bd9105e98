/** The operators' pages of a whole LCC in Chromium without JavaScript, looked at by axe; and the examples of docs/frontdoor-api.md. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { chromium, type Browser } from 'playwright-core';
import { startOperators, type Applicant, type OperatorScene } from '../support/operator-scene.js';
import { noNginx } from '../support/nginx.js';
import { pageProblems } from '../support/page-problems.js';
import { readProjectFile } from '../support/tree.js';
import { until } from '../support/until.js';

const CHROMIUM = '/usr/bin/chromium';
const skip = noNginx || (!existsSync(CHROMIUM) && process.env['CI'] !== 'true' && 'no chromium');

describe('the operators of a whole LCC', { skip }, () => {
  let browser: Browser;
  let scene: OperatorScene;
  let town: Applicant;
  before(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    scene = await startOperators('series_ms = 200\n');
    town = await scene.applicant('town', 30, '20KB');
    await scene.approve(town);
    await scene.deliver(town, 3);
  });
  after(async () => {
    await browser?.close();
    await scene?.end();
  });

  it('see queue, machines and sites that wait, and decide, without JavaScript; axe finds nothing', async () => {
    const { operators, lcc } = scene;
    const school = await scene.applicant('school', 2);
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    const said: string[] = [];
    page.on('console', message => said.push(message.text()));
    const pages = new Map<string, string>();
    const look = async (path: string) => {
      await page.goto(operators + path);
      const html = await page.content();
      pages.set(path, html);
      return html;
    };
    // Without the page, which looks again by itself, and would do so meanwhile.
    const isSeen = async (path: string, state: string) =>
      (await (await context.request.get(operators + path)).text()).includes(`>${state}<`);
    await look('');
    assert.match(page.url(), /\/op\/login$/);
    await page.fill('#name', 'ada');
    await page.fill('#password', scene.password);
    await page.click('main button');
    await until('the graphs have rates', async () =>
      /Fetched a second[^]*stored<\/span>\s+<b>\d/.test(await look('/graphs')),
    );
    assert.match(await look(''), /1 site waits for approval[^]*\/town\/[^]*1 set, the newest at the right/);
    assert.match(await look('/queue'), new RegExp(`providers/${town.pid}"`));
    assert.match(await look('/daemons'), /lccd-uns[^]*connected[^]*Disks of stores/);
    assert.match(await look('/providers?search=town'), /\/town\//);
    assert.match(await look(`/providers/${town.pid}`), /registered by itself[^]*1 list, the newest first/);
    assert.match(await look(`/providers/${town.pid}/errors`), /3 errors[^]*30\.html/);
    assert.match(await look('/applications'), /\/school\//);
    await look('/refusals');
    await look('/audit');
    assert.match(await look('/nothing'), /There is nothing here/);

    await look(`/applications/${school.id}`);
    await page.fill('#filesmax', '2000000');
    await page.click('button:text-is("Approve")');
    assert.match((await page.textContent('[role=alert]')) ?? '', /more than an approval may give/);
    pages.set('refused', await page.content());
    await page.fill('#filesmax', '20000');
    await page.click('button:text-is("Approve")');
    await until('the school is a provider', () => isSeen(`/applications/${school.id}`, 'active'));
    assert.match(await lcc.run(`lccpidb show --pid=${school.pid}`), /20000/);

    await look(`/providers/${town.pid}`);
    await page.click('summary');
    await page.fill('#filesmax', '12345');
    await page.fill('#terms-reason', 'it grows');
    await page.click('button:text-is("Change")');
    await until('the town has room', () => isSeen(`/providers/${town.pid}`, 'of 12,345'));
    await look(`/providers/${town.pid}`);
    await page.fill('#reason', 'its owner asked for it');
    await page.click('button:text-is("Pause")');
    await until('the town is paused', () => isSeen(`/providers/${town.pid}`, 'paused'));
    assert.match(await lcc.run('lccrs audit'), /pause by operator[^\n]*ada: its owner asked for it/);
    await look(`/providers/${school.pid}`);
    await page.fill('#reason', 'it announces what is not its own');
    await page.click('button:text-is("Disable")');
    await until('the school is disabled', () => isSeen(`/providers/${school.pid}`, 'disabled'));
    assert.match(await lcc.run(`lccpidb show --pid=${school.pid}`), /^enabled: +no$/m);
    await look(`/providers/${school.pid}`);
    await page.fill('#reason', 'it has mended that');
    await page.click('button:text-is("Enable")');
    await until('the school is enabled', () => isSeen(`/providers/${school.pid}`, 'enabled'));
    assert.deepEqual(
      said.filter(text => !/\b(?:400|404)\b/.test(text)),
      [],
    );
    assert.deepEqual(await pageProblems(browser, `${operators}/looked-at`, pages), []);
  });

  it('have an API whose examples are answered as docs/frontdoor-api.md has them', async () => {
    const { operators, password, lcc } = scene;
    const { id } = await scene.applicant('museum', 1, '500KB');
    const [, text = ''] = readProjectFile('docs/frontdoor-api.md').split('\n## Operators\n');
    const blocks = text.match(/^ {4}(?:curl .*|\{.*\}|\{[^]*?^ {4}\})$/gm) ?? [];
    let answer: unknown;
    let compared = 0;
    for (const block of blocks) {
      const line = block.replace(/^ {4}/gm, '');
      if (line.startsWith('curl')) {
        const command = line
          .replaceAll('$OP', operators.replace(/\/op$/, ''))
          .replaceAll('$PASSWORD', password)
          .replaceAll('$ID', String(id));
        answer = JSON.parse(await lcc.run(command));
      } else {
        assertShaped(answer, JSON.parse(line), line);
        compared++;
      }
    }
    assert.equal(compared, 17);
  });
});

/** That what is shown has the members of what came, all the way down; of lists the first, where there is one. */
function assertShaped(came: unknown, shown: unknown, where: string): void {
  if (Array.isArray(shown)) {
    assert.ok(Array.isArray(came), where);
    if (came.length > 0 && shown.length > 0) assertShaped(came[0], shown[0], where);
  } else if (typeof shown === 'object' && shown !== null) {
    const has = Object.keys(Object(came) as object);
    const isWhole = Object.keys(shown).length > 1;
    for (const [name, value] of Object.entries(shown)) {
      assert.ok(has.includes(name), `${name} is missing in ${JSON.stringify(came).slice(0, 300)}: ${where}`);
      // Which figures there are depends on the daemon.
      if (name !== 'figures') assertShaped((came as Record<string, unknown>)[name], value, where);
    }
    if (isWhole) assert.deepEqual(has.toSorted(), Object.keys(shown).toSorted(), where);
  }
}
