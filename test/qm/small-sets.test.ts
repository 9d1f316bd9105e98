/** Many sets of one url each, through the real Queue Manager. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileIdOf } from '../../src/db/names/naming.js';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { Bm, Qm, Uns } from '../support/queue-manager.js';
import { ok, url } from './support.js';

const SETS = 20_000;

/** Sets of one url each, waiting in the order of their numbers. */
function queueUp(path: string): void {
  const db = openDatabase(path);
  db.transaction(() => {
    const row = db.prepare(
      "INSERT INTO qdb(pos, pid, curl, mimetype, psetid) VALUES (?, 7, 'http://127.0.0.1/' || ?, 'text/html', ?)",
    );
    const set = db.prepare('INSERT INTO qpsdb VALUES (?, -1, 7, ?, ?, 0, 0)');
    for (let n = 1; n <= SETS; n++) {
      row.run(n, n, n);
      set.run(n, n, n);
    }
    db.prepare('UPDATE pidb SET nurlproc = ? WHERE pid = 7').run(SETS);
    db.prepare("UPDATE counter SET value = ? WHERE name IN ('pos', 'psetid')").run(SETS);
  })();
  db.close();
}

test('twenty thousand sets of one url each are fetched in their order, also those that come meanwhile and behind a kill', async () => {
  const qm = new Qm();
  try {
    queueUp(qm.dbPath);
    const numbers: number[] = [];
    const begin = async () => {
      await qm.start();
      const bm = new Bm(qm);
      bm.onFetch = request => {
        numbers.push(Number(request.url.split('/').at(-1)));
        return { ...ok('x'), id: request.id, fileId: fileIdOf({ id: numbers.length, gen: 0 }) };
      };
      return bm;
    };
    const sendMore = async (from: number) => {
      const uns = new Uns(qm);
      for (let n = from; n < from + 30; n++) assert.ok(await uns.set(`e${n}`, [url(String(n))]));
      uns.socket.destroy();
    };
    const first = await begin();
    await sendMore(SETS + 1);
    await first.until(() => numbers.length > SETS / 2);
    await qm.kill();
    const before = numbers.splice(0);
    const second = await begin();
    const { sets } = await qm.control('status');
    assert.ok(Number(sets) <= SETS + 30);
    await sendMore(SETS + 31);
    await qm.until(status => status['idle'] === true);
    second.close();
    const rising = (all: readonly number[]) => all.every((n, i) => i === 0 || n > (all[i - 1] ?? 0));
    assert.ok(rising(before) && rising(numbers), 'in their order');
    assert.equal(new Set([...before, ...numbers]).size, SETS + 60);
    assert.deepEqual(
      qm.rows('SELECT (SELECT count(*) FROM qdb) AS urls, (SELECT count(*) FROM qpsdb) AS sets'),
      [{ urls: 0, sets: 0 }],
    );
  } finally {
    await qm.close();
  }
});
