/** Single bits flipped in what is kept of providers: none is served by terms that nobody set, or told of wrong errors. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Db } from '../../src/db/open.js';
import { addProvider, changeLogin, readProvider } from '../../src/db/pidb.js';
import { PidbReader } from '../../src/db/pidb-reader.js';
import type { QueueStore } from '../../src/db/queue/store.js';
import { LccError, messageOf } from '../../src/lib/errors.js';
import { silentLog } from '../../src/lib/log.js';
import { ProviderSums } from '../../src/qm/housekeeping/provider-sums.js';
import { Bench, url } from '../qm/support.js';
import { Flips, startUntilDone, storeOf } from '../support/flips.js';

const FLIPS = 400;
const PROVIDERS = 30;
const ERRORS = 60;
const TABLES = ['pidb', 'proots', 'sitelogin', 'pidbsum', 'pierr', 'sqlite_autoindex_pierr_1', 'pierr_pid'];

let bench: Bench;
let flips: Flips;
/** By provider: what a UNS, and a Queue Manager, have to see. */
const uns = new Map<number, string>();
const qm = new Map<number, string>();
const fuses = new Map<number, string>();
const errors = new Set<string>();

function seenByUns({ password, roots, ...provider }: NonNullable<ReturnType<typeof readProvider>>): string {
  const { enabled, filesmax, spacemax, fullsetsallowed } = provider;
  return JSON.stringify([password, roots, enabled, filesmax, spacemax, fullsetsallowed]);
}

function seenByQm(store: QueueStore, pid: number): string | undefined {
  const provider = store.providers.get(pid);
  if (provider === undefined || provider.damaged) return undefined;
  const { enabled, paused, priority, parallel, bandwidth, timeofday, enforce, maxlen, useragent, login } =
    provider;
  const terms = {
    enabled,
    paused,
    priority,
    parallel,
    bandwidth,
    timeofday,
    enforce,
    maxlen,
    useragent,
    login,
  };
  return JSON.stringify([terms, store.providers.roots(pid)]);
}

before(async () => {
  bench = new Bench();
  // Numbers of errors begin with the time, and their sums differ in length: every run is to flip the same bits.
  bench.db.exec("UPDATE sqlite_sequence SET seq = 1800000000000 WHERE name = 'pierr'");
  for (let pid = 1; pid <= PROVIDERS; pid++) {
    const roots = [0, 1, 2].map(i => `http://host-${pid}.example.org/with/a/rather/long/path/${i}/`);
    const terms = {
      filesmax: 1000 + pid,
      timeofday: '10'.repeat(12),
      useragent: `robot-${pid}`,
      fusepercent: pid,
    };
    addProvider(bench.db, pid, `sha256:${pid}:abcdef`, terms, roots);
    changeLogin(bench.db, pid, `user-${pid}:secret`);
  }
  await bench.send(
    1,
    Array.from({ length: ERRORS }, (_, i) => url(`some/rather/long/path/${i}`)),
  );
  for (let i = 0; i < ERRORS; i++) bench.missing(1, `some/rather/long/path/${i}`);
  for (let pid = 1; pid <= PROVIDERS; pid++) {
    const provider = readProvider(bench.db, pid);
    assert.ok(provider);
    uns.set(pid, seenByUns(provider));
    qm.set(pid, seenByQm(bench.store, pid) ?? '');
    fuses.set(pid, JSON.stringify([pid, null]));
  }
  for (const error of bench.all<{ text: string; attrs: string }>('SELECT code, text, attrs FROM pierr'))
    errors.add(JSON.stringify(error));
  assert.equal(errors.size, ERRORS);
  flips = new Flips(bench.db, bench.dir, TABLES);
});
after(() => bench.close());

const isNoticed = (error: unknown) =>
  error instanceof LccError || /malformed|SQLITE|JSON/.test(messageOf(error));

/** @returns what a UNS would do wrong */
function unsWrong(path: string): string | undefined {
  const reader = new PidbReader(path);
  try {
    for (const [pid, right] of uns) {
      try {
        const provider = reader.provider(pid);
        if (provider === undefined) return `provider ${pid} is unknown`;
        if (seenByUns(provider) !== right) return `let in by ${seenByUns(provider)}`;
      } catch (error) {
        if (!isNoticed(error)) return messageOf(error);
      }
    }
    for (let pid = 1; pid <= PROVIDERS; pid++)
      for (const { code, text, attrs } of reader.errorsAbove(pid, 0, 1000).shown)
        if (pid !== 1 || !errors.has(JSON.stringify({ code, text, attrs }))) return `told ${pid}: ${attrs}`;
    return undefined;
  } catch (error) {
    return isNoticed(error) ? undefined : messageOf(error);
  } finally {
    reader.close();
  }
}

/** @returns what a Queue Manager would do wrong, which looks through all of it meanwhile */
function qmWrong(db: Db): string | undefined {
  const store = storeOf(db);
  const look = () => {
    for (const [pid, right] of qm) {
      const seen = seenByQm(store, pid);
      if (seen !== undefined && seen !== right) return `fetches by ${seen}`;
      const fuse = store.held.terms(pid);
      if (
        fuse !== undefined &&
        ![fuses.get(pid), '[null,null]'].includes(JSON.stringify([fuse.fusepercent, fuse.fuseurls]))
      )
        return `lets pass by ${JSON.stringify(fuse)}`;
    }
    return undefined;
  };
  const wrong = look();
  const chore = new ProviderSums({ store, clock: bench.clock, log: silentLog, changed: () => undefined });
  for (let i = 0; i < 4; i++) chore.run();
  for (const found of store.errors.damaged()) store.transaction(() => store.errors.drop(found));
  return wrong ?? look();
}

function trial(path: string): string | undefined {
  const before = unsWrong(path);
  if (before !== undefined) return `before the start, ${before}`;
  let wrong: string | undefined;
  const died = startUntilDone(path, db => (wrong = qmWrong(db)), isNoticed);
  return died ?? wrong ?? unsWrong(path);
}

test(`of ${FLIPS} single bits flipped none has a provider served by what nobody set`, () => {
  assert.deepEqual(flips.failures(FLIPS, trial), []);
});
