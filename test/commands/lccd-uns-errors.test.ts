/** Errors of fetches reach the CP once each: by the real UNSes and the real Queue Manager, with CPs that die. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import type { Daemon } from '../support/daemon.js';
import { Cp, init, newHome, set, type Home } from '../support/uns.js';

/** A provider with errors e1 … eN kept and more of them counted; a session shows a hundred. */
function homeWithErrors(kept: number, counted: number, textBytes = 3): { home: Home; password: string } {
  const home = newHome();
  const rows = Array.from(
    { length: kept },
    (_, i) =>
      `(7, 404, '${'x'.repeat(textBytes)}', ' curl="e${i + 1}" mimetype="text/html" len="5" tod="${'1'.repeat(24)}"')`,
  );
  const password = home.addProvider(
    7,
    {},
    `INSERT INTO pierr(pid, code, text, attrs) VALUES ${rows.join()};
     UPDATE pidb SET nurlerrs = ${counted}`,
  );
  return { home, password };
}

/** The number of errors said, and those shown. */
function shown(reply: string): [number, ...string[]] {
  const total = Number(/processing_status errors="(\d+)"/.exec(reply)?.[1]);
  return [total, ...[...reply.matchAll(/<url code="404" curl="(e\d+)"/g)].map(([, curl = '']) => curl)];
}

/** As `shown` has them: the errors from one to another. */
const some = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => `e${from + i}`);

/** A status session: init, all of the answer read, closed in good order. */
async function look(uns: Daemon, password: string): Promise<[number, ...string[]]> {
  const cp = new Cp(uns.port).send(init(7, password));
  await cp.hears('</lococa:init_accepted>');
  cp.socket.end();
  return shown(await parted(uns, cp));
}

/** What was said to a CP, once its UNS has noted how it parted. */
async function parted(uns: Daemon, cp: Cp): Promise<string> {
  const reply = await cp.reply;
  const seq = /seq="(\d+)"/.exec(reply)?.[1];
  await uns.logged(`"event":"CP disconnected","pid":7,"seq":${seq},`);
  return reply;
}

/** A CP in a process of its own that says `document`, reads as much as `reads` says, and is killed. */
async function dyingCp(port: number, document: string, reads: 'nothing' | 'a part'): Promise<void> {
  const program = `
    const socket = require('node:net').connect(${port}, '127.0.0.1', () => socket.write(${JSON.stringify(document)}));
    socket.pause();
    socket.once('readable', () => {
      if ('${reads}' === 'a part') socket.read(1);
      process.kill(process.pid, 'SIGKILL');
    });`;
  const child = spawn(process.execPath, ['-e', program], { stdio: 'ignore' });
  await once(child, 'exit');
}

describe('errors of fetches', () => {
  it('are shown some at a time with all attributes, the next ones at whichever UNS comes next, and counted all', async () => {
    const { home, password } = homeWithErrors(201, 205);
    const qm = await home.startQm();
    const [a, b] = [await home.start({}, ['--id=a']), await home.start({}, ['--id=b'])];
    const cp = new Cp(a.port).send(init(7, password) + set('partial', 'x'));
    const reply = await parted(a, cp);
    assert.deepEqual(shown(reply), [205, ...some(1, 100)]);
    assert.ok(
      reply.includes(
        `<url code="404" curl="e1" mimetype="text/html" len="5" tod="${'1'.repeat(24)}">xxx</url>`,
      ),
    );
    assert.deepEqual(await look(b, password), [105, ...some(101, 200)]);
    assert.deepEqual(await look(a, password), [5, 'e201']);
    assert.deepEqual(await look(b, password), [0]);
    await a.stop();
    await b.stop();
    assert.equal(await qm.stop(), 0);
  });

  it('are shown again to a CP that died before it had read them, and to one whose UNS did', async () => {
    const { home, password } = homeWithErrors(101, 101, 1200);
    const uns = await home.start({}, ['--id=a']);
    for (const reads of ['nothing', 'a part'] as const) {
      await dyingCp(uns.port, init(7, password), reads);
      await uns.logged('"event":"CP connected"');
    }
    const cut = new Cp(uns.port).send(init(7, password));
    await cut.hears('</lococa:init_accepted>');
    uns.child.kill('SIGKILL');
    await cut.reply;
    const next = await home.start({}, ['--id=b']);
    assert.deepEqual(await look(next, password), [101, ...some(1, 100)]);
    assert.deepEqual(await look(next, password), [1, 'e101']);
    await next.stop();
  });

  it('are received also by one whose set was refused and that read why', async () => {
    const { home, password } = homeWithErrors(101, 101);
    const uns = await home.start();
    const refused = new Cp(uns.port).send(
      `${init(7, password)}<lococa:set set="partial"><thing/></lococa:set>`,
    );
    assert.match(await parted(uns, refused), /set_rejected/);
    assert.deepEqual(await look(uns, password), [1, 'e101']);
    await uns.stop();
  });

  it('are shown again to one that ended in the middle of its set, for it may have died with what it had read', async () => {
    const { home, password } = homeWithErrors(101, 101);
    const uns = await home.start();
    const cut = new Cp(uns.port).send(
      `${init(7, password)}<lococa:set set="partial"><url curl="x" mimetype="text/html"/>`,
    );
    await cut.hears('</lococa:init_accepted>');
    cut.socket.end();
    assert.match(await parted(uns, cut), /code="204"/);
    assert.deepEqual(await look(uns, password), [101, ...some(1, 100)]);
    await uns.stop();
  });

  it('are shown again to one whose set was accepted and that died without reading', async () => {
    const { home, password } = homeWithErrors(101, 101);
    const uns = await home.start();
    const dead = connect(uns.port, '127.0.0.1');
    dead.on('error', () => undefined);
    dead.write(init(7, password) + set('partial', 'x'));
    await uns.logged('"event":"set accepted"');
    dead.resetAndDestroy();
    await uns.logged('"event":"CP disconnected","pid":7,');
    assert.deepEqual(await look(uns, password), [101, ...some(1, 100)]);
    await uns.stop();
  });

  it('are not taken for received because a UNS remembers so of a database that is lost', async () => {
    const { home, password } = homeWithErrors(2, 2);
    const uns = await home.start();
    assert.deepEqual(await look(uns, password), [2, 'e1', 'e2']);
    assert.deepEqual(await look(uns, password), [0]);
    for (const end of ['', '-wal', '-shm']) rmSync(join(home.dir, `lcc.db${end}`), { force: true });
    const second = home.addProvider(
      7,
      {},
      `INSERT INTO pierr(pid, code, text, attrs) VALUES (7, 404, 'x', ' curl="e9" mimetype="text/html"');
       UPDATE pidb SET nurlerrs = 1`,
    );
    assert.deepEqual(await look(uns, second), [1, 'e9']);
    await uns.stop();
  });

  it('that cannot be read keep their own CP waiting, and nobody else', async () => {
    const { home, password } = homeWithErrors(200, 200, 400);
    const other = home.addProvider(8);
    overwrite(join(home.dir, 'lcc.db'), 'pierr');
    const uns = await home.start();
    const idle = new Cp(uns.port).send(init(8, other));
    await idle.hears('</lococa:init_accepted>');
    const refused = await new Cp(uns.port).send(init(7, password)).reply;
    assert.match(refused, /<lococa:init_rejected><reason code="102">/);
    idle.send(set('partial', 'x'));
    assert.match(await idle.reply, /<set_accepted received="1"/);
    await uns.logged('malformed');
    await uns.stop();
  });
});

/** Makes every page of a table unreadable. */
function overwrite(path: string, table: string): void {
  const db = openDatabase(path);
  const pages = db.prepare<[string], number>('SELECT pageno FROM dbstat WHERE name = ?').pluck().all(table);
  const bytes = Number(db.pragma('page_size', { simple: true }));
  db.close();
  const file = openSync(path, 'r+');
  for (const page of pages) writeSync(file, Buffer.alloc(bytes, 0xff), 0, bytes, (page - 1) * bytes);
  closeSync(file);
}
