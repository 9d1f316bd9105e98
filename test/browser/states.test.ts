/** Pages of providers and applicants in the states that an ordinary day does not show, looked at by axe in Chromium. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { chromium, type Browser } from 'playwright-core';
import { url } from '../qm/support.js';
import { MeScene, PASSWORD, PID, ROOT } from '../rs/me-scene.js';
import { pageProblems } from '../support/page-problems.js';
import { ground } from '../web/support.js';

const CHROMIUM = '/usr/bin/chromium';
const skip = !existsSync(CHROMIUM) && process.env['CI'] !== 'true' && 'no chromium';
const on = ground({ after });

describe('pages in rare states', { skip }, () => {
  let browser: Browser;
  let scene: MeScene;
  before(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    scene = await MeScene.start(on);
  });
  after(async () => {
    await browser?.close();
    await scene?.close();
  });

  it('have nothing that axe complains of, light and dark, 1280 and 320 px wide', async () => {
    const { site } = scene.accounts.rs;
    const seen = new Map<string, string>();
    const keep = (name: string, expected: RegExp, { html }: { html: string }) => {
      assert.match(html, expected, name);
      seen.set(name, html);
    };
    await scene.qm.send(PID, [url(`${ROOT}a`), url(`${ROOT}b`)]);
    scene.qm.fetch(PID, `${ROOT}a`);
    scene.fail(12, [404, 604, 203]);
    const urls = [`${ROOT}a`, `${ROOT}b`, `${ROOT}d0/p0.html`, `${ROOT}never`].join('\n');
    const query = (name: string, value: string) => `?${name}=${encodeURIComponent(value)}`;
    keep('errors', /code 604/, await scene.get('/me/errors'));
    keep('receipts', /kept[^]*waits[^]*not known/, await scene.get(`/me/receipts${query('urls', urls)}`));
    const removal = `/me/roots/remove${query('root', ROOT)}`;
    keep('removal', /Take it off/, await scene.get(removal));
    const miscounted = { root: ROOT, password: PASSWORD, urls: '7' };
    keep('removal refused', /id="urls-wrong"/, await scene.post('/me/roots/remove', miscounted, removal));
    const much = { bandwidth: 'much', hours: '0-5', zone: '' };
    keep('terms wrong', /id="bandwidth-wrong"/, await scene.post('/me/terms', much));
    const hours = { bandwidth: '100KB', hours: '0-7,22-23', zone: 'Asia/Kolkata' };
    keep('terms', /class="hours"/, await scene.follow(await scene.post('/me/terms', hours)));
    keep(
      'leave refused',
      /id="password-wrong"/,
      await scene.post('/me/leave', { password: 'no', urls: '1' }),
    );
    keep('confirm', /It is mine/, await scene.pages.ask('/base/confirm/0'));
    const ask = (number: string, of: string) => scene.pages.ask('/base/forgot/file', { number, url: of });
    keep('forgot wrong', /id="number-wrong"/, await ask('ann', ROOT));
    const asked = await ask(String(PID), site.urlOf('/docs/'));
    keep('reset', /Keep this now/, await scene.follow(asked));
    await scene.pages.ask(`${asked.location}/check`, {});
    keep('reset, no file', /role="alert"/, await scene.follow(asked));
    await scene.post('/me/password', { password: PASSWORD });
    const shown = await scene.get('/me/password');
    keep('new password', /Your new password/, shown);
    const [, password = ''] = /<dt>Password<\/dt>\s*<dd class="mono">([\w-]{27})</.exec(shown.html) ?? [];
    const leaves = await scene.post('/me/leave', { password, urls: '1' });
    keep('leaving', /Stay after all/, await scene.follow(leaves));
    keep('me leaving', /You are leaving/, await scene.get('/me'));

    const [endpoint] = scene.pages.server.endpoints;
    assert.ok(endpoint?.kind === 'tcp');
    const where = `http://127.0.0.1:${endpoint.port}/base/looked-at`;
    assert.deepEqual(await pageProblems(browser, where, seen), []);
  });
});
