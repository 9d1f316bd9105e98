/** The real Queue Manager is killed at each of its durable steps under the same work; the end must be the same. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileIdOf } from '../../src/db/names/naming.js';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { suspectDatabase } from '../../src/db/sqlite/suspicion.js';
import type { FetchRequest, FetchResult } from '../../src/wire/fetch.js';
import { damageNote, sessionNote } from '../../src/wire/uns-qm.js';
import { killAt, leavesTheSame, type KillEnv } from '../support/kills.js';
import { Bm, Qm, setText, Uns } from '../support/queue-manager.js';
import { failure, ok, url } from '../qm/support.js';

const pages = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => url(`p${from + i}`));

/**
 * What a UNS has to say, each with the answer it waits for. What stays of a set that is refused depends on how slices were
 * cut, which a slow disk decides, but where each url is a slice.
 */
const spoolOf = (sliceUrls: number): [string, RegExp][] => [
  [setText('e1', pages(0, 30)), /<lococa:absorbed entry="e1"/],
  [setText('e2', [...pages(0, 5), ...pages(40, 50)], { set: 'full' }), /<lococa:absorbed entry="e2"/],
  [
    setText(
      'e3',
      pages(0, 3).map(u => ({ ...u, op: 'delete' })),
    ),
    /<lococa:absorbed entry="e3"/,
  ],
  [
    setText('e4', sliceUrls === 1 ? pages(60, 62) : [], { pid: 8, received: 3 }),
    /<lococa:refused entry="e4" code="204"/,
  ],
  [damageNote({ entry: 'e5', pid: 7 }), /<lococa:noted pid="7" entry="e5"/],
];

function fetched(request: FetchRequest): FetchResult {
  if (request.url.endsWith('p44')) return { ...failure(404, 'real'), id: request.id };
  return { ...ok(request.url), id: request.id, fileId: fileIdOf({ id: request.id, gen: 0 }) };
}

/** Does all the work, starting the Queue Manager again when it dies. @returns what is left in the database */
async function work(sliceUrls: number, env: KillEnv): Promise<unknown> {
  const qm = new Qm(`[qm]\nslice_urls = ${sliceUrls}\n`);
  let deaths = 0;
  let uns: Uns;
  let bm: Bm;
  const start = async () => {
    await qm.start(env);
    uns = new Uns(qm);
    bm = new Bm(qm);
    bm.onFetch = fetched;
  };
  /** Repeats what a client would after a lost connection. */
  const persist = async (attempt: () => Promise<boolean>) => {
    while (!(await attempt().catch(() => false))) {
      assert.equal(await qm.ended(), 'SIGKILL');
      deaths++;
      await start();
    }
  };
  try {
    await start();
    for (const [text, answer] of spoolOf(sliceUrls)) {
      await persist(() => {
        uns.socket.write(text);
        return uns.hear(answer);
      });
    }
    await persist(async () => {
      await qm.until(status => status['idle'] === true);
      return true;
    });
    await persist(() => {
      uns.socket.write(sessionNote({ pid: 7, seq: 2, ip: '192.0.2.1', errseen: 0 }));
      return uns.hear(/<lococa:noted pid="7" seq="2"/);
    });
    await persist(async () => {
      await qm.until(status => status['idle'] === true && status['freed_waiting'] === 0);
      return true;
    });
    await qm.kill('SIGTERM');
    const left = qm.read(db =>
      [
        'SELECT curl, mimetype, md5, len FROM lccurl ORDER BY curl',
        'SELECT code, attrs FROM pierr',
        'SELECT * FROM qdb',
        'SELECT * FROM qpsdb',
        'SELECT pid, filesused, spaceused, nurlproc, nurlerrs, lastconnseq, fullsetwanted FROM pidb',
        'SELECT entry, complete, rowsdone FROM absorbed ORDER BY entry',
        'SELECT machineid, fileid FROM freed',
        `SELECT (SELECT count(*) FROM (SELECT seq FROM lccurl UNION SELECT seq FROM tombstone)) =
           (SELECT count(*) FROM lccurl) + (SELECT count(*) FROM tombstone) AS distinct_numbers`,
      ].map(sql => db.prepare(sql).all()),
    );
    assert.equal(deaths, Object.keys(env).length === 0 ? 0 : 1);
    return left;
  } finally {
    await qm.close();
  }
}

const compare = (sliceUrls: number, steps: readonly string[]) =>
  leavesTheSame(steps, env => work(sliceUrls, env));

test('killed at any durable step, the Queue Manager ends where it would have ended', async () => {
  await compare(4, [
    'qm.slice.committed',
    'qm.slice.committed:5',
    'qm.reconcile.committed',
    'qm.reconcile.committed:3',
    'qm.set.complete',
    'qm.set.complete:2',
    'qm.acked',
    'qm.acked:3',
    'qm.result.committed',
    'qm.result.committed:2',
    'qm.set.finished',
    'qm.session.noted',
    'qm.set.refused',
    'qm.damage.noted',
  ]);
});

test('killed when it has refused a set of which something stays, it refuses it again', async () => {
  await compare(1, ['qm.set.refused']);
});

test('killed when it has passed over a set that may be older, it answers alike and wants one full set', async () => {
  const qm = new Qm();
  try {
    await qm.start({ LCC_CRASH_AT: 'qm.set.passed' });
    const newer = new Uns(qm, 'b');
    assert.ok(await newer.set('e1', [url('y')]));
    const older = new Uns(qm, 'a');
    older.socket.write(setText('e1', [url('x')], { numbering: '' }));
    assert.equal(await qm.ended(), 'SIGKILL');
    const db = openDatabase(qm.dbPath);
    const fulfilled = db.prepare("UPDATE pidb SET fullsetwanted = NULL WHERE fullsetwanted = 'order'").run();
    db.close();
    assert.equal(fulfilled.changes, 1);
    await qm.start();
    const again = new Uns(qm, 'a');
    again.socket.write(setText('e1', [url('x')], { numbering: '' }));
    assert.ok(
      await again.hear(/<lococa:absorbed entry="e1" queued="0" duplicate="0" unchanged="0" deleted="0"\/>/),
    );
    assert.deepEqual(qm.rows('SELECT curl FROM qdb'), [{ curl: 'http://127.0.0.1/y' }]);
    assert.deepEqual(qm.rows('SELECT fullsetwanted FROM pidb WHERE pid = 7'), [{ fullsetwanted: null }]);
    for (const { socket } of [newer, older, again]) socket.destroy();
  } finally {
    await qm.close();
  }
});

test('killed while urls come back into their set, they are fetched by the next one, in their order', async () => {
  const qm = new Qm();
  try {
    const step = 'qm.slot.joined';
    const { env: once } = killAt(step);
    await qm.start(once);
    const hour = new Date().getHours();
    const notNow = { tod: `${(hour + 2) % 24}-${(hour + 22) % 24}` };
    const first = new Uns(qm);
    assert.ok(await first.set('e1', [url('a', notNow), url('b'), url('c', notNow)]));
    const bm = new Bm(qm);
    bm.onFetch = fetched;
    await qm.until(status => status['rows_later'] === 2 && status['idle'] === true);
    assert.deepEqual(
      bm.fetches.map(request => request.url),
      ['http://127.0.0.1/b'],
    );
    assert.deepEqual(
      qm.rows('SELECT starttimeslot FROM qpsdb').map(row => row['starttimeslot']),
      [(hour + 2) % 24],
    );
    first.socket.write(setText('e2', [url('c'), url('a')]));
    assert.equal(await qm.ended(), 'SIGKILL', step);
    await qm.start(once);
    const second = new Uns(qm);
    assert.ok(await second.set('e2', [url('c'), url('a')]));
    const next = new Bm(qm);
    next.onFetch = fetched;
    await qm.until(status => status['rows_later'] === 0 && status['idle'] === true);
    assert.deepEqual(
      next.fetches.map(request => request.url),
      ['http://127.0.0.1/a', 'http://127.0.0.1/c'],
    );
    assert.deepEqual(qm.rows('SELECT * FROM qpsdb'), []);
    for (const end of [first.socket, second.socket, bm, next]) {
      if ('destroy' in end) end.destroy();
      else end.close();
    }
  } finally {
    await qm.close();
  }
});

test('killed while a damaged database is replaced, it is set aside whole and replaced by the next start', async () => {
  for (const step of ['db.salvage.built', 'db.leaving.noted', 'db.leaving.moved', 'db.salvage.aside']) {
    const qm = new Qm();
    try {
      const db = openDatabase(qm.dbPath);
      const page = Number(
        db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'lccurl_seq'").pluck().get(),
      );
      db.close();
      const fd = openSync(qm.dbPath, 'r+');
      writeSync(fd, Buffer.alloc(4096, 0xa5), 0, 4096, (page - 1) * 4096);
      closeSync(fd);
      suspectDatabase(qm.dbPath);
      const damaged = readFileSync(qm.dbPath);
      await assert.rejects(qm.start({ LCC_CRASH_AT: step }), /ended/);
      assert.equal(await qm.ended(), 'SIGKILL', step);
      await qm.start();
      const aside = readdirSync(qm.home).filter(name => /^lcc\.db\.damaged-\d+$/.test(name));
      assert.equal(aside.length, 1, step);
      assert.deepEqual(readFileSync(join(qm.home, aside[0] ?? '')), damaged);
      assert.equal((await qm.control('status'))['idle'], true);
    } finally {
      await qm.close();
    }
  }
});
