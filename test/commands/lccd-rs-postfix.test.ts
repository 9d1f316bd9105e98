/** Mail of a Registration Server through a real mail server into a real mailbox. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { noNginx } from '../support/nginx.js';
import { MAIL_DOMAIN, noPostfix, Postfix } from '../support/postfix.js';
import { RsScene } from '../rs/support.js';
import { startRegistration, type RegistrationScene } from '../support/registration.js';
import { bodyOf, linkIn } from '../support/smtp.js';
import { until } from '../support/until.js';

describe('mail through Postfix', { skip: noPostfix || noNginx }, () => {
  let postfix: Postfix;
  let scene: RegistrationScene;

  before(async () => {
    postfix = await Postfix.start();
    scene = await startRegistration(`mode = "open"
check_interval_ms = 0
pairs_per_network = 100
smtp = "smtp://127.0.0.1:${postfix.port}"
smtp_tls = "always"
smtp_cafile = "${postfix.certFile}"
mail_from = "lcc@${MAIL_DOMAIN}"
operator_mail = "operator@${MAIL_DOMAIN}"
mail_gather_ms = 0
mails_per_address = 20
`);
  });
  after(async () => {
    await scene.end();
    await postfix.remove();
  });

  /** The mail of a mailbox that has this, decoded. */
  const mailWith = (name: string, text: string | RegExp) =>
    until(`a mail to ${name} has ${String(text)}`, () =>
      postfix
        .mails(name)
        .map(bodyOf)
        .find(body => (typeof text === 'string' ? body.includes(text) : text.test(body))),
    );

  const post = (path: string, fields: Record<string, string>) =>
    fetch(scene.server + path, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' });

  const delivers = (password: string) =>
    scene.lcc.sh(
      `printf %s ${password} > other && lcccp --status --uns=${scene.lcc.uns} --pid=100000 --pwdfile=other </dev/null`,
    );

  it('arrives over STARTTLS: the pair, news, and the link to another password, which alone is good then', async () => {
    const { lcc, pwdfile } = scene;
    const { status, stderr } = await scene.register(`--wait=60 --email=ann@${MAIL_DOMAIN}`);
    assert.equal(status, 0, stderr);
    const password = readFileSync(pwdfile, 'utf8').trim();
    const first = await mailWith('ann', password);
    assert.match(first, /Provider number {2}100000/);
    const [whole = ''] = postfix.mails('ann');
    assert.match(whole, /^From: lcc@lcc\.test$/m);
    assert.match(whole, /^Subject: Registration of your site$/m);
    assert.match(whole, /^Auto-Submitted: auto-generated$/m);
    assert.match(postfix.log, /TLS connection established from .*127\.0\.0\.1/);
    assert.equal((await post(`confirm/${linkIn({ body: first }, 'confirm')}`, {})).status, 303);

    assert.equal((await post('forgot', { who: '100000' })).status, 303);
    const link = linkIn({ body: await mailWith('ann', '/reset/') }, 'reset');
    assert.equal((await delivers(password)).status, 0);
    const changed = await post(`reset/${link}`, {});
    assert.equal(changed.status, 303);
    const page = await (await fetch(new URL(changed.headers.get('location') ?? '', scene.server))).text();
    const [, another = ''] = /<dt>Password<\/dt>\s*<dd class="mono">([\w-]{27})<\/dd>/.exec(page) ?? [];
    await mailWith('ann', 'the password was changed; the old one is void');
    assert.equal((await delivers(another)).status, 0);
    assert.equal((await delivers(password)).status, 77);
    assert.equal((await post(`reset/${link}`, {})).status, 410);
    const said = lcc.log;
    for (const secret of [password, another, link]) assert.ok(!said.includes(secret));
    assert.ok(!said.includes('ann@'), 'the log has no addresses');
  });

  it('is sent again when Postfix says later, and when it is down; a recipient it does not know is given up', async () => {
    const issue = (name: string) =>
      fetch(`${scene.server}api/v1/pairs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ url: scene.site.url, email: `${name}@${MAIL_DOMAIN}` }),
      });
    postfix.answer('450 4.2.1 come again');
    assert.equal((await issue('later')).status, 201);
    await scene.lcc.shows('lccstat', /1 mail waits for the server of rs\.smtp: .*come again/);
    postfix.answer('OK');
    await mailWith('later', 'Secret');
    assert.equal(postfix.mails('later').length, 1);

    await postfix.down();
    assert.equal((await issue('down')).status, 201);
    await scene.lcc.shows('lccstat', /1 mail waits for the server of rs\.smtp: .*ECONNREFUSED/);
    await postfix.up();
    await mailWith('down', 'Secret');
    assert.equal(postfix.mails('down').length, 1);

    assert.equal((await issue('no.such.box')).status, 201);
    await scene.lcc.shows('lccrs audit', /mail given up by rs .*n…@lcc\.test, pair: .*User unknown/);
  });

  it('is tried by the operator: lccrs says what the server answers', async () => {
    const { lcc } = scene;
    const good = await lcc.sh(`lccrs mail --test=operator@${MAIL_DOMAIN}`);
    assert.deepEqual(
      [good.status, good.stderr],
      [0, `lccrs: 127.0.0.1:${postfix.port} has taken a mail to operator@${MAIL_DOMAIN}\n`],
    );
    await mailWith('operator', 'lccrs mail --test sent this');
    const unknown = await lcc.sh(`lccrs mail --test=no.such.box@${MAIL_DOMAIN}`);
    assert.equal(unknown.status, 69);
    assert.match(unknown.stderr, /550 .*; lccd-rs would give the mail up\n$/);
    await postfix.down();
    const later = await lcc.sh(`lccrs mail --test=operator@${MAIL_DOMAIN}`);
    assert.equal(later.status, 75);
    assert.match(later.stderr, /ECONNREFUSED.*; lccd-rs would try again\n$/);
  });

  it('is taken by its sendmail as well, whose queue it is in then, also while nothing delivers', async () => {
    await postfix.down();
    const scene = await RsScene.start({
      'rs.smtp': postfix.sendmail,
      'rs.mail_from': `lcc@${MAIL_DOMAIN}`,
    });
    try {
      scene.issue('/', 'n', `sent@${MAIL_DOMAIN}`);
      await until('it is taken', () => scene.db.mails.size() === 0 || scene.mail.trouble);
      assert.equal(scene.mail.trouble, undefined);
      await postfix.up();
      assert.match(await mailWith('sent', 'Secret'), /Provider number/);
      assert.match(postfix.mails('sent')[0] ?? '', /^Return-Path: <lcc@lcc\.test>$/m);
    } finally {
      await scene.mail.stop();
      scene.close();
    }
  });
});
