/** More connections than there may be: the real daemons refuse them, say why, and go on with those they have. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, it } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { addProvider } from '../../src/db/providers/pidb.js';
import { generatePassword, hashPassword } from '../../src/lib/password.js';
import { dial, socketIn, spawnBot } from '../bot/lccbot.js';
import { newFolder } from '../fetch/support.js';
import { Bm, Qm, Uns } from '../support/queue-manager.js';
import { url } from '../qm/support.js';
import { startDaemon } from '../support/daemon.js';
import { accepted, Cp, init, set, SITE } from '../support/uns.js';
import { until } from '../support/until.js';

let started: Qm | undefined;
afterEach(async () => {
  await started?.close();
  started = undefined;
});

async function startQm(toml: string): Promise<Qm> {
  started = new Qm(toml);
  await started.start();
  return started;
}

/** All that is said to one more, until it is closed. */
const refusal = (path: string) => text(connect(path));
const refusals = (log: string) => log.split('"event":"connections refused"').length - 1;

describe('lccd-qm', () => {
  it('refuses UNSes beyond qm.max_connections, names it, and takes another when one has gone', async () => {
    const qm = await startQm('[qm]\nmax_connections = 2\n');
    const [stays, leaves] = [new Uns(qm, 'u1'), new Uns(qm, 'u2')];
    for (const uns of [stays, leaves]) assert.ok(await uns.hear(/<lococa:qm\/>/));
    const why = 'too many connections of UNSes, try again later: the limit is 2 (qm.max_connections)';
    for (let n = 0; n < 3; n++)
      assert.equal(await refusal(qm.unsPath), `<lococa:error code="106">${why}</lococa:error>\n`);
    assert.ok(await stays.set('e1', [url('a'), url('b')]));
    assert.equal(qm.rows('SELECT * FROM qdb').length, 2);
    leaves.socket.destroy();
    let comes = new Uns(qm, 'u3');
    while (!(await comes.hear(/<lococa:qm\/>/))) comes = new Uns(qm, 'u3');
    assert.ok(await comes.set('e1', [url('c')], { pid: 8 }));
    assert.equal(refusals(qm.log), 1);
    for (const uns of [stays, comes]) uns.socket.destroy();
  });

  it('refuses Bot Managers beyond it, whoever fills the places of UNSes', async () => {
    const qm = await startQm('[qm]\nmax_connections = 1\n');
    const uns = new Uns(qm);
    assert.ok(await uns.hear(/<lococa:qm\/>/));
    assert.match(await refusal(qm.unsPath), /connections of UNSes/);
    const bm = new Bm(qm);
    await qm.until(status => (status['bot_managers'] as unknown[]).length === 1);
    for (let n = 0; n < 3; n++)
      assert.match(
        await refusal(qm.bmPath),
        /code="106">too many connections of Bot Managers, try again later: the limit is 1 \(qm\.max_connections\)/,
      );
    await uns.set('e1', [url('a')]);
    await bm.until(() => bm.fetches.length === 1);
    assert.equal(refusals(qm.log), 2, 'one of each kind');
    uns.socket.destroy();
    bm.close();
  });

  it('has a UNS with more connections say so once, and takes its sets over those it has', async () => {
    const { dbPath, home, unsPath } = await startQm('[qm]\nmax_connections = 2\n');
    const password = generatePassword();
    const db = openDatabase(dbPath);
    addProvider(db, 9, hashPassword(password), {}, [SITE]);
    db.close();
    const uns = startDaemon('lccd-uns', home, ['--listen=127.0.0.1:0', `--qm=unix:${unsPath}`, '-v']);
    await uns.ready;
    const refused = (level: string) =>
      uns.log.match(new RegExp(`"level":"${level}".*the Queue Manager refuses a connection`, 'g'))?.length;
    const reply = await new Cp(uns.port).send(init(9, password) + set('partial', 'a')).reply;
    assert.equal(accepted(reply), 1);
    await uns.logged('set absorbed');
    await until('14 connections are refused', () => (refused('debug') ?? 0) >= 14);
    assert.equal(refused('warn'), 1);
    assert.match(
      uns.log,
      /"reason":"Queue Manager: 106 too many connections of UNSes, .* 2 \(qm\.max_connections\)/,
    );
    await uns.stop();
  });
});

describe('lccd-bm', () => {
  for (const [whose, args, word] of [
    ['robots', ['--machineid=m1'], '<lococa:bot slots="1" pings="yes"/>'],
    ['Bot Managers', [], '<lococa:bm machineid="m2" slots="1" store="s"/>'],
  ] as const)
    it(`refuses ${whose} beyond bm.max_robots, says so once, and has a place again while those read why`, async () => {
      const home = newFolder();
      writeFileSync(join(home, 'lcc.toml'), '[bm]\nmax_robots = 1\n');
      const path = join(home, 'bm.sock');
      const endpoints = [`--source=unix:${join(home, 'qm.sock')}`, `--listen=unix:${path}`];
      const bm = startDaemon('lccd-bm', home, [...endpoints, ...args]);
      await bm.ready;
      const first = await dial(path);
      first.write(word);
      await once(first, 'data');
      // These do not close: they linger.
      const others = await Promise.all(Array.from({ length: 3 }, () => dial(path)));
      const answers = others.map(async other => String(((await once(other, 'data')) as [Buffer])[0]));
      const why = `too many connections of ${whose}, try again later: the limit is 1 (bm.max_robots)`;
      for (const answer of answers)
        assert.equal(await answer, `<lococa:error code="106">${why}</lococa:error>\n`);
      first.destroy();
      for (let greeting = ''; !greeting.startsWith('<ping');) {
        const next = await dial(path);
        next.write(word);
        greeting = String(((await once(next, 'data')) as [Buffer])[0]);
        others.push(next);
      }
      await bm.stop();
      assert.equal(refusals(bm.log), 1);
      for (const other of others) other.destroy();
    });
});

describe('lccbot --listen', () => {
  it('refuses connections beyond bot.max_connections, names it, and takes another when one has gone', async () => {
    const folder = newFolder();
    const path = socketIn(folder);
    const file = join(folder, 'lcc.toml');
    writeFileSync(file, '[bot]\nmax_connections = 1\n');
    const bot = spawnBot([`--listen=unix:${path}`, `--config=${file}`]);
    const greeted = async (socket: Socket) => String(((await once(socket, 'data')) as [Buffer])[0]);
    const first = await dial(path);
    assert.match(await greeted(first), /<lococa:bot slots="64" unasked="yes"\/>/);
    const why = 'too many connections of peers, try again later: the limit is 1 (bot.max_connections)';
    for (let n = 0; n < 3; n++)
      assert.equal(await refusal(path), `<lococa:error code="106">${why}</lococa:error>\n`);
    first.write('<nonsense/>');
    assert.match(await greeted(first), /nonsense/, 'it is still heard');
    await once(first, 'close');
    let next = await dial(path);
    while (!(await greeted(next)).includes('<lococa:bot slots="64" unasked="yes"/>')) next = await dial(path);
    bot.child.kill('SIGTERM');
    assert.equal(refusals(await bot.stderr), 1);
    next.destroy();
  });
});
