import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  addProvider,
  addRoots,
  changeLogin,
  changePassword,
  changeProvider,
  confirmProvider,
  readProvider,
  removeProvider,
  removeRoots,
} from '../../src/db/pidb.js';
import { PidbReader } from '../../src/db/pidb-reader.js';
import { Terms } from '../../src/db/terms.js';
import { LccError } from '../../src/lib/errors.js';
import { silentLog } from '../../src/lib/log.js';
import { ProviderSums } from '../../src/qm/housekeeping/provider-sums.js';
import { Simulation } from '../qm/simulation.js';
import { Bench, ok, url } from '../qm/support.js';
import { damageProviders } from '../support/terms.js';

const ROOT = 'http://127.0.0.1/';
let bench: Bench;
let terms: Terms;
beforeEach(() => {
  bench = new Bench();
  terms = new Terms(bench.db);
  addProvider(bench.db, 7, 'sha256:00:11', { useragent: 'bot' }, [ROOT, 'http://other/']);
  changeLogin(bench.db, 7, 'user:secret');
});
afterEach(() => bench.close());
const damage = (sql: string) => damageProviders(bench.db, sql);
/** Rounds of the chore until it has looked at all. */
function look(changed: () => void = () => undefined): ProviderSums {
  const chore = new ProviderSums({ store: bench.store, clock: bench.clock, log: silentLog, changed });
  for (let i = 0; i < 5; i++) chore.run();
  return chore;
}

describe('what is kept of a provider', () => {
  it('agrees with its sum after every change that lccpidb and lccctl make', () => {
    for (const change of [
      () => undefined,
      () =>
        changeProvider(bench.db, 7, { enabled: false, filesmax: 7, timeofday: '1'.repeat(24), maxlen: 9 }),
      () => changePassword(bench.db, 7, 'other'),
      () => addRoots(bench.db, 7, ['http://third/']),
      () => removeRoots(bench.db, 7, ['http://third/']),
      () => changeLogin(bench.db, 7, undefined),
      () => bench.store.transaction(() => bench.store.providers.setPaused(true, 7)),
      () => bench.store.transaction(() => bench.store.providers.setPaused(false)),
    ]) {
      change();
      assert.equal(terms.state(7), 'sound', String(change));
    }
    removeProvider(bench.db, 7);
    assert.equal(terms.state(7), undefined);
  });

  const columns = Object.entries({
    password: "'sha256:00:12'",
    enabled: '3',
    filesmax: 'filesmax + 1',
    spacemax: 'spacemax - 1',
    fullsetsallowed: '2',
    bandwidth: '1',
    timeofday: `'${'0'.repeat(24)}'`,
    priority: '0',
    parallel: '2',
    enforce: '1',
    paused: '1',
    fusepercent: '0',
    fuseurls: '0',
    maxlen: '1',
    fetchtimeout: '1',
    useragent: "'bos'",
  }).map(([column, value]) => `UPDATE pidb SET ${column} = ${value}`);
  for (const sql of [
    ...columns,
    "UPDATE proots SET root = 'http://127.0.0.9/' WHERE root LIKE '%127%'",
    "UPDATE proots SET root = CAST(root AS BLOB) WHERE root LIKE '%127%'",
    "DELETE FROM proots WHERE root LIKE '%127%'",
    "UPDATE sitelogin SET login = 'user:secreT'",
    'DELETE FROM sitelogin',
    'UPDATE pidb SET pid = 263',
  ]) {
    it(`is not believed after damage like: ${sql}`, () => {
      const before = readProvider(bench.db, 7);
      bench.db.pragma('foreign_keys = OFF');
      damage(sql);
      assert.equal(terms.state(7), 'damaged');
      const reader = new PidbReader(bench.path);
      assert.throws(
        () => reader.provider(7),
        (error: unknown) =>
          error instanceof LccError && error.code === 'data.malformed' && /--confirm/.test(error.message),
      );
      reader.close();
      const provider = bench.store.providers.get(7);
      assert.ok(
        provider === undefined || (provider.damaged && provider.paused === 1 && provider.login === null),
      );
      assert.deepEqual(look().damaged, [7]);
      assert.ok(before !== undefined && !before.damaged);
    });
  }

  it('is believed when people have written it with SQL, and summed by the next Queue Manager that looks', () => {
    for (const sql of [
      ...columns,
      "INSERT INTO proots VALUES (7, 'http://new/')",
      "UPDATE proots SET root = 'http://newer/' WHERE root = 'http://new/'",
      "DELETE FROM proots WHERE root = 'http://newer/'",
      "UPDATE sitelogin SET login = 'a:b'",
      'DELETE FROM sitelogin',
      "INSERT INTO sitelogin VALUES (7, 'c:d')",
      "INSERT OR REPLACE INTO pidb(pid, password) VALUES (7, 'x')",
    ]) {
      bench.db.exec(sql);
      assert.equal(terms.state(7), 'unsummed', sql);
      look();
      assert.equal(terms.state(7), 'sound', sql);
    }
    bench.db.exec("INSERT INTO pidb(pid, password) VALUES (9, 'x'); DELETE FROM pidb WHERE pid = 7");
    assert.deepEqual([terms.state(7), terms.state(9)], [undefined, 'unsummed']);
    bench.db.exec('UPDATE pidb SET filesused = 5, lastconnseq = 3');
  });

  it('stays damaged through every change until it is confirmed', () => {
    damage('UPDATE pidb SET filesmax = 1');
    for (const change of [
      () => changeProvider(bench.db, 7, { priority: 2 }),
      () => changePassword(bench.db, 7, 'y'),
      () => addRoots(bench.db, 7, ['http://third/']),
      () => changeLogin(bench.db, 7, 'e:f'),
      () => bench.store.transaction(() => bench.store.providers.setPaused(true)),
    ]) {
      change();
      assert.equal(terms.state(7), 'damaged', String(change));
      assert.equal(readProvider(bench.db, 7)?.damaged, true);
    }
    changeProvider(bench.db, 7, { filesmax: 1000 });
    confirmProvider(bench.db, 7);
    assert.equal(terms.state(7), 'sound');
    assert.equal(readProvider(bench.db, 7)?.damaged, false);
  });

  it('that cannot be found at all can be forgotten, or made anew', () => {
    const lose = () => {
      bench.db.pragma('foreign_keys = OFF');
      damage('DELETE FROM pidb WHERE pid = 7');
      assert.equal(terms.state(7), 'damaged');
    };
    lose();
    addProvider(bench.db, 7, 'z', {}, [ROOT]);
    assert.equal(terms.state(7), 'sound');
    lose();
    removeProvider(bench.db, 7);
    assert.equal(terms.state(7), undefined);
  });
});

describe('sets of a damaged provider that were accepted before', () => {
  it('are taken: nothing is refused for a quota or removed past a fuse that nobody set', async () => {
    changeProvider(bench.db, 7, { fusepercent: 0, fuseurls: 0 });
    damage('UPDATE pidb SET filesmax = 0, spacemax = 0, fusepercent = 100');
    const counts = await bench.send(7, [url('a'), url('b', { len: '5' })]);
    assert.deepEqual(counts, { queued: 2, duplicate: 0, unchanged: 0, deleted: 0 });
    assert.deepEqual(bench.all('SELECT * FROM pierr'), []);
    assert.deepEqual(bench.store.held.terms(7), { fusepercent: null, fuseurls: null, filesused: 0 });
    confirmProvider(bench.db, 7);
    await bench.send(7, [url('c')]);
    assert.equal(bench.value('SELECT code FROM pierr'), 202);
  });

  it('wait, as if it were paused, until it is confirmed', async () => {
    const sim = new Simulation({ site: request => ({ result: ok(request.url), tookMs: 10 }) });
    try {
      sim.bench.provider(1);
      new Terms(sim.bench.db).confirm(1);
      sim.start();
      damageProviders(sim.bench.db, "UPDATE proots SET root = 'http://127.0.0.9/'");
      sim.reload();
      await sim.send(1, [url('a'), url('b')]);
      await sim.pass(60_000);
      assert.equal(sim.fetches.length, 0);
      damageProviders(sim.bench.db, "UPDATE proots SET root = 'http://127.0.0.1/'");
      sim.reload();
      await sim.pass(60_000);
      assert.equal(sim.fetches.length, 2);
    } finally {
      sim.close();
    }
  });
});

describe('errors for providers', () => {
  it('that are damaged are told nobody, counted out and removed; others keep their numbers', async () => {
    await bench.send(7, [url('a'), url('b')]);
    for (const name of ['a', 'b']) bench.missing(7, name);
    const reader = new PidbReader(bench.path);
    const shown = () => reader.errorsAbove(7, 0, 10).shown.map(({ attrs }) => /\/(.)"/.exec(attrs)?.[1]);
    assert.deepEqual(shown(), ['a', 'b']);
    bench.db.exec("UPDATE pierr SET code = code + 1 WHERE attrs LIKE '%/a\"%'");
    assert.deepEqual(shown(), ['b']);
    const found = [...bench.store.errors.damaged()].flat();
    assert.equal(found.length, 1);
    bench.store.transaction(() => bench.store.errors.drop(found));
    assert.equal(bench.value('SELECT nurlerrs FROM pidb'), 1);
    assert.deepEqual([...bench.store.errors.damaged()].flat(), []);
    reader.close();
  });
});
