/** The real Queue Manager is killed after what audits found is settled, and after scores had their effect; the end must be the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { leavesTheSame, type KillEnv } from '../support/kills.js';
import { Qm } from '../support/queue-manager.js';

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;

/**
 * Audits at all places: of provider 7 one url is silent, one is gone, one is to be asked for again, and nobody knows of the last one;
 * all of 8 is settled, most of it silent. What 9 announces is worth nothing, and what 10 announces is again.
 */
function prepare(qm: Qm): void {
  const db = openDatabase(qm.dbPath);
  const nowS = Math.floor(Date.now() / 1000);
  const day = Math.floor(nowS / DAY_S);
  db.exec(`
    UPDATE pidb SET priority = 1, lastset = ${nowS};
    INSERT INTO pidb(pid, password, priority) VALUES (9, 'x', 1);
    INSERT INTO pidb(pid, password, priority, truthmode) VALUES (10, 'x', 0, 2);
    INSERT INTO truth(pid, day, same) VALUES (9, ${day}, 40);
    INSERT INTO truth(pid, day, changed, audited) VALUES (10, ${day}, 40, 40)`);
  const held = db.prepare(
    `INSERT INTO lccurl(seq, pid, psetid, curl, mimetype, md5, len, fetched_machineid, fetched_fileid, fetched_time)
     VALUES (?, ?, 1, 'http://127.0.0.1/' || ?, 'text/html', 'aa', 1, 'm1', ?, ?)`,
  );
  const audit = db.prepare(
    "INSERT INTO audit(pid, began, id, curl, mimetype, state, asked, again, second) SELECT pid, ?, id, curl, mimetype, ?, ?, ?, ? FROM lccurl WHERE curl = 'http://127.0.0.1/' || ?",
  );
  const began = nowS - 3 * HOUR_S;
  const put = (pid: number, name: string, state: number, askedS: number | null, againS: number | null) => {
    held.run(++seq, pid, name, `f${seq}`, nowS - DAY_S);
    // The second look at a change is soon after the first.
    audit.run(began, state, askedS, againS, state === 1 && askedS !== null ? askedS + 600 : null, name);
  };
  let seq = 0;
  put(7, 'silent', 1, nowS - 2 * HOUR_S, null);
  put(7, 'dead', 1, nowS - 2 * HOUR_S, null);
  put(7, 'again', 0, nowS - 2 * HOUR_S, nowS - HOUR_S);
  put(7, 'lost', 0, null, null);
  for (let i = 0; i < 10; i++) put(8, `p${i}`, i < 9 ? 4 : 2, nowS - 2 * HOUR_S, null);
  db.exec(`DELETE FROM lccurl WHERE curl = 'http://127.0.0.1/dead';
    UPDATE audit SET gone = 1 WHERE curl = 'http://127.0.0.1/dead';
    UPDATE pidb SET filesused = (SELECT count(*) FROM lccurl WHERE lccurl.pid = pidb.pid),
      spaceused = (SELECT coalesce(sum(len), 0) FROM lccurl WHERE lccurl.pid = pidb.pid);
`);
  db.close();
}

/** @returns what is left, without times, after two rounds of the chores */
async function settle(env: KillEnv): Promise<Record<string, unknown>[][]> {
  const qm = new Qm();
  try {
    prepare(qm);
    let isToDie = 'LCC_CRASH_AT' in env;
    const round = async () => {
      if (isToDie) {
        // It may be ready before it dies.
        await qm.start(env).catch(() => undefined);
        assert.equal(await qm.ended(), 'SIGKILL');
        isToDie = false;
      }
      await qm.start(env);
      await qm.until(status => status['rows_queued'] === 1);
      await qm.kill('SIGTERM');
    };
    await round();
    await round();
    return [
      'SELECT pid, curl, state, again FROM audit ORDER BY pid, curl',
      'SELECT pid, changed, same, audited, silent, dead, late, noisy FROM truth ORDER BY pid, audited',
      'SELECT pid, code, count(*) AS n FROM pierr GROUP BY pid, code ORDER BY pid, code',
      'SELECT pid, curl, flags FROM qdb ORDER BY pid, curl',
      'SELECT pid, class FROM qpsdb',
      'SELECT pid, priority, truthmode, fullsetwanted, nurlproc, nurlerrs, auditdue > unixepoch() AS due FROM pidb ORDER BY pid',
    ].map(sql => qm.rows(sql));
  } finally {
    await qm.close();
  }
}

test('killed after audits are settled or scores had their effect, nothing is told, asked or lowered twice, and nothing is lost', async () => {
  const undisturbed = await leavesTheSame(['qm.audit.settled', 'qm.truth.applied'], settle);
  const [audits, truth, errors, queue, sets, providers] = undisturbed;
  assert.deepEqual(
    audits?.filter(({ pid }) => pid === 7).map(({ curl, state }) => [String(curl).slice(17), state]),
    [
      ['again', 0],
      ['dead', 5],
      ['lost', 6],
      ['silent', 4],
    ],
  );
  assert.deepEqual(
    truth?.find(({ pid }) => pid === 7),
    { pid: 7, changed: 0, same: 0, audited: 2, silent: 2, dead: 1, late: 0, noisy: 0 },
  );
  assert.deepEqual(errors, [
    { pid: 7, code: 616, n: 1 },
    { pid: 7, code: 617, n: 1 },
  ]);
  assert.deepEqual([queue?.length, sets], [1, [{ pid: 7, class: 4 }]]);
  assert.deepEqual(
    providers?.map(({ pid, priority, truthmode, fullsetwanted, due }) => [
      pid,
      priority,
      truthmode,
      fullsetwanted,
      due,
    ]),
    [
      [7, 1, 1, null, 0],
      [8, 1, 1, 'silent changes', 1],
      [9, 0, 2, null, 0],
      [10, 1, 1, null, 0],
    ],
  );
});
