/** Mail of the Registration Server: to whom, what, how often. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { passwordMatches } from '../../src/lib/password.js';
import { onStep } from '../../src/lib/steps.js';
import type { RsChange } from '../../src/wire/qm-rs.js';
import { linkIn, type TakenMail } from '../support/smtp.js';
import { until } from '../support/until.js';
import { ANN, DAY_MS, MailScene, refusalOf, perNetwork } from './mail-support.js';

const stage = new MailScene();

describe('a clock that was ahead', () => {
  for (const aheadMs of [2 * 3_600_000, 1400 * DAY_MS])
    test(`keeps neither a mail nor news waiting for as long, nor a network out (${aheadMs} ms)`, async () => {
      const taken = await stage.start();
      taken.verdict = () => ({ at: 'RCPT', code: 450, text: 'later' });
      stage.scene.clock.byMs = aheadMs;
      for (const path of ['/a/', '/b/', '/c/', '/d/', '/e/'])
        stage.scene.issue(path, '192.0.2.0/24', ANN.replace('ann', path[1] ?? ''));
      await until('they were tried', () => taken.asked >= 5);
      stage.scene.clock.byMs = 0;
      taken.verdict = () => undefined;
      stage.scene.mail.stir();
      await taken.mail(5);
      stage.scene.issue('/f/', '192.0.2.0/24', 'f@example.org');
      await taken.mail(6);
    });
});

describe('the first mail', () => {
  test('has the pair and a link that confirms the address, once', async () => {
    const taken = await stage.start();
    const pair = stage.scene.issue('/docs/', '192.0.2.0/24', ' Ann@EXAMPLE.org ');
    const mail = await taken.mail(1);
    assert.deepEqual([mail.from, mail.to], ['lcc@lcc.example.org', 'Ann@example.org']);
    for (const text of [pair.secret, pair.password, String(pair.registration.pid), pair.registration.file])
      assert.ok(mail.body.includes(text), text);
    assert.equal(linkIn(mail, 'pair'), pair.capability);
    assert.match(mail.header, /^Subject: Registration of your site$/m);
    assert.match(mail.header, /^Auto-Submitted: auto-generated$/m);
    assert.match(mail.header, /^Content-Type: text\/plain; charset=utf-8$/m);
    assert.match(mail.header, /^Message-ID: <lcc\.[0-9a-f-]{36}@lcc\.example\.org>$/m);
    const standing = () => stage.scene.mail.mailing.standingOf(pair.registration.id);
    assert.deepEqual(standing(), { confirmed: undefined, pending: 'Ann@example.org' });
    const token = linkIn(mail, 'confirm');
    stage.scene.mail.mailing.confirm(token);
    assert.deepEqual(standing(), { confirmed: 'Ann@example.org', pending: undefined });
    for (const used of [token, 'x', `${token}x`, 'A'.repeat(27)])
      assert.equal(
        refusalOf(() => stage.scene.mail.mailing.confirm(used)),
        '410 link',
      );
  });

  test('has nothing of an applicant in its header, and no second recipient, whatever is typed', async () => {
    const taken = await stage.start();
    const evil = [
      'a@example.org\r\nBcc: b@example.org',
      'a@example.org\nSubject: x',
      'a@example.org,b@example.org',
      'a@example.org b@example.org',
      '"a\r\nRCPT TO:<b@example.org>"@example.org',
      'root@localhost',
    ];
    for (const email of evil)
      assert.equal(
        refusalOf(() => stage.scene.issue('/', 'n', email)),
        '400 email',
        email,
      );
    stage.scene.issue(
      `/${encodeURIComponent('x\r\nBcc: b@example.org\r\n.\r\nMAIL FROM:<c@example.org>')}/`,
      'n',
      ANN,
    );
    const mail = await taken.mail(1);
    assert.equal(mail.to, ANN);
    assert.doesNotMatch(mail.header, /^Bcc|x%0D/im);
    assert.deepEqual([taken.taken.length, taken.asked], [1, 1]);
  });

  test('leaves no password in the database, nor beside it, when it is sent or the pair is over', async () => {
    const taken = await stage.start();
    const pair = stage.scene.issue('/', 'n', ANN);
    await taken.mail(1);
    await stage.empty();
    taken.verdict = () => ({ at: 'RCPT', code: 450, text: 'later' });
    const other = stage.scene.issue('/b/', 'n', 'bob@example.org');
    await until('it was tried', () => taken.asked > 1);
    const bytes = () =>
      ['rs.db', 'rs.db-wal'].map(file => readFileSync(join(stage.scene.dir, 'rs', file), 'latin1')).join('');
    await until('the log of the database is empty', () => !bytes().includes(pair.password));
    assert.ok(!bytes().includes(pair.secret));
    assert.ok(bytes().includes(other.password), 'a mail that waits has it');
    stage.scene.registrar.cancel(other.capability);
    assert.equal(stage.scene.db.mails.size(), 0);
    await stage.scene.mail.stop();
    stage.scene.db.emptyLog();
    assert.ok(!bytes().includes(other.password));
  });

  test('is the only one to an address that nobody confirms, whoever gives it and however it is spelled', async () => {
    const taken = await stage.start({}, {}, perNetwork(100));
    stage.scene.issue('/', 'n', 'victim@example.org');
    await taken.mail(1);
    for (const [i, email] of ['victim@example.org', 'VICTIM@example.org', 'victim+1@Example.org'].entries()) {
      const pair = stage.scene.issue(`/${i}/`, `n${i}`, email);
      stage.scene.place(pair);
      await stage.scene.registrar.check(pair.capability);
      stage.scene.transitions.refuse(stage.scene.standing(pair).id, 'no');
    }
    stage.scene.mail.forgotten.ask('victim@example.org', 'n');
    stage.scene.issue('/last/', 'n', ANN);
    await stage.scene.mail.idle();
    assert.equal(taken.taken.at(-1)?.to, ANN);
    assert.equal(taken.taken.length, 2);
    assert.ok(
      stage.events.some(
        text => text === 'address given: V…@example.org, no mail: an earlier mail was not confirmed',
      ),
    );
    stage.scene.clock.byMs += 366 * DAY_MS;
    stage.scene.mail.tidy();
    stage.scene.issue('/next-year/', 'n', 'victim@example.org');
    await taken.mail(3);
  });

  test('is limited: of a network, and in all', async () => {
    const taken = await stage.start({}, {}, ({ mail: { uses } }) => {
      uses.mailing.most = 2;
      uses.mail.most = 3;
    });
    const give = (network: string, i: number) =>
      refusalOf(() => stage.scene.issue(`/${i}/`, network, `a${i}@example.org`));
    assert.deepEqual(
      [give('x', 1), give('x', 2), give('x', 3), give('y', 4), give('z', 5)],
      ['done', 'done', '429 too-many', 'done', '429 too-many'],
    );
    await taken.mail(3);
    stage.scene.clock.byMs += DAY_MS + 1000;
    stage.scene.mail.tidy();
    assert.equal(give('x', 6), 'done');
    await taken.mail(4);
  });

  test('must be answered before the site is checked, where an address is required', async () => {
    const taken = await stage.start({ 'rs.email': 'required' });
    assert.equal(
      refusalOf(() => stage.scene.issue()),
      '400 email',
    );
    const pair = stage.scene.issue('/', 'n', ANN);
    stage.scene.place(pair);
    assert.equal(
      refusalOf(() => stage.scene.registrar.check(pair.capability)),
      '409 unconfirmed',
    );
    stage.scene.mail.mailing.confirm(linkIn(await taken.mail(1), 'confirm'));
    await stage.scene.registrar.check(pair.capability);
    assert.equal(stage.scene.standing(pair).state, 'waiting');
  });
});

describe('a confirmed address', () => {
  const news = ({ header, body }: TakenMail) =>
    [/^Subject: (.*)$/m.exec(header)?.[1], body.split('\n--')[0]].join('|');

  test('hears of every change, gathered, and no more a day than the limit', async () => {
    const taken = await stage.start();
    const pid = await stage.provider(taken);
    stage.scene.mail.stir();
    assert.match(
      news(await taken.mail(2)),
      /^News of your site\|News of provider 100000:\n\n\S+Z {2}http:\S+ is registered/,
    );
    const change = (op: 'terms' | 'password', isQuiet = false) => {
      const rest = op === 'terms' ? { filesmax: 5 } : { password: 'x', generation: 1 };
      stage.scene.db.write(() => stage.scene.db.outbox.add(1, { op, pid, ...rest } as never, 0, isQuiet));
      for (const operation of stage.scene.db.outbox.waiting(9))
        stage.scene.transitions.settle(operation, { ok: {} }, 1);
    };
    // As when an hour is another one by daylight saving.
    change('terms', true);
    assert.equal(stage.scene.db.addresses.firstNoteMs(), undefined);
    change('terms');
    change('password');
    stage.scene.mail.stir();
    assert.match(
      (await taken.mail(3)).body,
      /the terms were changed[^]*the password was changed; the old one is void/,
    );
    change('password');
    stage.scene.mail.stir();
    await stage.scene.mail.idle();
    assert.notEqual(stage.scene.db.addresses.firstNoteMs(), undefined, 'it waits');
    stage.scene.clock.byMs += DAY_MS + 1000;
    assert.equal(taken.taken.length, 3, 'three mails a day');
    stage.scene.mail.tidy();
    assert.match((await taken.mail(4)).body, /the password was changed/);
  });

  test('that is replaced hears so, and the new one is used when it is confirmed', async () => {
    const taken = await stage.start({ 'rs.mails_per_address': '10' });
    const pid = await stage.provider(taken);
    const { mailing } = stage.scene.mail;
    assert.equal(
      refusalOf(() => mailing.change(pid, ANN, 'n')),
      '409 email',
    );
    mailing.change(pid, 'bob@example.org', 'n');
    const mail = await until('the mail to bob', () => taken.taken.find(({ to }) => to === 'bob@example.org'));
    assert.deepEqual(mailing.standing(pid), { confirmed: ANN, pending: 'bob@example.org' });
    assert.equal(
      refusalOf(() => mailing.change(pid, 'bob@example.org', 'n')),
      '409 email',
    );
    mailing.confirm(linkIn(mail, 'confirm'));
    assert.deepEqual(mailing.standing(pid), { confirmed: 'bob@example.org', pending: undefined });
    await until('ann hears so', () =>
      taken.taken.some(({ to, body }) => to === ANN && body.includes('another address is used from now on')),
    );
    mailing.remove(pid);
    await until('bob hears so', () =>
      taken.taken.some(
        ({ to, body }) => to === 'bob@example.org' && body.includes('the address is not used any more'),
      ),
    );
    assert.deepEqual(mailing.standing(pid), { confirmed: undefined, pending: undefined });
    assert.equal(mailing.standing(5), undefined);
    assert.equal(
      refusalOf(() => mailing.change(5, 'eve@example.org', 'n')),
      '409 email',
    );
  });

  test('hears once a day of a full set that is wanted, and of errors above the limit', async () => {
    const taken = await stage.start();
    await stage.provider(taken);
    stage.scene.mail.stir();
    await taken.mail(2);
    stage.scene.shown = { fullsetwanted: 'the database was lost', filesused: 90, nurlerrs: 11 };
    stage.scene.mail.tidy();
    await stage.scene.mail.idle();
    assert.equal(taken.taken.length, 2, 'not on the first day');
    stage.scene.clock.byMs += DAY_MS + 1000;
    stage.scene.mail.tidy();
    const { body } = await taken.mail(3);
    assert.match(body, /a full set is wanted \(the database was lost\)[^]*11 of 101 urls cannot be fetched/);
    stage.scene.mail.tidy();
    stage.scene.shown = { fullsetwanted: null, filesused: 90, nurlerrs: 9 };
    stage.scene.clock.byMs += DAY_MS + 1000;
    stage.scene.mail.tidy();
    await stage.scene.mail.idle();
    assert.deepEqual(
      stage.scene.db.addresses.unlooked(stage.scene.clock.nowMs() - DAY_MS, stage.scene.clock.nowMs(), 1),
      [],
      'it was looked at',
    );
    assert.equal(taken.taken.length, 3);
  });
});

test('the operator hears which sites wait, at once and then gathered', async () => {
  const taken = await stage.start(
    { 'rs.operator_mail': 'root@localhost' },
    {},
    ({ mail }) => (mail.uses.mail.most = 1),
  );
  const wait = async (path: string) => {
    const pair = stage.scene.issue(path);
    stage.scene.place(pair);
    await stage.scene.registrar.check(pair.capability);
  };
  await wait('/a/');
  const first = await taken.mail(1);
  assert.equal(first.to, 'root@localhost');
  assert.match(first.body, /^A site waits for approval:\n\n {2}1 +http:\S+\/a\/\n/);
  for (let i = 0; i < 25; i++) await wait(`/${i}/`);
  await stage.scene.mail.idle();
  assert.equal(taken.taken.length, 1);
  stage.scene.clock.byMs += 3_600_001;
  stage.scene.mail.stir();
  const second = await taken.mail(2);
  assert.match(second.body, /^26 sites wait for approval:[^]*and 6 more\n/);
  stage.scene.clock.byMs += 3_600_001;
  stage.scene.mail.stir();
  await stage.scene.mail.idle();
  assert.equal(taken.taken.length, 2, 'nothing new waits');
});

describe('a forgotten password', () => {
  test('is asked for with a number or an address; only a confirmed address gets a link, for an hour, once', async () => {
    const taken = await stage.start({ 'rs.mails_per_address': '9' });
    const pid = await stage.provider(taken);
    stage.scene.mail.stir();
    await taken.mail(2);
    const { forgotten } = stage.scene.mail;
    forgotten.ask(String(pid), 'n');
    const token = linkIn(await taken.mail(3), 'reset');
    forgotten.ask(ANN, 'n');
    const other = linkIn(await taken.mail(4), 'reset');
    stage.scene.shown = { generation: 4 };
    for (const bad of ['x', 'A'.repeat(27)])
      await assert.rejects(forgotten.exchange(bad), /this link is not good/);
    const queued: [string, number][] = [];
    onStep(name => queued.push([name, stage.scene.db.outbox.count()]));
    const made = await forgotten.exchange(token);
    onStep(() => undefined);
    assert.deepEqual(queued, [['rs.reset.committed', 1]], 'it is on disk before anybody is shown it');
    assert.equal(made.pid, pid);
    const [operation] = stage.scene.db.outbox.waiting(1);
    assert.ok(operation?.change.op === 'password');
    assert.equal(operation.change.generation, 4);
    assert.ok(passwordMatches(made.password, operation.change.password));
    for (const used of [token, other])
      await assert.rejects(forgotten.exchange(used), /this link is not good/);
    forgotten.ask(ANN, 'n');
    const third = linkIn(await taken.mail(5), 'reset');
    stage.scene.shown = {};
    await assert.rejects(
      forgotten.exchange(third),
      /passwords cannot be changed now; press the button again later/,
    );
    stage.scene.shown = { generation: 5 };
    stage.scene.clock.byMs += 3_600_001;
    await assert.rejects(forgotten.exchange(third), /this link is not good/);
  });

  test('has links that go with the address, the password and the provider they are for', async () => {
    const taken = await stage.start({ 'rs.mails_per_address': '99' }, {}, perNetwork(99));
    const pid = await stage.provider(taken);
    stage.scene.mail.stir();
    let mails = 2;
    await taken.mail(mails);
    const { forgotten, mailing } = stage.scene.mail;
    const { db } = stage.scene;
    stage.scene.shown = { generation: 4 };
    const link = async () => {
      forgotten.ask(String(pid), 'n');
      return linkIn(await taken.mail(++mails), 'reset');
    };
    const isVoid = (token: string) => assert.rejects(forgotten.exchange(token), /this link is not good/);
    /** What the Registration Server has the Queue Manager do. */
    const sends = (change: RsChange) => db.write(() => db.outbox.add(0, change, stage.scene.clock.nowMs()));

    const stays = await link();
    sends({ op: 'terms', pid, timeofday: '1'.repeat(24) });
    assert.equal((await forgotten.exchange(stays)).pid, pid, 'other changes leave it good');
    for (const change of [
      { op: 'password', pid, password: 'x', generation: 4 },
      { op: 'leave', pid },
      { op: 'stay', pid },
      { op: 'disable', pid },
    ] as const) {
      const token = await link();
      sends(change);
      await isVoid(token);
    }
    const byOperator = await link();
    stage.scene.shown = { generation: 5 };
    await isVoid(byOperator);
    const toOld = await link();
    mailing.change(pid, 'other@example.org', 'n');
    mailing.confirm(linkIn(await taken.mail(++mails), 'confirm'));
    await isVoid(toOld);
    await taken.mail(++mails);
    const removed = await link();
    mailing.remove(pid);
    await isVoid(removed);
  });

  test('cannot be used to write to somebody more often than a day allows, nor to keep news from them', async () => {
    const taken = await stage.start({}, {}, perNetwork(3));
    const pid = await stage.provider(taken);
    stage.scene.mail.stir();
    await taken.mail(2);
    stage.scene.clock.byMs += DAY_MS + 1000;
    stage.scene.mail.tidy();
    for (let i = 0; i < 12; i++) stage.scene.mail.forgotten.ask(String(pid), `n${i}`);
    await stage.scene.mail.idle();
    assert.equal(stage.scene.db.addresses.askedInAll(), 0);
    assert.equal(taken.taken.length, 4, 'two links');
    stage.scene.db.write(() => stage.scene.db.addresses.note(0, 'the password was changed', 1));
    stage.scene.mail.stir();
    await taken.mail(5);
    for (let i = 0; i < 3; i++) stage.scene.mail.forgotten.ask('nobody@example.org', 'm');
    assert.throws(
      () => stage.scene.mail.forgotten.ask(String(pid), 'm'),
      /in a day: the limit is 3; try again in 1 d$/,
    );
    assert.equal(
      refusalOf(() => stage.scene.mail.forgotten.ask('who?', 'o')),
      '400 who',
    );
  });
});
