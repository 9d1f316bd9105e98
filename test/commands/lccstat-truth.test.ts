/** What the announcements of providers are worth, as operators see it, on a database that has it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TruthReader } from '../../src/db/truth/reader.js';
import { openDatabase, openReadOnly } from '../../src/db/sqlite/open.js';
import { rationed, truthfulnessOf } from '../../src/uns/truthfulness.js';
import { readProvider } from '../../src/db/providers/pidb.js';
import { runCommand } from '../support/command.js';
import { lccpidb, newHome } from '../support/lccpidb.js';

const nowS = Math.floor(Date.now() / 1000);

/** Provider 1 is not known, 2 cries wolf: its priority is lowered; 3 was audited. */
function homeWithScores(): string {
  const home = newHome();
  for (const pid of ['1', '2', '3']) lccpidb(home, 'add', `--pid=${pid}`, '--root=http://h/', '--priority=1');
  const db = openDatabase(`${home}/lcc.db`);
  const day = Math.floor(nowS / 86_400);
  db.prepare('INSERT INTO truth(pid, day, changed, same) VALUES (2, ?, 4, 36)').run(day);
  db.prepare('INSERT INTO truth(pid, day, changed, audited, silent, late) VALUES (3, ?, 10, 59, 2, 1)').run(
    day,
  );
  const insert = db.prepare(
    "INSERT INTO audit VALUES (3, ?, ?, 'http://h/', 'text/html', ?, ?, NULL, 0, NULL)",
  );
  for (let id = 1; id <= 59; id++) insert.run(nowS - 60, id, id <= 2 ? 4 : 2, nowS);
  db.exec('UPDATE pidb SET truthmode = 2, priority = 0, fullsetsallowed = 10 WHERE pid = 2');
  db.close();
  return home;
}

test('lccstat --truth, lccpidb show and what a provider is told say the same', () => {
  const home = homeWithScores();
  const told = JSON.parse(runCommand(home, 'lccstat', ['--truth', '--json']).stdout) as {
    providers: Record<string, unknown>[];
  };
  assert.deepEqual(
    told.providers.map(({ pid, truth, c, s, a, q, late }) => [pid, truth, c, s, a, q, late]),
    [
      [1, 80, 0, 0, 0, 0, 0],
      [2, 29, 4, 36, 0, 0, 0],
      [3, 94, 10, 0, 59, 2, 1],
    ],
  );
  assert.deepEqual(told.providers[2]?.['audited'], {
    at: nowS,
    settled: 59,
    silent: 2,
    least_percent: 0.6,
    most_percent: 10.3,
  });
  assert.match(runCommand(home, 'lccstat', ['--truth']).stdout, /^ *PID {2}TRUTH .*AUDITED\n(.*\n){3}$/);
  assert.equal(runCommand(home, 'lccstat', ['--truth', '--queue']).status, 64);
  assert.match(
    lccpidb(home, 'show', '--pid=3').stdout,
    /^truthfulness: +94 of 100; 10 announced had changed, 0 had not, 0 were not to be had; of 59 audited 2 silent: 0\.6 to 10\.3 % of all$/m,
  );
  const db = openReadOnly(`${home}/lcc.db`);
  const [unknown, crying, audited] = new TruthReader(db).read(nowS);
  const provider = readProvider(db, 2);
  assert.ok(provider);
  assert.equal(truthfulnessOf(unknown), undefined);
  assert.deepEqual(truthfulnessOf(audited), {
    score: 94,
    changed: 10,
    same: 0,
    failed: 0,
    audited: 59,
    silent: 2,
    late: 1,
    dead: 0,
    noisy: 0,
  });
  assert.equal(rationed(provider, crying).fullsetsallowed, 2, '10 of which 8 of 45 are worth it');
  assert.equal(rationed(provider, audited).fullsetsallowed, 10);
  db.close();
});

test('--truth=off gives back the priority, and a priority that is given is not raised later', () => {
  const home = homeWithScores();
  const terms = () => {
    const db = openReadOnly(`${home}/lcc.db`);
    const row = db.prepare('SELECT priority, truthmode FROM pidb WHERE pid = 2').get();
    db.close();
    return row;
  };
  assert.equal(lccpidb(home, 'set', '--pid=2', '--priority=0').status, 0);
  assert.deepEqual(terms(), { priority: 0, truthmode: 1 });
  const db = openDatabase(`${home}/lcc.db`);
  db.exec('UPDATE pidb SET truthmode = 2 WHERE pid = 2');
  db.close();
  assert.equal(lccpidb(home, 'set', '--pid=2', '--truth=off').status, 0);
  assert.deepEqual(terms(), { priority: 1, truthmode: 0 });
  assert.match(lccpidb(home, 'show', '--pid=2').stdout, /^truthfulness: +29 of 100 \(without effects\)/m);
  assert.equal(lccpidb(home, 'set', '--pid=2', '--truth=on').status, 0);
  assert.deepEqual(terms(), { priority: 1, truthmode: 1 });
  assert.equal(lccpidb(home, 'set', '--pid=2', '--truth=maybe').status, 64);
});
