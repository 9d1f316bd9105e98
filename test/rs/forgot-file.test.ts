/** A lost password is replaced by a file in every directory: /forgot as a browser without JavaScript sees it. */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import { ground } from '../web/support.js';
import { MeScene, PASSWORD, PID, ROOT } from './me-scene.js';

const on = ground({ after });
let scene: MeScene;
beforeEach(async () => (scene = await MeScene.start(on)));
afterEach(() => scene.close());

const ask = (number: string, url: string) => scene.pages.ask('/base/forgot/file', { number, url });

test('what is wrong stands beside its field, with what was typed, and nothing is issued', async () => {
  assert.match((await scene.pages.ask('/base/forgot')).html, /action="\/base\/forgot\/file"/);
  const open = scene.accounts.rs.db.registrations.open();
  const noNumber = await ask('ann', ROOT);
  assert.equal(noNumber.status, 400);
  assert.match(
    noNumber.html,
    /<a href="#number">[^]*id="number-wrong"[^]*value="ann"[^]*value="http:\/\/127/,
  );
  const noDirectory = await ask(String(PID), `${ROOT}page`);
  assert.equal(noDirectory.status, 400);
  assert.match(noDirectory.html, /<a href="#url">[^]*id="url-wrong"/);
  assert.equal(scene.accounts.rs.db.registrations.open(), open);
});

test('the new password is in use when the file is in a directory, and those without it were given up', async () => {
  const { site } = scene.accounts.rs;
  const asked = await ask(` ${PID} `, site.urlOf('/docs/'));
  assert.equal(asked.status, 303);
  const { html } = await scene.follow(asked);
  const [, password = ''] = /<dt>Password<\/dt>\s*<dd class="mono">([\w-]{27})</.exec(html) ?? [];
  const [, secret = ''] = /<dt>Secret for the file<\/dt>\s*<dd class="mono">([\w-]{27})</.exec(html) ?? [];
  const [name = ''] = /lcc-\w+\.txt/.exec(html) ?? [];
  site.pages.set(`/docs/${name}`, secret);
  const check = (fields = {}) => scene.pages.ask(`${asked.location}/check`, fields);
  await check();
  const lacking = await scene.follow(asked);
  assert.match(lacking.html, /name="give_up"[^]*give up directories without the file/);
  assert.ok(scene.accounts.isPassword(PID, PASSWORD));
  scene.accounts.rs.clock.byMs += 60_000;
  await check({ give_up: 'yes' });
  scene.accounts.deliver();
  assert.match((await scene.follow(asked)).html, /The new password is in use[^]*Log in/);
  assert.ok(scene.accounts.isPassword(PID, password));
  assert.deepEqual(scene.accounts.roots(PID), [site.urlOf('/docs/')]);
  assert.equal((await scene.get('/me')).status, 303, 'all logins are over');
  assert.equal((await scene.login(password)).status, 303);
  const shown = await scene.get('/me/roots');
  assert.match(
    shown.html,
    /http:\/\/127\.0\.0\.1\/<\/td>[^]*what is kept of it is removed\s+<time[^]*action="\/base\/me\/roots">[^]*name="url" value="http:\/\/127\.0\.0\.1\/"[^]*Prove it again/,
  );
});

test('numbers that are known and unknown are answered alike', async () => {
  const answers = new Set<string>();
  for (const number of [PID, 199_999]) {
    const asked = await ask(String(number), ROOT);
    const { status, html } = await scene.follow(asked);
    const text = html
      .replaceAll(String(number), 'NUMBER')
      .replaceAll(asked.location, 'PAIR')
      .replace(/[\w-]{27}|lcc-\w+\.txt/g, 'SECRET');
    answers.add(`${asked.status} ${status} ${text}`);
  }
  assert.equal(answers.size, 1);
});
