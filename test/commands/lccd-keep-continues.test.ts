/** A kept home and one MariaDB: it goes on as what the engine has only, and after kills at each step. */
import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openSqlite } from '../../src/lib/sqlite.js';
import { Engine, noEngine } from '../support/engine.js';
import { controlSocket, tell } from '../../src/daemon/ask.js';
import { startDaemon, type Daemon } from '../support/daemon.js';
import type { Lcc } from '../support/lcc.js';
import { until, within } from '../support/until.js';
import { KeptHomes } from '../support/kept-homes.js';

const started = noEngine === false ? await Engine.start() : undefined;

describe('A kept home', { skip: noEngine }, () => {
  const homes = new KeptHomes(started as Engine);
  it('is gone on with only as what the engine has, or its continuation', async () => {
    const lcc = homes.machine('h1');
    const path = join(lcc.home, 'lcc.db');
    await homes.init(lcc);
    await lcc.addProvider();
    let keeper: Daemon;
    const start = async () => {
      keeper = lcc.startDaemon('lccd-keep');
      await Promise.race([keeper.logged('"event":"owner"'), keeper.ended]);
    };
    /** Resolves with the answer of the keeper. */
    const shipped = () =>
      within(
        'the keeper answers',
        new Promise<string>((resolve, reject) => {
          const socket = connect(join(lcc.home, 'run/keep.sock'), () => socket.write('shipped lcc 7\n'));
          socket.setEncoding('utf8').once('data', (answer: string) => {
            socket.destroy();
            resolve(answer);
          });
          socket.on('error', reject);
        }),
      );
    const db = () => openSqlite(path);
    const note = (text: string) => {
      const opened = db();
      opened.prepare('INSERT INTO noted VALUES (?)').run(text);
      opened.close();
    };
    const notes = () => {
      const opened = db();
      const found = opened.prepare('SELECT text FROM noted ORDER BY rowid').pluck().all();
      opened.close();
      return found.join(' ');
    };
    const replaced = () => readdirSync(lcc.home).filter(name => /^lcc\.db\.replaced-\d+(-\d+)?$/.test(name));
    /** A connection that keeps the log, as daemons do. */
    const held = (text: string) => {
      const opened = db();
      opened.prepare('INSERT INTO noted VALUES (?)').run(text);
      return opened;
    };
    const first = db();
    first.exec('CREATE TABLE noted (text TEXT)');
    first.close();

    await start();
    await keeper!.logged('"event":"base made","name":"lcc"');
    note('a');
    assert.equal(await shipped(), 'shipped 7\n');

    // At work, and killed: what was committed meanwhile is shipped.
    const open = held('b');
    await keeper!.stop('SIGKILL');
    open.prepare('INSERT INTO noted VALUES (?)').run('c');
    await start();
    assert.equal(await shipped(), 'shipped 7\n');
    open.close();
    assert.deepEqual(replaced(), []);

    // Ended in order, and not touched since.
    await keeper!.stop();
    await start();
    assert.equal(await shipped(), 'shipped 7\n');
    assert.deepEqual([notes(), replaced()], ['a b c', []]);

    const isSetAside = async (what: string, change: () => void | Promise<void>, had: string) => {
      await change();
      const before = replaced();
      await start();
      assert.equal(await shipped(), 'shipped 7\n');
      assert.equal(notes(), had, what);
      assert.equal(replaced().length, 1, what);
      assert.notDeepEqual(replaced(), before, what);
    };
    await keeper!.stop();
    await isSetAside('edited while stopped', () => note('edited'), 'a b c');
    await keeper!.stop();
    copyFileSync(path, `${path}.older`);
    await start();
    note('d');
    await shipped();
    await keeper!.stop();
    const put = () => {
      for (const part of ['-wal', '-shm']) rmSync(path + part, { force: true });
      copyFileSync(`${path}.older`, path);
    };
    await isSetAside('an older copy put back', put, 'a b c d');
    const busy = held('e');
    await shipped();
    await keeper!.stop('SIGKILL');
    const copied = readFileSync(path);
    busy.close();
    const loseLog = () => {
      rmSync(`${path}-wal`, { force: true });
      writeFileSync(path, copied);
    };
    await isSetAside('its log is gone', loseLog, 'a b c d e');
    await keeper!.stop();
    const damage = () => {
      const bytes = readFileSync(path);
      writeFileSync(path, bytes.fill(7, 4096, 8192));
    };
    await isSetAside('damaged', damage, 'a b c d e');

    // An engine that has less than this home has seen there, or another one.
    await keeper!.stop();
    const noteFile = join(lcc.home, 'keep.note');
    const noted = await until('it is noted', () => readFileSync(noteFile, 'utf8'));
    for (const wrong of [noted.replace(/lcc=\d+/, 'lcc=999999'), noted.replace(/^\w{4}/, '0000')]) {
      writeFileSync(noteFile, wrong);
      await start();
      assert.equal(await keeper!.ended, 78);
      assert.match(keeper!.log, /an older or another engine: .*lcckeep init --again/);
    }
    await homes.init(lcc, '--again');
    await start();
    await keeper!.logged('"event":"base made","name":"lcc"');
    assert.equal(notes(), 'a b c d e');
    await keeper!.stop();
    await lcc.run('lcckeep leave');
    await start();
    assert.equal(await keeper!.ended, 78);
    assert.match(keeper!.log, /nothing of shard \d+; make it: lcckeep init/);
  });

  it('goes on after kill -9 at each of its steps', async () => {
    const lcc = homes.machine('h1');
    await homes.init(lcc);
    await lcc.addProvider();
    const places = { claimed: homes.machine('h2'), other: lcc };
    const run = (at: Lcc, env: NodeJS.ProcessEnv = {}) =>
      startDaemon('lccd-keep', at.home, [], { ...at.env, ...env });
    for (const step of ['keep.base.noted', 'keep.base.old-removed']) {
      assert.equal(await run(lcc, { LCC_CRASH_AT: step }).ended, 'SIGKILL');
      // A base is made again.
      await homes.init(lcc, '--again');
    }
    const first = run(lcc);
    await first.logged('"event":"base made","name":"lcc"');
    await first.stop('SIGKILL');
    // The other machine dies having claimed: it is the owner, and copies.
    const { claimed } = places;
    assert.equal(await run(claimed, { LCC_CRASH_AT: 'keep.claimed' }).ended, 'SIGKILL');
    assert.equal(await run(claimed, { LCC_CRASH_AT: 'keep.logins.restored' }).ended, 'SIGKILL');
    const second = run(claimed);
    await second.logged('"event":"owner"');
    const third = run(lcc);
    await third.logged('"event":"standby"');
    await third.stop();
    await second.stop('SIGKILL');
    const last = run(claimed, { LCC_CRASH_AT: 'keep.released' });
    await last.logged('"event":"owner"');
    void tell(controlSocket(join(claimed.home, 'run'), 'lccd-keep'), 'release').catch(() => undefined);
    assert.equal(await last.ended, 'SIGKILL');
    const taken = run(lcc);
    await taken.logged('"event":"owner"');
    await taken.stop();
  });
});
