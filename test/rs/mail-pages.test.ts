/** Where links of mails lead, and where another password is asked for, as a browser without JavaScript sees it. */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import { longIt } from '../support/long.js';
import { freePort } from '../support/free-port.js';
import { ground } from '../web/support.js';
import { waitingLink } from './mail-support.js';
import { PagesScene } from './pages-support.js';
import { RsScene } from './support.js';

const { services, limits } = ground({ after });
const ANN = 'ann@example.org';
let scene: RsScene;
let pages: PagesScene;

beforeEach(async () => {
  // Nobody is there: mails stay where a test reads them.
  const settings = {
    'rs.smtp': `smtp://127.0.0.1:${await freePort()}`,
    'rs.mail_from': 'lcc@lcc.example.org',
  };
  scene = await RsScene.start({ ...settings, 'rs.mails_per_address': '9' });
  pages = await PagesScene.start(scene, { services, limits });
});
afterEach(async () => {
  await pages.server.close();
  await scene.mail.stop();
  assert.deepEqual([scene.failures, pages.failed], [[], []]);
  scene.close();
});

const waiting = (kind: 'confirm' | 'reset') => waitingLink(scene, kind);
const register = (email: string) => pages.ask('/base/register', { url: scene.site.urlOf('/'), email });

/** A provider with a confirmed address. */
async function provider(): Promise<number> {
  const made = await register(ANN);
  await pages.ask(`/base/confirm/${waiting('confirm')}`, {});
  const capability = made.location.replace('/base/pair/', '');
  const registration = scene.registrar.find(capability);
  scene.db.write(() =>
    scene.db.providers.put({
      leavesMs: null,
      pid: registration.pid,
      registration: registration.id,
      prefix: registration.prefix,
      sinceMs: 1,
      hours: null,
      zone: null,
      timeofday: '',
    }),
  );
  return registration.pid;
}

test('the link in the first mail shows a button, and only the button confirms', async () => {
  const made = await register(ANN);
  assert.match((await pages.ask(made.location)).html, /ann@example\.org: follow the link in the mail/);
  const link = `/base/confirm/${waiting('confirm')}`;
  for (let visits = 0; visits < 3; visits++) {
    const { status, html } = await pages.ask(link);
    assert.equal(status, 200);
    assert.match(html, /<form method="post" action="\/base\/confirm\/[\w-]{27}"><button>It is mine/);
  }
  assert.equal((await pages.ask(link, {}, { 'sec-fetch-site': 'cross-site' })).status, 403);
  assert.equal(scene.mail.mailing.standingOf(1).confirmed, undefined);
  const pressed = await pages.ask(link, {});
  assert.deepEqual([pressed.status, pressed.location], [303, '/base/confirmed']);
  assert.match((await pages.ask(pressed.location)).html, /The address is confirmed/);
  assert.match((await pages.ask(made.location)).html, /ann@example\.org, confirmed/);
  assert.equal((await pages.ask(link, {})).status, 410);
});

test('an address that is none is said beside its field, and nothing is issued', async () => {
  const { status, html } = await register('ann@localhost');
  assert.equal(status, 400);
  assert.match(html, /id="email-wrong">The e-mail address is none[^]*value="ann@localhost"/);
  assert.equal(scene.db.registrations.open(), 0);
});

test('a lost password is replaced by the link of a mail, with a button, shown once', async () => {
  const pid = await provider();
  assert.match((await pages.ask('/base/login')).html, /href="\/base\/forgot"/);
  const asked = await pages.ask('/base/forgot', { who: String(pid) });
  assert.deepEqual([asked.status, asked.location], [303, '/base/forgot/asked']);
  await scene.mail.idle();
  const link = `/base/reset/${waiting('reset')}`;
  assert.match((await pages.ask(link)).html, /<button>Show another password/);
  assert.equal((await pages.ask(link, {})).status, 503, 'the Queue Manager is away');
  scene.shown = { generation: 1 };
  const pressed = await pages.ask(link, {});
  assert.equal(pressed.status, 303);
  const shown = await pages.ask(pressed.location);
  const [, password = ''] = /<dt>Password<\/dt>\s*<dd class="mono">([\w-]{27})<\/dd>/.exec(shown.html) ?? [];
  assert.notEqual(password, '');
  assert.equal((await pages.ask(pressed.location)).status, 410);
  assert.equal((await pages.ask(link, {})).status, 410);
  assert.equal(scene.applied, 1);
});

/** @returns how long each kind of answer took, median, in milliseconds */
async function forgetAll(turns: number): Promise<number[]> {
  const pid = await provider();
  const ways = { known: String(pid), unknown: '199999', mail: ANN, nobody: 'nobody@example.org' };
  const seen: Record<string, { answer: string; ms: number[] }> = {};
  for (let turn = 0; turn < turns; turn++)
    for (const [way, who] of Object.entries(ways)) {
      // A network may ask ten times a day.
      scene.db.write(() => scene.db.uses.forget(Infinity));
      const begunMs = performance.now();
      const { status, html, location, headers } = await pages.ask('/base/forgot', { who });
      const one = (seen[way] ??= { answer: '', ms: [] });
      one.ms.push(performance.now() - begunMs);
      const { date: _date, ...rest } = headers;
      one.answer = JSON.stringify([status, html, location, rest]);
      await scene.mail.idle();
    }
  assert.equal(new Set(Object.values(seen).map(({ answer }) => answer)).size, 1);
  return Object.values(seen).map(({ ms }) => ms.toSorted((a, b) => a - b)[turns >> 1] ?? NaN);
}

longIt('/forgot answers known and unknown ones alike: status, header, text and time', async () => {
  const medians = await forgetAll(15);
  const apartMs = Math.max(...medians) - Math.min(...medians);
  assert.ok(apartMs <= 20, `medians ${medians.map(ms => ms.toFixed(1)).join(', ')} ms`);
});

test('/forgot answers known and unknown ones alike: status, header and text', async () => {
  await forgetAll(1);
  const wrong = await pages.ask('/base/forgot', { who: 'who?' });
  assert.match(wrong.html, /id="who-wrong">This is neither a number nor an address/);
});
