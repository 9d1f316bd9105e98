/** Pages of providers and applicants in the states that an ordinary day does not show, looked at by axe in Chromium. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { chromium, type Browser } from 'playwright-core';
import { url } from '../qm/support.js';
import { NETWORK } from '../rs/account-scene.js';
import { ANN, waitingLink } from '../rs/mail-support.js';
import { MeScene, PASSWORD, PID, ROOT } from '../rs/me-scene.js';
import { freePort } from '../support/free-port.js';
import { longIt } from '../support/long.js';
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
    // Nobody is there: mails wait.
    scene = await MeScene.start(on, {
      'rs.smtp': `smtp://127.0.0.1:${await freePort()}`,
      'rs.mail_from': 'lcc@lcc.example.org',
      'rs.contact': 'lcc@example.org',
      'rs.pairs_per_network': '100',
    });
  });
  after(async () => {
    await browser?.close();
    await scene?.accounts.rs.mail.stop();
    await scene?.close();
  });

  /** Pages as they were answered; each has to say what is expected of it. */
  function album() {
    const seen = new Map<string, string>();
    const keep = (name: string, expected: RegExp, { html }: { html: string }) => {
      assert.match(html, expected, name);
      seen.set(name, html);
    };
    const problems = async () => {
      const [endpoint] = scene.pages.server.endpoints;
      assert.ok(endpoint?.kind === 'tcp');
      return pageProblems(browser, `http://127.0.0.1:${endpoint.port}/base/looked-at`, seen);
    };
    return { keep, problems };
  }

  it('have nothing that axe complains of: pairs in each state, a closed cache, what is not there', async () => {
    const { accounts, pages } = scene;
    const { rs } = accounts;
    const { keep, problems } = album();
    const pageOf = ({ capability }: { capability: string }) => pages.ask(`/base/pair/${capability}`);

    const slow = rs.issue('/slow/');
    const { answer } = rs.site;
    const held: (() => void)[] = [];
    rs.site.answer = (...asked) => void held.push(() => answer(...asked));
    const checked = accounts.prove(slow);
    keep('checking', /is being checked/, await pageOf(slow));
    accounts.isThere = false;
    rs.site.answer = answer;
    for (const each of held) each();
    await checked;
    keep('applying', /is being set up/, await pageOf(slow));
    keep('away', /Sorry/, await scene.get('/me'));
    accounts.isThere = true;
    accounts.deliver();
    keep('active', /is registered/, await pageOf(slow));
    const root = rs.registrar.issueRoot(PID, rs.site.urlOf('/more/'), NETWORK);
    await accounts.prove(root);
    keep('another directory', /The directory is yours/, await pageOf(root));

    rs.options.mode = 'approve';
    const school = rs.issue('/school/');
    await accounts.prove(school);
    keep('waiting', /waits for approval/, await pageOf(school));
    rs.transitions.refuse(rs.standing(school).id, 'it has pages of others');
    keep('refused', /It has pages of others/, await pageOf(school));
    const cancelled = rs.issue('/cancelled/');
    const { location } = await pages.ask(`/base/pair/${cancelled.capability}/cancel`, {});
    keep('cancelled', /cancelled/, await pages.ask(location));
    keep('over', /Sorry/, await pageOf(cancelled));

    rs.options.mode = 'closed';
    keep('closed', /New sites are not taken/, await pages.ask('/base/'));
    keep('closed, no form', /New sites are not taken/, await pages.ask('/base/register'));
    keep('closed, refused', /role="alert"/, await pages.ask('/base/register', { url: rs.site.urlOf('/') }));
    rs.options.mode = 'open';

    keep('no pair', /Sorry/, await pages.ask('/base/pair/none'));
    keep('nothing', /Sorry/, await pages.ask('/base/nothing'));
    keep('nothing of a provider', /Sorry/, await scene.get('/me/nothing'));
    keep('none of its directories', /Sorry/, await scene.get('/me/roots/remove?root=x'));
    assert.deepEqual(await problems(), []);
  });

  longIt('have nothing that axe complains of, light and dark, 1280, 768 and 320 px wide', async () => {
    const { site } = scene.accounts.rs;
    const { keep, problems } = album();
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
    keep('feeds', /No feed is listed/, await scene.get('/me/feeds'));
    const feed = { url: site.urlOf('/docs/feed'), every: 'often' };
    keep('feed refused', /id="every-wrong"/, await scene.post('/me/feeds', feed));
    keep('feed', /not yet/, await scene.follow(await scene.post('/me/feeds', { ...feed, every: '10min' })));
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
    assert.deepEqual(await problems(), []);
  });

  longIt(
    'have nothing that axe complains of: addresses that wait and are confirmed, links of mails, what was shown',
    async () => {
      const { accounts, pages } = scene;
      const { rs } = accounts;
      const { keep, problems } = album();
      keep('no address', /nobody/, await scene.get('/me/mail'));
      const give = async (email: string) => scene.follow(await scene.post('/me/mail', { email }));
      keep('address wrong', /id="email-wrong"/, await scene.post('/me/mail', { email: 'ann' }));
      keep('address waits', /Look into your mail/, await give(ANN));
      const confirm = `/base/confirm/${waitingLink(rs, 'confirm')}`;
      keep('confirm', /It is mine/, await pages.ask(confirm));
      keep('confirmed', /is confirmed/, await pages.ask((await pages.ask(confirm, {})).location));
      keep('confirmed already', /Sorry/, await pages.ask(confirm, {}));
      keep('address', /Send me no mail/, await scene.get('/me/mail'));
      keep('another address waits', /Waits for its link/, await give('bob@example.org'));

      keep('forgot', /By mail/, await pages.ask('/base/forgot'));
      keep('forgot, nobody', /id="who-wrong"/, await pages.ask('/base/forgot', { who: 'who?' }));
      const asked = await pages.ask('/base/forgot', { who: String(PID) });
      keep('asked', /Look into your mail/, await pages.ask(asked.location));
      await rs.mail.idle();
      const reset = `/base/reset/${waitingLink(rs, 'reset')}`;
      keep('reset', /Show another password/, await pages.ask(reset));
      rs.shown = { generation: 1 };
      const { location } = await pages.ask(reset, {});
      keep('password', /Your new password/, await pages.ask(location));
      keep('password, shown already', /Sorry/, await pages.ask(location));
      assert.deepEqual(await problems(), []);
    },
  );
});
