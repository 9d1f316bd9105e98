/**
 * Seven owners over months of simulated time, through the real intake, dispatcher, store, audit and chores: each gets the score that
 * the table computes of what it did, which is counted here apart.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScanReader } from '../../src/db/cache/scan.js';
import { silentLog } from '../../src/lib/log.js';
import { audits } from '../../src/qm/housekeeping/audits.js';
import { TruthEffects } from '../../src/qm/housekeeping/truth-effects.js';
import { audit } from '../../src/crawl/audit.js';
import type { ScanRequest } from '../../src/crawl/types.js';
import type { FetchRequest } from '../../src/wire/fetch.js';
import type { UrlRecord } from '../../src/wire/url.js';
import { randomFrom, Simulation } from './simulation.js';
import { failure, md5Of, ok, unchanged, url } from './support.js';
import { DAY, HOUR, idle, MINUTE } from './unasked-scene.js';

const DAYS = 60;
const PAGES = 12;
const HALF_LIFE_DAYS = 30;
const NOISY_DAYS = 30;

const BEHAVIOURS = [
  'honest',
  'crying',
  'silent',
  'late',
  'noisy',
  // New pages every day, and nothing else.
  'flooding',
  // Silent. It announces unchanged pages too, without a word of what they are, and learns how such ones are asked for, and all
  // that it announces; whatever is asked for otherwise is an audit, to which it answers as if nothing had changed.
  'cloaking',
] as const;
type Behaviour = (typeof BEHAVIOURS)[number];
const FLOOD = 5;

/** What counts, as spidering.md has it. */
interface Counts {
  c: number;
  s: number;
  f: number;
  a: number;
  q: number;
  late: number;
}

class Owner {
  readonly pid: number;
  readonly behaviour: Behaviour;
  /** By path: what its site serves; a page that is gone is missing. */
  readonly pages = new Map<string, string>();
  /** By path: what the LCC has. */
  readonly held = new Map<string, string>();
  readonly days: Counts[] = [];
  readonly noisyUntilDay = new Map<string, number>();
  /** Its changes of today, and what of them it will announce. */
  toAnnounce = new Set<string>();
  /** What it announced today, until it is fetched. */
  readonly claims = new Set<string>();
  /** What an audit asks for today, and what came of it. */
  readonly audited = new Map<string, 'true' | 'changed' | 'gone' | 'late' | 'none'>();
  /** As `claims`, and in no score: of these it said nothing but the url. */
  readonly bare = new Set<string>();
  /** What requests look like that it brought about. */
  readonly seen = new Set<string>();
  /** Requests that were answered as it was. */
  cloaked = 0;

  constructor(behaviour: Behaviour) {
    this.behaviour = behaviour;
    this.pid = BEHAVIOURS.indexOf(behaviour) + 1;
    for (let i = 0; i < PAGES; i++) this.pages.set(`${this.pid}/p${i}`, 'v0');
  }

  get today(): Counts {
    return this.days.at(-1) ?? assert.fail('no day');
  }

  isNoisy(path: string): boolean {
    return (this.noisyUntilDay.get(path) ?? -1) >= this.days.length;
  }

  score(): number {
    const sum = { c: 0, s: 0, f: 0, a: 0, q: 0, late: 0 };
    this.days.forEach((day, i) => {
      const weight = 0.5 ** ((this.days.length - 1 - i) / HALF_LIFE_DAYS);
      for (const [name, count] of Object.entries(day) as [keyof Counts, number][])
        sum[name] += weight * count;
    });
    const p = (sum.c + 4) / (sum.c + sum.s + sum.f + 5);
    const r = 1 - (sum.q + sum.late / 2 + 1) / (sum.a + 5);
    return Math.round((100 * 2 * p * r) / (p + r));
  }
}

/** All that a site, or its provider, could tell requests apart by; not what they are for. */
function lookOf({ url: address, id: _id, etag, lastModified, md5: _md5, len: _len, ...rest }: FetchRequest) {
  const validators = [etag !== undefined, lastModified !== undefined];
  return JSON.stringify([
    new URL(address).origin,
    validators,
    Object.entries(rest).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  ]);
}

test('an honest owner, one that cries wolf, a silent, a late, a noisy, a flooding and a cloaking one get the computed score over months', async t => {
  const random = randomFrom(29);
  const owners = BEHAVIOURS.map(behaviour => new Owner(behaviour));
  const ownerOf = (pid: number) => owners[pid - 1] ?? assert.fail(`no provider ${pid}`);
  let fetches = 0;

  function answer(request: FetchRequest, pid: number) {
    const owner = ownerOf(pid);
    const path = new URL(request.url).pathname.slice(1);
    const held = owner.held.get(path);
    const page = owner.pages.get(path);
    const isClaim = owner.claims.delete(path);
    const look = lookOf(request);
    const isBare = owner.bare.delete(path);
    if (isClaim || isBare) owner.seen.add(look);
    const cloaks = owner.behaviour === 'cloaking' && !owner.seen.has(look);
    if (cloaks) owner.cloaked++;
    const fresh = page !== undefined && owner.behaviour === 'noisy' ? `n${++fetches}` : page;
    const served = cloaks ? held : fresh;
    const settled = owner.audited.get(path);
    if (isClaim && held !== undefined && !owner.isNoisy(path))
      owner.today[served === undefined ? 'f' : served === held ? 's' : 'c']++;
    if (!isClaim && !isBare && settled !== undefined)
      owner.audited.set(path, looked(owner, path, settled, served, held));
    if (served === undefined) {
      owner.held.delete(path);
      return failure(isClaim ? 404 : 410, 'real');
    }
    owner.held.set(path, served);
    // Some servers know conditional requests, others send the same bytes again.
    if (served === held && request.etag !== undefined && random() < 0.5) return unchanged;
    return ok(served, { fileId: `${path}-${++fetches}`, etag: '"1"' });
  }

  function looked(
    owner: Owner,
    path: string,
    before: string,
    served: string | undefined,
    held: string | undefined,
  ) {
    if (before === 'changed' && served !== held) {
      owner.noisyUntilDay.set(path, owner.days.length + NOISY_DAYS);
      return 'none';
    }
    if (before !== 'true') return before as 'changed';
    if (owner.isNoisy(path)) return 'none';
    return served === undefined ? 'gone' : served === held ? 'true' : 'changed';
  }

  const sim = new Simulation({
    site: (request, pid) => ({ result: answer(request, pid), tookMs: 50 }),
    retries: 0,
  });
  t.after(() => sim.close());
  const { bench, clock } = sim;
  for (const { pid } of owners) {
    bench.provider(pid, { priority: 1 });
    bench.db.exec(`UPDATE proots SET root = 'http://127.0.0.1/${pid}/' WHERE pid = ${pid}`);
  }
  sim.start();
  const { store } = bench;
  const nowS = () => Math.floor(clock.nowMs() / 1000);
  const chore = audits({ store, clock, log: silentLog, onSet: set => sim.take(set) });
  const lowered = new Set<number>();
  const effects = new TruthEffects({ store, clock, log: silentLog, changed: pid => void lowered.add(pid) });
  const reader = new ScanReader(bench.path);
  t.after(() => reader.close());

  /** As file2url says it, or with a time alone: then nothing shows that it is not new. */
  const notice = (owner: Owner, path: string): UrlRecord => {
    const page = owner.pages.get(path);
    const isBare = owner.behaviour === 'crying' || owner.behaviour === 'noisy' || page === undefined;
    return url(path, isBare ? { mtime: mtimeNow() } : { md5: md5Of(page), len: String(page.length) });
  };
  const mtimeNow = () => new Date(clock.nowMs()).toISOString().replace(/\.\d+Z$/, 'Z');
  const announce = async (owner: Owner, paths: Iterable<string>) => {
    const all = [...paths];
    for (const path of all) owner.claims.add(path);
    if (all.length > 0)
      await sim.send(
        owner.pid,
        all.map(path => notice(owner, path)),
      );
  };

  /** Some that have not changed. */
  async function announceBare(owner: Owner, count: number): Promise<void> {
    const same = [...owner.pages].filter(
      ([path, page]) => owner.held.get(path) === page && !owner.claims.has(path),
    );
    for (const [path] of same.slice(0, count)) owner.bare.add(path);
    await sim.send(
      owner.pid,
      [...owner.bare].map(path => url(path)),
    );
  }

  function change(owner: Owner, day: number): void {
    const { pages, behaviour } = owner;
    owner.toAnnounce = new Set();
    for (const path of pages.keys()) {
      const isChanged =
        behaviour !== 'noisy' &&
        behaviour !== 'flooding' &&
        random() < (behaviour === 'crying' ? 0.05 : 0.15);
      if (isChanged) pages.set(path, `v${day}`);
      const isSaid =
        behaviour === 'honest'
          ? isChanged
          : behaviour === 'silent' || behaviour === 'cloaking'
            ? isChanged && random() < 0.3
            : behaviour === 'crying'
              ? random() < 0.8
              : behaviour === 'noisy' && random() < 0.1;
      if (isSaid) owner.toAnnounce.add(path);
    }
    const flood = behaviour === 'flooding' ? FLOOD : 0;
    for (let i = 0; i < flood; i++) {
      const path = `${owner.pid}/d${day}-${i}`;
      pages.set(path, 'v0');
      owner.toAnnounce.add(path);
    }
    const [first] = pages.keys();
    if (day % 20 !== 0 || first === undefined || pages.size < 9) return;
    if (behaviour === 'silent') pages.delete(first);
    else if (behaviour === 'crying') {
      pages.delete(first);
      owner.toAnnounce.add(first);
    }
  }

  /** What lccscan sends through the spider door, a set a provider. */
  async function drawAudit(): Promise<void> {
    const drawn: ScanRequest[] = [];
    const sink = { add: (request: ScanRequest) => void drawn.push(request), finish: () => Promise.resolve() };
    const options = { pids: new Set<number>(), limit: undefined, perDay: 100, percentPerDay: 2 };
    await audit(reader, sink, options, nowS(), below => Math.floor(random() * below));
    for (const owner of owners) {
      const mine = drawn.filter(({ pid }) => pid === owner.pid).map(({ curl }) => url(curl));
      for (const { curl } of mine) owner.audited.set(new URL(curl).pathname.slice(1), 'true');
      if (mine.length > 0) await sim.send(owner.pid, mine, { origin: 'audit' });
    }
  }

  for (const owner of owners) {
    owner.days.push({ c: 0, s: 0, f: 0, a: 0, q: 0, late: 0 });
    await announce(owner, owner.pages.keys());
  }
  assert.ok(await idle(sim));
  const startMs = clock.nowMs();
  for (let day = 1; day <= DAYS; day++) {
    clock.advance(startMs + day * DAY - clock.nowMs());
    for (const owner of owners) {
      owner.days.push({ c: 0, s: 0, f: 0, a: 0, q: 0, late: 0 });
      owner.audited.clear();
      change(owner, day);
      await announce(owner, owner.toAnnounce);
      if (owner.behaviour === 'cloaking') await announceBare(owner, 3);
    }
    assert.ok(await idle(sim));
    clock.advance(2 * HOUR);
    await drawAudit();
    assert.ok(await idle(sim));
    const late = ownerOf(4);
    const caught = [...late.audited].filter(([, look]) => look === 'changed').map(([path]) => path);
    clock.advance(12 * MINUTE);
    chore.run();
    assert.ok(await idle(sim));
    await announce(late, caught);
    late.claims.clear();
    for (const path of caught) late.audited.set(path, 'late');
    assert.ok(await idle(sim));
    clock.advance(2 * HOUR);
    chore.run();
    for (const owner of owners)
      for (const look of owner.audited.values()) {
        if (look !== 'none') owner.today.a++;
        if (look === 'changed' || look === 'gone') owner.today.q++;
        if (look === 'late') owner.today.late++;
      }
    effects.run();
    if (day % 20 !== 0) continue;
    for (const owner of owners) {
      const [known] = store.scores(nowS(), owner.pid);
      assert.equal(known?.truth, owner.score(), `${owner.behaviour} on day ${day}`);
    }
  }
  const scores = owners.map(owner => owner.score());
  const [honest = 0, crying = 0, silent = 0, tardy = 0, noisy = 0, flooding = 0, cloaking = 0] = scores;
  t.diagnostic(JSON.stringify({ honest, crying, silent, late: tardy, noisy, flooding, cloaking, fetches }));
  assert.ok(honest >= 95 && noisy >= 80, `of no harm to those that are right: ${honest} ${noisy}`);
  assert.ok(crying < 50 && silent < honest && tardy < honest, `${crying} ${silent} ${tardy}`);
  const [flood] = store.scores(nowS(), 6);
  assert.deepEqual([flood?.precision, flood?.counts.changed], [0.8, 0], 'new pages are in no score');
  assert.ok(
    (flood?.counts.fresh ?? 0) > FLOOD * 20 && flooding < honest,
    `${flood?.counts.fresh} ${flooding}`,
  );
  const cloaked = owners[6];
  assert.ok(cloaked !== undefined && cloaked.seen.size > 0);
  assert.equal(cloaked.cloaked, 0, 'an audit asks as for what is announced');
  assert.ok(cloaking < honest, `${cloaking}`);
  assert.deepEqual([...lowered].includes(2), true);
  const priorities = bench
    .all<{ priority: number }>('SELECT priority FROM pidb ORDER BY pid')
    .map(one => one.priority);
  assert.deepEqual([priorities[0], priorities[1], priorities[4]], [1, 0, 1]);
  const codes = bench.all(
    'SELECT pid, code, count(*) AS n FROM pierr WHERE code IN (616, 617) GROUP BY pid, code',
  );
  const told = (pid: number) => owners[pid - 1]?.days.reduce((sum, day) => sum + day.q, 0);
  assert.deepEqual(
    [...new Set(codes.map(one => one['pid']))],
    [3, 7],
    'those that are silent are told, and nobody else',
  );
  assert.ok((told(3) ?? 0) > 20);
});
