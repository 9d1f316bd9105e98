/** What a provider sees of itself, over the tables of a Queue Manager. */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import { adviceOf } from '../../src/rs/pages/advice.js';
import { ME_NAV } from '../../src/rs/pages/me.js';
import { csvCell } from '../../src/rs/pages/me-errors.js';
import { CODES } from '../../src/wire/codes.js';
import { url } from '../qm/support.js';
import { ground } from '../web/support.js';
import { MeScene, PID, ROOT } from './me-scene.js';

const on = ground({ after });
let scene: MeScene;
beforeEach(async () => (scene = await MeScene.start(on)));
afterEach(() => scene.close());

const set = (columns: string) =>
  void scene.qm.db.prepare(`UPDATE pidb SET ${columns} WHERE pid = ${PID}`).run();
/** Text between tags, in one line. */
const textOf = (html: string) => html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
const stateOf = (html: string) => /<span class="state \w+">([^<]+)<\/span>/.exec(html)?.[1];
const rowsOf = (html: string) => html.split('<tr>').length - 1;

test('a new provider is told to put its line into its crontab, and others how they fare', async () => {
  const first = await scene.get('/me');
  assert.equal(stateOf(first.html), 'waits for your first list');
  assert.match(
    textOf(first.html),
    /Next: the lines for your crontab .* --pid=100000 --pwdfile=\S+ --set=partial .* npm install -g \S+\/lcc-cp\.tgz .* register each host as a provider of its own/,
  );
  await scene.qm.send(PID, [url(`${ROOT}a`), url(`${ROOT}b`)]);
  scene.qm.fetch(PID, `${ROOT}a`);
  const lastS = Math.floor(scene.accounts.rs.clock.nowMs() / 1000);
  set(`lastconntime = ${lastS}`);
  const { html } = await scene.get('/me');
  assert.equal(stateOf(html), 'is being fetched');
  assert.match(
    textOf(html),
    /Pages and files 1 of 10,000 Space .* of 1 GB Waiting 1 page to be fetched Errors 0 none .* Full sets left 3 of 3/,
  );
  assert.match(textOf(html), /What you announced last .* changes 2 0 0/);
  assert.match(textOf(html), /Your crontab lines .* They were heard of just now \./);
});

test('a site some of whose pages could not be fetched is not told that all of them are', async () => {
  await scene.qm.send(PID, [url(`${ROOT}a`)]);
  scene.qm.fetch(PID, `${ROOT}a`);
  assert.match(textOf((await scene.get('/me')).html), /up to date Nothing waits to be fetched\./);
  scene.fail(1, [404]);
  const { html } = await scene.get('/me');
  assert.equal(stateOf(html), 'not all could be fetched');
  assert.match(html, /Nothing waits; <a href="\/base\/me\/errors">1 error<\/a>/);
  assert.doesNotMatch(html, /up to date|is fetched/);
});

test('a page goes out as a whole, and only the errors as CSV, which may be many, as a stream', async () => {
  scene.fail(3, [404]);
  for (const { path } of ME_NAV) assert.equal((await scene.get(path)).status, 200, path);
  await scene.get('/login');
  assert.equal(scene.pages.pieces, 0);
  await scene.get('/me/errors.csv');
  assert.ok(scene.pages.pieces > 0);
});

test('why nothing is fetched now is said in words', async () => {
  await scene.qm.send(PID, [url(`${ROOT}a`)]);
  const nowS = Math.floor(scene.accounts.rs.clock.nowMs() / 1000);
  for (const [columns, word] of [
    [`timeofday = '${'0'.repeat(24)}'`, 'waits for your hours'],
    [`backoffuntil = ${nowS + 600}`, 'your site does not answer'],
    ['paused = 1', 'paused'],
  ] as const) {
    set(columns);
    assert.equal(stateOf((await scene.get('/me')).html), word);
  }
  set("fullsetwanted = 'operator'");
  assert.match((await scene.get('/me')).html, /A complete list of your site is wanted/);
});

test('the score is said in words: what was found, of how many at which confidence, what it changes', async () => {
  const nowS = Math.floor(scene.accounts.rs.clock.nowMs() / 1000);
  const { db } = scene.qm;
  const truth = async () =>
    /How true your announcements are (.*?) (?:Day by day|Your|Next: the)/.exec(
      textOf((await scene.get('/me')).html),
    )?.[1];
  assert.equal(await truth(), undefined, 'of one that has announced nothing');
  set(`lastconntime = ${nowS}, fullsetsallowed = 10`);
  assert.match(
    (await truth()) ?? '',
    /^Nothing has been compared yet\. Everybody begins with 80 of 100\. It changes nothing for you: only/,
  );
  const day = Math.floor(nowS / 86_400);
  db.exec(
    `INSERT INTO truth(pid, day, changed, audited, silent, late, noisy) VALUES (${PID}, ${day}, 10, 59, 2, 1, 3)`,
  );
  const audit = db.prepare(
    `INSERT INTO audit VALUES (${PID}, ${nowS - 60}, ?, 'http://h/', 'text/html', ?, ?, NULL, 0, NULL)`,
  );
  for (let id = 1; id <= 59; id++) audit.run(id, id <= 2 ? 4 : 2, nowS);
  assert.match(
    (await truth()) ?? '',
    /^94 of 100\. Of 10 pages that you announced as changed, 10 had changed, 0 had not, and 0 could not be fetched\. .* 59 pages of yours, chosen at random, were compared with what you announced, the last one just now : 2 had changed or gone without a word from you\. At 95 % confidence that is at most 10\.3 % of all your pages, and at least 0\.6 %\. 1 page had been announced only after .* 3 pages differ each time .* It changes nothing for you: only a score below 50 does\.$/,
  );
  db.exec(`UPDATE truth SET changed = 4, same = 36; UPDATE pidb SET truthmode = 2`);
  const low = textOf((await scene.get('/me')).html);
  assert.match(
    low,
    /What it changes for you, at a score below 50: your pages wait one priority lower, until the score is 60; 2 of your 10 full sets are taken; your pages are compared five times as often\./,
  );
  assert.match(low, /Full sets left 2 of 2/);
  set('truthmode = 0');
  assert.match((await truth()) ?? '', /It changes nothing for you: the operator has switched that off\.$/);
  db.exec(`UPDATE truth SET changed = 12, same = 20`);
  set('truthmode = 2');
  assert.match(
    (await truth()) ?? '',
    /What it changes for you at 5\d: your pages wait one priority lower, until the score is 60\. /,
  );
});

test('what was counted stands in a line a day, the newest first, of the last thirty that have any', async () => {
  const nowS = Math.floor(scene.accounts.rs.clock.nowMs() / 1000);
  const today = Math.floor(nowS / 86_400);
  set(`lastconntime = ${nowS}`);
  const { db } = scene.qm;
  db.exec(`DELETE FROM truth; DELETE FROM audit`);
  const table = async () => {
    const [, rows = ''] = /Day by day(.*?)<\/table>/s.exec((await scene.get('/me')).html) ?? [];
    return rows
      .split('<tr>')
      .slice(2)
      .map(row => [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) => textOf(cell).trim()));
  };
  assert.deepEqual(await table(), []);
  const add = db.prepare(
    `INSERT INTO truth(pid, day, changed, same, failed, fresh, audited, silent, late) VALUES (${PID}, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  add.run(today, 1234, 2, 3, 4, 5, 6, 7);
  add.run(today - 2, 1, 0, 0, 0, 0, 0, 0);
  // Of a day with new pages alone nothing is in a score.
  add.run(today - 1, 0, 0, 0, 9, 0, 0, 0);
  const dateOf = (day: number) => new Date(day * 86_400_000).toISOString().slice(0, 10);
  assert.deepEqual(await table(), [
    [dateOf(today), '1,234', '2', '3', '5', '6', '7'],
    [dateOf(today - 2), '1', '0', '0', '0', '0', '0'],
  ]);
  for (let age = 3; age < 50; age++) add.run(today - age, 1, 0, 0, 0, 0, 0, 0);
  const rows = await table();
  assert.deepEqual([rows.length, rows.at(-1)?.[0]], [30, dateOf(today - 30)]);
});

test('errors are shown by code with advice, a hundred a page, of one code, below one address, and as CSV', async () => {
  assert.match((await scene.get('/me/errors')).html, /Nothing went wrong/);
  scene.fail(250, [404, 604]);
  const { html } = await scene.get('/me/errors');
  assert.match(textOf(html), /125 with code 404 .* announce it again: touch the file/);
  assert.match(textOf(html), /125 with code 604 .* Renew it/);
  assert.equal(rowsOf(html), 1 + 2 + 1 + 100);
  let path: string | undefined = '/me/errors';
  const seen = new Set<string>();
  for (let pages = 1; path !== undefined; pages++) {
    const page: { html: string } = await scene.get(path);
    for (const [, address = ''] of page.html.matchAll(/<td class="address">\s*<a href="([^"]+)"/g))
      seen.add(address);
    path = /href="\/base(\/me\/errors\?[^"]*)"\s*>Next 100</.exec(page.html)?.[1]?.replaceAll('&amp;', '&');
    assert.ok(pages <= 3);
  }
  assert.equal(seen.size, 250);
  const one = await scene.get(`/me/errors?code=604&prefix=${encodeURIComponent(`${ROOT}d3/`)}`);
  assert.equal(rowsOf(one.html), 1 + 25);
  assert.match(one.html, /value="http:\/\/127\.0\.0\.1\/d3\/"/);
  assert.match(
    (await scene.get('/me/errors?prefix=http://other/')).html,
    /None of your errors is of this kind/,
  );
  const csv = await scene.get('/me/errors.csv?code=404');
  assert.equal(csv.headers['content-type'], 'text/csv; charset=utf-8');
  assert.match(String(csv.headers['content-disposition']), /attachment; filename="errors-100000\.csv"/);
  const lines = csv.html.trimEnd().split('\r\n');
  assert.equal(lines.length, 1 + 125);
  assert.deepEqual(lines.slice(0, 2), [
    'code,address,type,text',
    `404,${ROOT}d0/p0.html,text/html,Not Found`,
  ]);
});

test('what a site says in an error is neither markup, nor a formula, nor a link to a script', async () => {
  const { db } = scene.qm;
  const insert = db.prepare('INSERT INTO pierr(pid, code, text, attrs) VALUES (?, 404, ?, ?)');
  insert.run(
    PID,
    '=HYPERLINK("http://evil.example")',
    ' curl="javascript:alert(1)" mimetype="&lt;script&gt;x"',
  );
  const { html } = await scene.get('/me/errors');
  assert.ok(!html.includes('href="javascript:') && !html.includes('<script>x'));
  assert.match(html, /javascript:alert\(1\)/);
  const csv = await scene.get('/me/errors.csv');
  assert.match(csv.html, /"'=HYPERLINK\(""http:\/\/evil\.example""\)"\r\n$/);
  assert.deepEqual(['a', '-1', 'a,b', '@x'].map(csvCell), ['a', "'-1", '"a,b"', "'@x"]);
});

test('a character that is not seen, or turns what follows it, is written as its number', async () => {
  const insert = scene.qm.db.prepare('INSERT INTO pierr(pid, code, text, attrs) VALUES (?, 404, ?, ?)');
  insert.run(PID, 'not\u200b there', ` curl="${ROOT}a\u202egpj.exe" mimetype="text/html"`);
  for (const path of ['/me/errors', '/me/errors.csv']) {
    const { html } = await scene.get(path);
    assert.ok(!/[\u202e\u200b]/.test(html), path);
    assert.ok(html.includes('a\\u{202e}gpj.exe') && html.includes('not\\u{200b} there'), path);
  }
});

test('receipts say what became of a page', async () => {
  await scene.qm.send(PID, [url(`${ROOT}kept`), url(`${ROOT}waits`), url(`${ROOT}fails`)]);
  scene.qm.fetch(PID, `${ROOT}kept`);
  scene.qm.missing(PID, `${ROOT}fails`);
  const ask = (urls: readonly string[]) =>
    scene.get(`/me/receipts?urls=${encodeURIComponent(urls.join('\n'))}`);
  const { html } = await ask(['kept', 'waits', 'fails', 'never'].map(name => ROOT + name));
  assert.match(
    textOf(html),
    /\/kept text\/html kept .* fetched .* waits .* failed \(404\) Your server says that there is no such page\. .* not known/,
  );
  assert.match(html, /<textarea[^>]*>\s*http:\/\/127\.0\.0\.1\/kept\n/);
  const many = await ask(Array.from({ length: 21 }, (_, i) => `${ROOT}${i}`));
  assert.match(many.html, /role="alert"[^]*These are 21 addresses[^]*give 20 at a time/);
  assert.doesNotMatch((await ask([])).html, /How they stand/);
});

test('of one page all is told, also when its failure was received long ago', async () => {
  await scene.qm.send(PID, [url(`${ROOT}fails`), url(`${ROOT}kept`)], { atS: 1_700_000_000 });
  scene.qm.missing(PID, `${ROOT}fails`);
  scene.qm.fetch(PID, `${ROOT}kept`);
  const life = async (name: string) =>
    textOf((await scene.get(`/me/receipts?urls=${encodeURIComponent(ROOT + name)}`)).html);
  assert.match(await life('fails'), /last fetch failed at .*: 404 error 404; lcccp tells it in its next run/);
  const { store, db } = scene.qm;
  store.transaction(() =>
    store.errors.delivered(PID, Number(db.prepare('SELECT max(errseq) FROM pierr').pluck().get())),
  );
  const failed = await life('fails');
  assert.match(failed, /failed \(404\).*announced at 14 Nov 2023.* by its owner \(lcccp\)/);
  assert.match(failed, /lcccp has told it to do Your server says that there is no such page\./);
  assert.match(await life('kept'), /held since .* told to cursors that stand at 1 or above/);
  assert.match(await life('never'), /to do it was never announced/);
  const both = await scene.get(`/me/receipts?urls=${encodeURIComponent(`${ROOT}fails\n${ROOT}kept`)}`);
  assert.doesNotMatch(textOf(both.html), /last fetch/);
});

test('every code that a url or a list can have has advice of its own', () => {
  const codes = Object.keys(CODES).map(Number);
  const told = codes.filter(code => [202, 203, 205].includes(code) || code > 300);
  const general = adviceOf(999).todo;
  for (const code of told) {
    assert.notEqual(adviceOf(code).todo, general, String(code));
    assert.match(adviceOf(code).todo, /^[A-Z].*\.$/);
  }
  for (const status of [400, 418, 502]) assert.match(adviceOf(status).means, new RegExp(String(status)));
});

test('each page is of now: a change by lccpidb, a password of before and a provider that is disabled are seen at once', async () => {
  const write = (columns: string) =>
    void scene.qm.db.prepare(`UPDATE pidb SET ${columns} WHERE pid = ${PID}`).run();
  assert.equal(stateOf((await scene.get('/me')).html), 'waits for your first list');
  write('paused = 1');
  assert.equal(stateOf((await scene.get('/me')).html), 'paused');
  write('generation = generation + 1');
  assert.equal((await scene.get('/me')).location, '/base/login');
  write('generation = generation - 1');
  assert.equal((await scene.get('/me')).status, 303, 'the session has ended');
  await scene.login();
  write('leaveat = 2000000000, enabled = 0');
  assert.equal(stateOf((await scene.get('/me')).html), 'leaving');
  write('leaveat = NULL');
  assert.equal((await scene.get('/me')).location, '/base/login');
});

test('a look asks the Queue Manager once for the provider, and once for what the page shows besides', async () => {
  for (const [path, ops] of [
    ['/me', 'show'],
    ['/me/terms', 'show'],
    ['/me/errors', 'show errors'],
    ['/me/receipts?urls=http%3A%2F%2F127.0.0.1%2F', 'show urls life'],
  ] as const) {
    scene.asked.length = 0;
    assert.equal((await scene.get(path)).status, 200);
    assert.equal(scene.asked.join(' '), ops, path);
  }
});
