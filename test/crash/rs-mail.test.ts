/** Mail with a kill -9 at each durable step: none is lost, and one at most is sent twice. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, it } from 'node:test';
import { RegisteredStore } from '../../src/db/providers/registered.js';
import { RsDatabase } from '../../src/db/rs/database.js';
import { openDatabase, openReadOnly } from '../../src/db/sqlite/open.js';
import { Daemons } from '../support/daemon.js';
import { freePort } from '../support/free-port.js';
import { linkIn, MailServer } from '../support/smtp.js';
import { until } from '../support/until.js';
import { RsScene } from '../rs/support.js';

const ANN = 'ann@example.org';
const daemons = new Daemons();
let server: MailServer;
let scene: RsScene;

beforeEach(async () => {
  server = await MailServer.listen();
  scene = await RsScene.start();
});
afterEach(async () => {
  isOver = true;
  await daemons.end();
  await server.close();
  scene.close();
});
after(() => daemons.end());

let isOver = false;

/** lccd-rs on the home of the scene, killed once at the step, and started again. */
async function start(step: string): Promise<string> {
  await scene.mail.stop();
  scene.db.close();
  const port = await freePort();
  mkdirSync(join(scene.dir, 'run'), { recursive: true });
  writeFileSync(
    join(scene.dir, 'lcc.toml'),
    `[rs]
listen = ["127.0.0.1:${port}"]
url = "http://127.0.0.1:${port}/"
smtp = "smtp://127.0.0.1:${server.port}"
mail_from = "lcc@lcc.example.org"
operator_mail = "root@localhost"
mail_gather_ms = 0
`,
  );
  isOver = false;
  const env = { LCC_CRASH_AT: step, LCC_CRASH_ONCE: join(scene.dir, 'crashed') };
  const keep = async () => {
    const daemon = daemons.start('lccd-rs', scene.dir, [], env);
    void daemon.ended.then(how => (how === 'SIGKILL' && !isOver ? keep() : undefined));
    await daemon.ready.catch(() => undefined);
  };
  await keep();
  return `http://127.0.0.1:${port}`;
}

/** The one that is asked may be killed. */
async function post(url: string, body: string | URLSearchParams): Promise<void> {
  const headers = typeof body === 'string' ? { 'content-type': 'application/json' } : undefined;
  await fetch(url, { method: 'POST', body, redirect: 'manual', ...(headers && { headers }) }).catch(
    () => undefined,
  );
}

/** A provider with a confirmed address, as an earlier run left it. */
function provider(): void {
  const pair = scene.issue('/', 'n');
  const { id, pid, prefix } = pair.registration;
  const { addresses, providers } = scene.db;
  scene.db.write(() => {
    addresses.putPending(id, ANN, 'hash', 1);
    const [address] = addresses.of(id);
    assert.ok(address);
    addresses.confirm(1, address.id);
    providers.put({
      leavesMs: null,
      pid,
      registration: id,
      prefix,
      sinceMs: 1,
      hours: null,
      zone: null,
      timeofday: '',
    });
  });
}

/** When the daemon was killed and no mail is left: the Message-IDs of all that were sent. */
async function sent(step: string): Promise<string[]> {
  await until('it was killed', () => readIfThere() === step);
  await until('nothing waits', () => {
    const db = RsDatabase.openForReading(join(scene.dir, 'rs/rs.db'));
    const { mails, addresses } = db;
    // Mails last: what is asked or noted becomes one.
    const isOver =
      addresses.askedInAll() === 0 && addresses.firstNoteMs() === undefined && mails.size() === 0;
    db.close();
    return isOver;
  });
  scene.open();
  return server.taken.map(({ header }) => /^Message-ID: (.*)$/im.exec(header)?.[1] ?? '');
}

function readIfThere(): string | undefined {
  try {
    return readFileSync(join(scene.dir, 'crashed'), 'utf8');
  } catch {
    return undefined;
  }
}

describe('a mail that is killed', () => {
  for (const step of ['rs.pair.committed', 'rs.mail.taken', 'rs.mail.sent'])
    it(`at ${step} arrives`, async () => {
      const url = await start(step);
      await post(`${url}/api/v1/pairs`, JSON.stringify({ url: 'http://www.example.org/', email: ANN }));
      const messages = await sent(step);
      assert.equal(new Set(messages).size, 1, 'one mail');
      assert.equal(
        messages.length,
        step === 'rs.mail.taken' ? 2 : 1,
        'sent twice only where nobody can know',
      );
    });

  it('at rs.mail.gathered arrives once', async () => {
    provider();
    scene.db.write(() => scene.db.addresses.note(1, 'the password was changed', 1));
    await start('rs.mail.gathered');
    assert.equal((await sent('rs.mail.gathered')).length, 1);
  });

  it('at rs.mail.operator arrives once', async () => {
    const pair = scene.issue('/a/', 'n');
    scene.place(pair);
    await scene.registrar.check(pair.capability);
    await start('rs.mail.operator');
    assert.equal((await sent('rs.mail.operator')).length, 1);
  });

  for (const step of ['rs.forgotten.asked', 'rs.forgotten.looked'])
    it(`at ${step} arrives once, with a link that is good`, async () => {
      provider();
      const url = await start(step);
      await post(`${url}/forgot`, new URLSearchParams({ who: ANN }));
      assert.equal((await sent(step)).length, 1);
      const [mail] = server.taken;
      assert.ok(mail);
      scene.shown = { generation: 1 };
      assert.equal((await scene.mail.forgotten.exchange(linkIn(mail, 'reset'))).pid, 100_000);
    });

  it('at rs.mail.queued arrives once: the old address hears of the new one', async () => {
    provider();
    const { addresses } = scene.db;
    const token = 'A'.repeat(27);
    scene.db.write(() => addresses.putPending(1, 'bob@example.org', hash('sha256', token), 1));
    const url = await start('rs.mail.queued');
    await post(`${url}/confirm/${token}`, new URLSearchParams({}));
    assert.equal((await sent('rs.mail.queued')).length, 1);
    assert.deepEqual(
      [server.taken[0]?.to, scene.mail.mailing.standing(100_000)?.confirmed],
      [ANN, 'bob@example.org'],
    );
  });

  it('at rs.mail.given-up is given up', async () => {
    server.verdict = () => ({ at: 'RCPT', code: 550, text: 'no such user' });
    const url = await start('rs.mail.given-up');
    await post(`${url}/api/v1/pairs`, JSON.stringify({ url: 'http://www.example.org/', email: ANN }));
    assert.deepEqual(await sent('rs.mail.given-up'), []);
    assert.equal(server.asked, 1);
  });

  it('at rs.reset.committed has replaced the password once; its link is used up', async () => {
    provider();
    const token = 'A'.repeat(27);
    scene.db.write(() => scene.db.addresses.link(hash('sha256', token), 100_000, Date.now() + 1e6, null));
    const path = join(scene.dir, 'lcc.db');
    const made = openDatabase(path);
    new RegisteredStore(made).add(100_000, 'x', {}, []);
    made.close();
    const url = await start('rs.reset.committed');
    const listening = ['uns', 'bm', 'rs'].map(
      kind => `--listen-${kind}=unix:${scene.dir}/run/qm-${kind}.sock`,
    );
    await daemons.start('lccd-qm', scene.dir, listening).ready;
    await until('it was killed', async () => {
      await post(`${url}/reset/${token}`, new URLSearchParams({}));
      return readIfThere() !== undefined;
    });
    const generation = () => {
      const db = openReadOnly(path);
      const found = new RegisteredStore(db).standing(100_000)?.generation;
      db.close();
      return found;
    };
    await until('the Queue Manager has the password', () => generation() === 2);
    assert.equal((await fetch(`${url}/reset/${token}`, { method: 'POST' })).status, 410);
    assert.equal(generation(), 2);
  });
});
