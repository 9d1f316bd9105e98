import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { RsRequestRefused } from '../../src/rs/refusal.js';
import { bandwidthText } from '../../src/rs/wishes.js';
import { AccountScene, NETWORK, PASSWORD } from './account-scene.js';

let scene: AccountScene;
afterEach(() => scene.close());
const start = async (...args: Parameters<typeof AccountScene.start>) =>
  (scene = await AccountScene.start(...args));

/** The word that something is refused with. */
async function wordOf(action: Promise<unknown> | (() => unknown)): Promise<string> {
  try {
    await (typeof action === 'function' ? action() : action);
  } catch (error) {
    if (error instanceof RsRequestRefused) return `${error.status} ${error.code}`;
    throw error;
  }
  return 'done';
}

const MAIL = { 'rs.smtp': 'smtp://127.0.0.1:1', 'rs.mail_from': 'lcc@example.org' };
const DAY_MS = 86_400_000;
const urlOf = (path: string) => scene.rs.site.urlOf(path);
const audit = (pid: number) =>
  scene.rs.db.audit
    .page(20, { pid })
    .map(({ event, by }) => `${event} by ${by}`)
    .toReversed();

test('a password that is begun changes nothing; from the check on it is the only one, once', async () => {
  await start();
  const pid = await scene.register('/');
  const pair = await scene.account.beginRotation(pid, NETWORK);
  assert.ok(scene.isPassword(pid, PASSWORD));
  assert.equal(pair.secret, '');
  for (const _ of [1, 2]) {
    await scene.rs.registrar.check(pair.capability);
    scene.deliver();
    assert.deepEqual([scene.rs.standing(pair).state, scene.value('generation', pid)], ['active', 2]);
  }
  assert.ok(scene.isPassword(pid, pair.password) && !scene.isPassword(pid, PASSWORD));
  assert.equal(scene.rs.standing(pair).password, undefined, 'its hash is forgotten');
  assert.deepEqual(audit(pid).slice(-3), [
    'rotation issued by provider',
    'rotation begun by provider',
    'password done by qm',
  ]);
});

test('of two passwords begun at once the second one to be used is refused, and the first one stays', async () => {
  await start();
  const pid = await scene.register('/');
  const [one, two] = [
    await scene.account.beginRotation(pid, NETWORK),
    await scene.account.beginRotation(pid, NETWORK),
  ];
  for (const pair of [one, two]) await scene.rs.registrar.check(pair.capability);
  scene.deliver();
  assert.deepEqual(
    [one, two].map(pair => scene.rs.standing(pair).state),
    ['active', 'refused'],
  );
  assert.ok(scene.isPassword(pid, one.password));
});

test('a password is replaced at once, also while the Queue Manager is away, and a limited number of times a day', async () => {
  await start({ 'rs.pairs_per_network': '2' });
  const pid = await scene.register('/');
  const { password, registration } = await scene.account.rotate(pid, NETWORK);
  assert.deepEqual([registration.state, scene.isPassword(pid, password)], ['active', true]);
  const begun = await scene.account.beginRotation(pid, NETWORK);
  scene.isThere = false;
  await scene.rs.registrar.check(begun.capability);
  assert.equal(scene.rs.standing(begun).state, 'applying');
  assert.equal(await wordOf(scene.account.beginRotation(pid, NETWORK)), '503 away');
  scene.isThere = true;
  assert.equal(await wordOf(scene.account.beginRotation(pid, NETWORK)), '429 too-many');
  scene.deliver();
  assert.ok(scene.isPassword(pid, begun.password));
});

test('another root is proven like the first, waits where the operator approves, and is refused where there are too many', async () => {
  await start({ 'rs.max_roots': '2', 'rs.pairs_per_network': '9' });
  const pid = await scene.register('/a/');
  const pair = await scene.account.beginRoot(pid, urlOf('/b/'), NETWORK);
  assert.deepEqual([pair.password, pair.registration.pid], ['', pid]);
  await scene.prove(pair);
  assert.equal(scene.rs.standing(pair).state, 'active');
  assert.deepEqual(scene.roots(pid), [urlOf('/a/'), urlOf('/b/')]);
  assert.equal(await wordOf(scene.account.beginRoot(pid, urlOf('/c/'), NETWORK)), '409 too-many');
  assert.deepEqual(
    scene.rs.db.providers.all().map(row => row.prefix),
    [urlOf('/a/')],
  );

  scene.close();
  await start({ 'rs.mode': 'open' });
  const other = await scene.register('/a/');
  assert.equal(await wordOf(scene.account.beginRoot(other, urlOf('/a/'), NETWORK)), '409 known');
  assert.equal(await wordOf(scene.account.beginRoot(9, urlOf('/b/'), NETWORK)), '409 unknown');
  assert.equal(await wordOf(scene.account.beginRoot(other, urlOf('/b'), NETWORK)), '400 address');
  scene.rs.options.mode = 'approve';
  const waiting = await scene.account.beginRoot(other, urlOf('/b/'), NETWORK);
  await scene.prove(waiting);
  const { state, id } = scene.rs.standing(waiting);
  assert.deepEqual([state, scene.roots(other)], ['waiting', [urlOf('/a/')]]);
  scene.rs.transitions.approve(id, {});
  scene.deliver();
  assert.deepEqual(scene.roots(other), [urlOf('/a/'), urlOf('/b/')]);
  scene.rs.options.mode = 'closed';
  assert.equal(await wordOf(scene.account.beginRoot(other, urlOf('/c/'), NETWORK)), '403 closed');
});

test('a root goes with the password and the number of urls, the last one not', async () => {
  await start();
  const pid = await scene.register('/a/');
  await scene.prove(await scene.account.beginRoot(pid, urlOf('/b/'), NETWORK));
  const remove = (root: string, consent: Parameters<typeof scene.account.removeRoot>[2]) =>
    scene.account.removeRoot(pid, root, consent);
  assert.equal(await wordOf(remove(urlOf('/b/'), scene.confirmed(1))), '409 count');
  assert.equal(await wordOf(remove(urlOf('/b/'), scene.confirmed(0, 'wrong'))), '401 login');
  assert.equal(await wordOf(remove(urlOf('/c/'), scene.confirmed(0))), '400 unknown');
  assert.deepEqual(await remove(urlOf('/b/'), scene.confirmed(0)), { state: 'done' });
  assert.deepEqual(scene.roots(pid), [urlOf('/a/')]);
  assert.equal(await wordOf(remove(urlOf('/a/'), scene.confirmed(0))), '409 last');
});

test('one that leaves can come back for a week with its password, and is gone after it', async () => {
  await start();
  const pid = await scene.register('/');
  const other = await scene.register('/other/');
  assert.equal(await wordOf(scene.account.leave(pid, scene.confirmed(3))), '409 count');
  assert.equal(await wordOf(scene.account.stay(String(pid), PASSWORD, '')), '409 state');
  assert.deepEqual(await scene.account.leave(pid, scene.confirmed(0)), { state: 'done' });
  const leavesMs = scene.rs.db.providers.get(pid)?.leavesMs ?? 0;
  assert.ok(Math.abs(leavesMs - Date.now() - 7 * DAY_MS) < 60_000);
  assert.equal(scene.value('enabled', pid), 0);
  assert.equal(await wordOf(scene.account.stay(String(pid), 'wrong', '')), '401 login');
  assert.deepEqual(await scene.account.stay(String(pid), PASSWORD, ''), { state: 'done' });
  assert.deepEqual([scene.rs.db.providers.get(pid)?.leavesMs, scene.value('enabled', pid)], [null, 1]);

  scene.isThere = false;
  assert.deepEqual(await scene.account.leave(pid, scene.confirmed(0)), { state: 'waiting' });
  scene.isThere = true;
  scene.deliver();
  scene.rs.clock.byMs = 8 * DAY_MS;
  scene.qm.clock.advance(8 * DAY_MS);
  const late = await scene.account.stay(String(pid), PASSWORD, '');
  assert.equal(late.state, 'refused', 'its time is over');
  scene.rs.transitions.tidy(DAY_MS, DAY_MS);
  assert.deepEqual(
    scene.rs.db.providers.all().map(row => row.pid),
    [other],
  );
  assert.equal(scene.value('enabled', other), 1);
});

test('terms: bandwidth within what is given to new ones, hours in a zone, and what is left out stays', async () => {
  await start();
  const pid = await scene.register('/');
  assert.equal(await wordOf(scene.account.changeTerms(pid, { bandwidth: '2MB' })), '400 bandwidth');
  assert.equal(await wordOf(scene.account.changeTerms(pid, { hours: 'noon' })), '400 hours');
  assert.deepEqual(await scene.account.changeTerms(pid, { bandwidth: '500KB' }), { state: 'done' });
  assert.deepEqual([scene.value('bandwidth', pid), scene.value('timeofday', pid)], [512_000, '']);
  await scene.account.changeTerms(pid, { hours: '0-7', zone: 'Asia/Kolkata' });
  const told = String(scene.value('timeofday', pid));
  assert.match(told, /^[01]{24}$/);
  assert.deepEqual(
    [told.split('1').length - 1, scene.value('bandwidth', pid)],
    [7, 512_000],
    'half an hour on each side',
  );
  const { zone, timeofday } = scene.rs.db.providers.get(pid) ?? {};
  assert.deepEqual([zone, timeofday], ['Asia/Kolkata', told], 'so it is mapped again');
  await scene.account.changeTerms(pid, { hours: 'always' });
  assert.deepEqual([scene.value('timeofday', pid), scene.rs.db.providers.zoned()], ['', []]);
});

test('a provider changes itself so often in an hour; what is as it was is no change, and neither is what is refused', async () => {
  await start(MAIL, ({ uses, mail }) => {
    for (const { change } of [uses, mail.uses]) Object.assign(change, { most: 3, text: '3' });
    mail.uses.mailing.most = 100;
  });
  const { account, rs } = scene;
  const [pid, other] = [await scene.register('/a/'), await scene.register('/b/')];
  const operations = () => scene.qm.value('SELECT count(*) FROM rsop');
  await account.changeTerms(pid, { bandwidth: '500KB', hours: '0-7', zone: 'Asia/Kolkata' });
  const [before, seen] = [operations(), audit(pid)];
  for (let i = 0; i < 10; i++)
    await account.changeTerms(pid, { bandwidth: '500KB', hours: '0-7', zone: 'Asia/Kolkata' });
  assert.deepEqual([operations(), audit(pid)], [before, seen]);

  scene.isThere = false;
  await account.changeTerms(pid, { bandwidth: '400KB' });
  await account.changeTerms(pid, { bandwidth: '500KB' });
  scene.isThere = true;
  const refused = account.changeTerms(pid, { bandwidth: '300KB' });
  await assert.rejects(refused, /too many changes.*3; try again in/);
  assert.equal(await wordOf(account.leave(pid, scene.confirmed(0))), '429 too-often');
  const { mailing } = rs.mail;
  assert.equal(await wordOf(() => mailing.change(pid, 'a@example.org', NETWORK)), '429 too-often');
  scene.deliver();
  assert.equal(scene.value('bandwidth', pid), 512_000, 'what waited is carried out in its order');
  assert.equal(await wordOf(account.changeTerms(other, { bandwidth: '1KB' })), 'done', 'others go on');

  // The address of the one mail that is never confirmed: there is no further mail, and rows of the audit are bounded.
  for (const [i, word] of ['done', 'done', '429 too-often'].entries())
    assert.equal(await wordOf(() => mailing.change(other, `x+${i}@example.org`, NETWORK)), word);
  rs.clock.byMs += 3_600_001;
  assert.equal(await wordOf(account.changeTerms(pid, { bandwidth: '300KB' })), 'done');
  mailing.remove(pid);
  assert.ok(!audit(pid).includes('address removed by applicant'), 'there was none');
});

test('where rs.db has no room terms are not changed, and a provider can leave', async () => {
  await start();
  const pid = await scene.register('/');
  scene.rs.options.room.maxBytes = 1;
  assert.equal(await wordOf(scene.account.changeTerms(pid, { bandwidth: '1KB' })), '503 no-room');
  assert.equal(await wordOf(scene.account.leave(pid, scene.confirmed(0))), 'done');
});

test('what an operator has given stays where the form sends it back: an unchanged bandwidth is no change', async () => {
  await start();
  const pid = await scene.register('/');
  const give = (bandwidth: number) =>
    scene.qm.db.prepare('UPDATE pidb SET bandwidth = ? WHERE pid = ?').run(bandwidth, pid);
  give(5 * 1024 ** 2);
  const change = (bandwidth: string, hours: string) => scene.account.changeTerms(pid, { bandwidth, hours });
  assert.deepEqual(await change('5MB', '0-7'), { state: 'done' });
  assert.deepEqual(
    [scene.value('bandwidth', pid), String(scene.value('timeofday', pid)).slice(0, 9)],
    [5 * 1024 ** 2, '111111110'],
  );
  assert.equal(await wordOf(change('4MB', '0-7')), '400 bandwidth');
  give(5_000_000);
  const shown = bandwidthText(5_000_000);
  await change(shown, '0-8');
  assert.deepEqual([scene.value('bandwidth', pid), shown], [5_000_000, '5000000bytes/s']);
});

test('a forgotten password is replaced when the file is in every root', async () => {
  await start({ 'rs.pairs_per_network': '9' });
  const pid = await scene.register('/a/');
  await scene.prove(await scene.account.beginRoot(pid, urlOf('/b/'), NETWORK));
  const pair = scene.rs.registrar.issueReset(pid, urlOf('/a/'), NETWORK);
  await scene.prove(pair);
  const { state, reason } = scene.rs.standing(pair);
  assert.deepEqual(
    [state, reason?.code, reason?.what],
    ['issued', 'roots', '1 of the 2 directories of this provider has not the file'],
  );
  assert.ok(scene.isPassword(pid, PASSWORD));
  scene.rs.site.pages.set(`/b/${pair.registration.file}`, pair.secret);
  await scene.prove(pair);
  assert.deepEqual([scene.rs.standing(pair).state, scene.roots(pid).length], ['active', 2]);
  assert.ok(scene.isPassword(pid, pair.password));
});

test('who has lost a host gives up the roots that lack the file, and nobody gets them with one host', async () => {
  await start({ 'rs.pairs_per_network': '9' });
  const pid = await scene.register('/a/');
  await scene.prove(await scene.account.beginRoot(pid, urlOf('/b/'), NETWORK));
  const pair = scene.rs.registrar.issueReset(pid, urlOf('/b/'), NETWORK);
  scene.rs.place(pair);
  await scene.rs.registrar.check(pair.capability, true);
  scene.deliver();
  assert.equal(scene.rs.standing(pair).state, 'active');
  assert.deepEqual(
    scene.roots(pid),
    [urlOf('/b/')],
    'the root that lacks it is taken off with the same commit',
  );
  assert.ok(scene.isPassword(pid, pair.password));
  const { givenroots } = await scene.account.show(pid);
  assert.deepEqual(
    givenroots.map(({ root }) => root),
    [urlOf('/a/')],
  );
  const other = scene.rs.registrar.issueReset(pid, urlOf('/a/'), NETWORK);
  scene.rs.place(other);
  await scene.rs.registrar.check(other.capability, true);
  assert.equal(scene.rs.standing(other).reason?.code, 'not-a-root', 'also while what is held there stays');
  await scene.prove(await scene.account.beginRoot(pid, urlOf('/a/'), NETWORK));
  assert.deepEqual([scene.roots(pid).length, (await scene.account.show(pid)).givenroots], [2, []]);
});

test('a reset pair for a number that is unknown, another’s, or of an operator is alike, and never becomes a password', async () => {
  await start({ 'rs.pairs_per_network': '9' });
  const pid = await scene.register('/a/');
  scene.qm.provider(7);
  const words = [pid, 7, 4711].map(number => {
    const { registration, secret, password } = scene.rs.registrar.issueReset(number, urlOf('/x/'), NETWORK);
    return [registration.state, secret.length, password.length, registration.reason];
  });
  assert.deepEqual(
    words,
    [1, 2, 3].map(() => ['issued', 27, 27, undefined]),
  );
  for (const number of [pid, 7, 4711]) {
    const pair = scene.rs.registrar.issueReset(number, urlOf('/x/'), NETWORK);
    scene.rs.place(pair);
    await scene.rs.registrar.check(pair.capability, true);
    assert.deepEqual(
      [scene.rs.standing(pair).state, scene.rs.standing(pair).reason?.code],
      ['issued', 'not-a-root'],
    );
  }
  assert.ok(scene.isPassword(pid, PASSWORD));
});
