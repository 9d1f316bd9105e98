/** lccd-qm and operations of a Registration Server over its socket: kills, bad input, silence. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { hashPassword } from '../../src/lib/password.js';
import { formatRsAsk, type RsChange } from '../../src/wire/qm-rs.js';
import { startDaemon, type Daemon } from '../support/daemon.js';
import { Qm } from '../support/queue-manager.js';
import { until, within } from '../support/until.js';

const qms: Qm[] = [];
after(() => Promise.all(qms.map(qm => qm.close())));

async function start(qm: Qm, env: NodeJS.ProcessEnv = {}): Promise<Daemon> {
  const listening = ['uns', 'bm', 'rs'].map(kind => `--listen-${kind}=unix:${qm.home}/run/${kind}.sock`);
  const daemon = startDaemon('lccd-qm', qm.home, listening, env);
  await daemon.ready;
  return (qm.daemon = daemon);
}

/** All that is answered until the connection closes. */
function talk(qm: Qm, say: (socket: Socket) => void): Promise<string> {
  const socket = connect(join(qm.home, 'run/rs.sock'));
  let text = '';
  socket.setEncoding('utf8').on('data', data => (text += String(data)));
  say(socket);
  return within(
    'the Queue Manager closes the connection',
    new Promise(resolve => void socket.on('error', () => undefined).on('close', () => resolve(text))),
  );
}

const asking = (qm: Qm, ...lines: string[]) => talk(qm, socket => void socket.end(lines.join('')));

const registration: RsChange = {
  op: 'register',
  pid: 100_000,
  password: hashPassword('first'),
  roots: ['http://www.example.org/'],
};

describe('the socket of the Registration Server', () => {
  it('has one provider and one password after a kill between the commit and the answer', async () => {
    const qm = new Qm();
    qms.push(qm);
    const id = randomUUID();
    const daemon = await start(qm, { LCC_CRASH_AT: 'qm.rs.committed' });
    assert.equal(await asking(qm, formatRsAsk(registration, id)), '');
    assert.equal(await daemon.ended, 'SIGKILL');
    const [before] = qm.rows('SELECT * FROM pidb WHERE pid = 100000');
    assert.ok(before !== undefined);
    await start(qm);
    const once = '{"ok":{"pid":100000,"generation":1}}\n';
    // Sent twice by two connections at once.
    const answers = [1, 2].map(() => asking(qm, formatRsAsk(registration, id)));
    assert.deepEqual(await Promise.all(answers), [once, once]);
    assert.deepEqual(qm.rows('SELECT * FROM pidb WHERE pid = 100000'), [before]);
    assert.doesNotMatch(qm.log, /sha256:/);
  });

  it('answers lines in their order, and closes after one that is no operation', async () => {
    const qm = new Qm('[rs]\nidle_timeout_ms = "1s"\n');
    qms.push(qm);
    await start(qm);
    const status = formatRsAsk({ op: 'status' });
    assert.equal(await asking(qm, status, status), '{"ok":{"providers":0}}\n'.repeat(2));
    assert.match(await asking(qm, 'rubbish\n', status), /^\{"error":"qm-rs: a line is no JSON object"\}\n$/);
    assert.match(
      await asking(qm, 'x'.repeat(300_000)),
      /^\{"error":"a line of more than 262144 characters"\}\n$/,
    );
    assert.match(
      await talk(qm, socket => void socket.write(status)),
      /^\{"ok":.*\}\n\{"error":"silent for 1 s \(rs\.idle_timeout_ms\)"\}\n$/,
    );
  });

  for (const at of ['qm.rs.committed:2', 'qm.departure.removed:2', 'qm.departure.done'])
    it(`has nothing but the number of a provider that has left, killed at ${at}`, async () => {
      const qm = new Qm('[rs]\nleave_ms = "0ms"\n[qm]\nslice_urls = 4\n');
      qms.push(qm);
      const daemon = await start(qm, { LCC_CRASH_AT: at });
      await asking(qm, formatRsAsk(registration, randomUUID()));
      holds(qm, 100_000, 20);
      holds(qm, 7, 20);
      const leave = formatRsAsk({ op: 'leave', pid: 100_000 }, randomUUID());
      await asking(qm, leave);
      assert.equal(await within('lccd-qm is killed', daemon.ended), 'SIGKILL');
      await start(qm);
      assert.match(await asking(qm, leave), /^\{"ok":\{"pid":100000,"generation":1,"leaveat":\d+\}\}\n$/);
      await until('the provider has left', () => Promise.resolve(qm.rows(LEFT).length === 1));
      const count = (sql: string) => qm.rows(`SELECT count(*) AS n FROM ${sql}`)[0]?.['n'];
      assert.deepEqual(
        [count('lccurl WHERE pid = 100000'), count('tombstone'), count('proots WHERE pid = 100000')],
        [0, 20, 0],
      );
      assert.equal(count('lccurl WHERE pid = 7'), 20);
    });

  for (const at of [
    'qm.rs.committed:2',
    'qm.departure.removed:2',
    'qm.departure.removed:4',
    'qm.departure.done',
  ])
    it(`has what it holds of the root that stays, and nothing of the one given up, killed at ${at}`, async () => {
      const qm = new Qm('[rs]\nleave_ms = "0ms"\n[qm]\nslice_urls = 4\n');
      qms.push(qm);
      const daemon = await start(qm, { LCC_CRASH_AT: at });
      const roots = ['http://kept.example.org/', 'http://www.example.org/'];
      await asking(qm, formatRsAsk({ ...registration, roots }, randomUUID()));
      holds(qm, 100_000, 20);
      holds(qm, 7, 20);
      const password = hashPassword('second');
      const reset: RsChange = {
        op: 'password',
        pid: 100_000,
        password,
        generation: 1,
        roots: roots.slice(0, 1),
      };
      const line = formatRsAsk(reset, randomUUID());
      await asking(qm, line);
      assert.equal(await within('lccd-qm is killed', daemon.ended), 'SIGKILL');
      await start(qm);
      assert.match(
        await asking(qm, line),
        /^\{"ok":\{"pid":100000,"generation":2,"given":\["http:\/\/www\.example\.org\/"\],"until":\d+\}\}\n$/,
      );
      const over =
        'SELECT 1 FROM pidb WHERE pid = 100000 AND trimming = 0 AND NOT EXISTS(SELECT 1 FROM givenroot)';
      await until('the root is gone', () => Promise.resolve(qm.rows(over).length === 1));
      const count = (sql: string) => qm.rows(`SELECT count(*) AS n FROM ${sql}`)[0]?.['n'];
      assert.deepEqual(
        [count('lccurl WHERE pid = 100000'), count('tombstone'), count('proots WHERE pid = 100000')],
        [0, 20, 1],
      );
      assert.equal(count('lccurl WHERE pid = 7'), 20);
    });

  it('holds content of a root that was given up until its time, over a kill after the commit', async () => {
    const qm = new Qm();
    qms.push(qm);
    const daemon = await start(qm, { LCC_CRASH_AT: 'qm.rs.committed:2' });
    const roots = ['http://kept.example.org/', 'http://www.example.org/'];
    await asking(qm, formatRsAsk({ ...registration, roots }, randomUUID()));
    holds(qm, 100_000, 20);
    const password = hashPassword('second');
    const reset: RsChange = {
      op: 'password',
      pid: 100_000,
      password,
      generation: 1,
      roots: roots.slice(0, 1),
    };
    await asking(qm, formatRsAsk(reset, randomUUID()));
    assert.equal(await within('lccd-qm is killed', daemon.ended), 'SIGKILL');
    await start(qm);
    const trimmed = 'SELECT 1 FROM pidb WHERE pid = 100000 AND trimming = 0';
    await until('what waited there is gone', () => Promise.resolve(qm.rows(trimmed).length === 1));
    const count = (sql: string) => qm.rows(`SELECT count(*) AS n FROM ${sql}`)[0]?.['n'];
    assert.deepEqual(
      [count('lccurl WHERE pid = 100000'), count('tombstone'), count('givenroot')],
      [20, 0, 1],
    );
    await asking(qm, formatRsAsk({ op: 'root-add', pid: 100_000, roots: roots.slice(1) }, randomUUID()));
    assert.deepEqual([count('lccurl WHERE pid = 100000'), count('givenroot')], [20, 0]);
  });
});

const LEFT = "SELECT 1 FROM pidb WHERE pid = 100000 AND password = ''";

/** Content of a provider, as if it had been fetched. */
function holds(qm: Qm, pid: number, urls: number): void {
  const db = openDatabase(qm.dbPath);
  const row = db.prepare(
    `INSERT INTO lccurl(id, pid, curl, mimetype, md5, len, fetched_time, fetched_machineid, fetched_fileid, psetid, seq)
     VALUES ($n, $pid, 'http://www.example.org/' || $n, 'text/html', 'd41d8cd98f00b204e9800998ecf8427e', 1, 1, 'm1', 'f' || $n, 1, $n)`,
  );
  db.transaction(() => {
    for (let i = 0; i < urls; i++) row.run({ pid, n: pid + i });
  })();
  db.close();
}
