import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, test } from 'node:test';
import { changeProvider } from '../../src/db/providers/pidb.js';
import { readRegisteredPids } from '../../src/db/providers/registered.js';
import { silentLog } from '../../src/lib/log.js';
import { hashPassword, passwordMatches } from '../../src/lib/password.js';
import type { Chore } from '../../src/qm/housekeeping.js';
import { departures } from '../../src/qm/housekeeping/departures.js';
import type { RsOperations } from '../../src/qm/rs-operations.js';
import type { RsAnswer, RsChange, RsControl, RsQuestion } from '../../src/wire/qm-rs.js';
import { rsOperationsOf } from './rs-bench.js';
import { Bench, url } from './support.js';

const PID = 100_000;
const OTHER = 100_001;
const ROOT = 'http://127.0.0.1/';
const [DOCS, NEWS] = [`${ROOT}docs/`, `${ROOT}news/`];
const DAY_MS = 86_400_000;
const SLICE = 3;
let bench: Bench;
let operations: RsOperations;
let chore: Chore;
let told: string[];

function begin(): void {
  const { store, clock } = bench;
  told = [];
  operations = rsOperationsOf(bench, told);
  const onCommit = () => undefined;
  const changed = (pid: number) => void told.push(`over ${pid}`);
  chore = departures({ store, clock, log: silentLog, sliceUrls: SLICE, onCommit, changed });
}

beforeEach(() => {
  bench = new Bench({ sliceUrls: SLICE });
  bench.db.pragma('synchronous = OFF');
  bench.clock.advance(1000 * DAY_MS);
  begin();
});
afterEach(() => bench.close());

const ask = (change: RsChange, id: string = randomUUID()): RsAnswer => operations.answer({ id, change });
const tell = (question: RsQuestion) => {
  const answer = operations.answer({ id: undefined, question });
  assert.ok('ok' in answer);
  return answer.ok;
};
const refusalOf = (answer: RsAnswer) => ('refused' in answer ? answer.refused : JSON.stringify(answer));
const register = (pid: number, roots: string[]) =>
  assert.ok('ok' in ask({ op: 'register', pid, password: hashPassword('first'), roots }));
const nowS = () => Math.floor(bench.clock.nowMs() / 1000);
const held = (pid = PID) =>
  bench
    .all<{ curl: string }>(`SELECT curl FROM lccurl WHERE pid = ${pid} ORDER BY curl`)
    .map(row => row.curl);
const waiting = (pid = PID) => bench.value(`SELECT count(*) FROM qdb WHERE pid = ${pid}`);
const column = (name: string, pid = PID) => bench.value(`SELECT ${name} FROM pidb WHERE pid = ${pid}`);

/** Stores pages of a provider. */
async function store(pid: number, curls: readonly string[]): Promise<void> {
  await bench.send(
    pid,
    curls.map(curl => url(curl)),
  );
  for (const curl of curls) assert.equal(bench.fetch(pid, curl), 'done');
}

/** Lets the chore do all that is due. @returns in how many steps */
function carryOut(): number {
  let steps = 0;
  while (bench.store.departures.next(nowS()) !== undefined) {
    chore.run();
    assert.ok(++steps < 1000, 'it comes to an end');
  }
  return steps;
}

test('one that leaves is not enabled at once, can come back for a week, and has then nothing but its number', async () => {
  register(PID, [DOCS, NEWS]);
  register(OTHER, [DOCS]);
  const pages = Array.from({ length: 10 }, (_, i) => `${DOCS}p${i}`);
  await store(PID, pages);
  await store(OTHER, pages);
  await bench.send(PID, [url(`${NEWS}waits`), url(`${NEWS}fails`)]);
  bench.missing(PID, `${NEWS}fails`);

  const leaveat = nowS() + 7 * 86_400;
  assert.deepEqual(ask({ op: 'leave', pid: PID }), { ok: { pid: PID, generation: 1, leaveat } });
  assert.equal(column('enabled'), 0);
  assert.equal(refusalOf(ask({ op: 'leave', pid: PID })), 'state');
  bench.clock.advance(6.9 * DAY_MS);
  assert.equal(carryOut(), 0);
  assert.deepEqual(ask({ op: 'stay', pid: PID }), { ok: { pid: PID, generation: 1 } });
  assert.deepEqual([column('enabled'), held().length, waiting()], [1, 10, 1], 'nothing is lost');
  assert.equal(refusalOf(ask({ op: 'stay', pid: PID })), 'state', 'it stays already');
  bench.clock.advance(DAY_MS);
  assert.equal(carryOut(), 0, 'the first leave is undone for good');

  ask({ op: 'leave', pid: PID });
  bench.clock.advance(7 * DAY_MS);
  assert.equal(refusalOf(ask({ op: 'stay', pid: PID })), 'state', 'its time is over');
  assert.equal(refusalOf(ask({ op: 'enable', pid: PID })), 'state', 'for the operator as well');
  assert.ok(carryOut() > 10 / SLICE, 'a slice at a time');
  assert.deepEqual([held(), waiting()], [[], 0]);
  assert.deepEqual(bench.all('SELECT count(*) AS n, count(DISTINCT curl) AS curls FROM tombstone'), [
    { n: 10, curls: 10 },
  ]);
  assert.deepEqual(
    bench.all(`SELECT filesused, spaceused, nurlproc, nurlerrs, enabled FROM pidb WHERE pid = ${PID}`),
    [{ filesused: 0, spaceused: 0, nurlproc: 0, nurlerrs: 0, enabled: 0 }],
  );
  for (const table of ['proots', 'pierr', 'held', 'qpsdb'])
    assert.equal(bench.value(`SELECT count(*) FROM ${table} WHERE pid = ${PID}`), 0, table);
  assert.deepEqual(told.slice(-1), [`over ${PID}`]);

  assert.deepEqual([held(OTHER).length, column('enabled', OTHER)], [10, 1], 'others are untouched');
  assert.deepEqual(readRegisteredPids(bench.db), [OTHER]);
  assert.deepEqual(tell({ op: 'status' }), { providers: 1 });
  assert.equal(passwordMatches('first', String(column('password'))), false);
  bench.clock.advance(60 * DAY_MS);
  const password = hashPassword('x');
  assert.equal(refusalOf(ask({ op: 'register', pid: PID, password, roots: [DOCS] })), 'taken', 'for good');
  assert.equal(refusalOf(ask({ op: 'password', pid: PID, password, generation: 1 })), 'unknown');
});

test('a removal that was cut off anywhere goes on, and what a UNS brings later goes as well', async () => {
  register(PID, [DOCS]);
  await store(
    PID,
    Array.from({ length: 10 }, (_, i) => `${DOCS}p${i}`),
  );
  ask({ op: 'leave', pid: PID });
  bench.clock.advance(8 * DAY_MS);
  for (let cut = 0; held().length > 0; cut++) {
    assert.ok(cut < 100);
    chore.run();
    chore.run();
    bench.reopen();
    begin();
  }
  carryOut();
  assert.equal(bench.value('SELECT count(*) FROM tombstone'), 10);
  await bench.send(PID, [url(`${DOCS}late`)]);
  assert.equal(waiting(), 1);
  carryOut();
  assert.equal(waiting(), 0);
});

test('what the operator says of one that leaves holds: enabled, it stays; disabled, it cannot come back by itself', async () => {
  register(PID, [DOCS]);
  await store(
    PID,
    Array.from({ length: 10 }, (_, i) => `${DOCS}p${i}`),
  );
  ask({ op: 'leave', pid: PID });
  bench.clock.advance(8 * DAY_MS);
  for (const _ of [1, 2]) chore.run();
  const left = held().length;
  assert.ok(left > 0 && left < 10);
  changeProvider(bench.db, PID, { enabled: true });
  chore.run();
  assert.deepEqual([carryOut(), held().length, column('enabled')], [0, left, 1]);
  ask({ op: 'leave', pid: PID });
  ask({ op: 'disable', pid: PID });
  assert.ok('ok' in ask({ op: 'stay', pid: PID }));
  assert.deepEqual([column('enabled'), column('leaveat')], [0, null]);
  for (const op of ['leave', 'stay'] as const)
    assert.equal(refusalOf(ask({ op, pid: PID })), 'state', `${op} of one that the operator disabled`);
  assert.deepEqual(ask({ op: 'enable', pid: PID }), { ok: { pid: PID } });
  ask({ op: 'leave', pid: PID });
  assert.ok('ok' in ask({ op: 'enable', pid: PID }));
  assert.deepEqual([column('enabled'), column('leaveat')], [1, null], 'the operator lets it stay');
});

test('a root that is taken off takes with it what lies outside of the others, and nothing else', async () => {
  register(PID, [ROOT, DOCS, NEWS]);
  register(OTHER, [NEWS]);
  const [docs, news] = [DOCS, NEWS].map(root => Array.from({ length: 5 }, (_, i) => `${root}p${i}`)) as [
    string[],
    string[],
  ];
  await store(PID, [...docs, ...news, `${ROOT}top`]);
  await store(OTHER, news);
  await bench.send(PID, [url(`${NEWS}waits`), url(`${DOCS}waits`)]);
  assert.ok('ok' in ask({ op: 'root-rm', pid: PID, roots: [ROOT] }));
  carryOut();
  assert.deepEqual(held(), [...docs, ...news]);
  assert.equal(refusalOf(ask({ op: 'root-rm', pid: PID, roots: [ROOT] })), 'roots', 'it has it no more');
  assert.equal(
    refusalOf(ask({ op: 'root-rm', pid: PID, roots: [DOCS, NEWS] })),
    'roots',
    'the last one stays',
  );
  const id = randomUUID();
  const change: RsChange = { op: 'root-rm', pid: PID, roots: [NEWS] };
  const answer = ask(change, id);
  assert.ok('ok' in answer);
  bench.reopen();
  begin();
  assert.deepEqual(ask(change, id), answer, 'sent again');
  assert.ok(carryOut() > 2);
  assert.deepEqual(held(), docs);
  assert.deepEqual(bench.all('SELECT curl FROM qdb'), [{ curl: `${DOCS}waits` }]);
  assert.deepEqual([held(OTHER), column('trimming')], [news, 0]);
  assert.equal(bench.value('SELECT count(*) FROM tombstone'), 6);
});

test('a set that was accepted before a root was taken off brings nothing outside of the others after it', async () => {
  register(PID, [DOCS, NEWS]);
  await store(PID, [`${NEWS}held`, `${DOCS}held`]);
  for (const set of ['partial', 'full'] as const) {
    const urls = [url(`${NEWS}1`), url(`${DOCS}1`), url(`${NEWS}2`), url(`${NEWS}3`), url(`${DOCS}2`)];
    const head = bench.head(PID, urls.length + 1, { set, atS: nowS() });
    const intake = await bench.intake.begin('u1', head);
    intake.urls(urls.slice(0, SLICE));
    if (set === 'partial')
      assert.deepEqual([waiting(), column('nurlproc')], [SLICE, SLICE], 'a slice is committed');
    ask({ op: 'root-rm', pid: PID, roots: [NEWS] });
    carryOut();
    // `f`: what counts is where it is fetched from.
    intake.urls([...urls.slice(SLICE), url(`${DOCS}moved`, { furl: `${NEWS}moved` })]);
    const counts = await intake.end();
    assert.ok('queued' in counts);
    const outside = bench.all(`SELECT curl FROM qdb WHERE coalesce(furl, curl) NOT LIKE '${DOCS}%'`);
    assert.deepEqual([outside, bench.store.departures.next(nowS())], [[], undefined], set);
    const { errors } = tell({ op: 'errors', pid: PID, after: 0, limit: 10, code: 304 });
    assert.deepEqual((errors as { curl: string }[]).map(({ curl }) => curl).slice(-2), [
      `${NEWS}3`,
      `${DOCS}moved`,
    ]);
    assert.deepEqual(
      bench.all('SELECT curl FROM qdb ORDER BY curl'),
      [1, 2].map(i => ({ curl: `${DOCS}${i}` })),
    );
    assert.equal(column('nurlproc'), 2);
    assert.deepEqual(held(), set === 'partial' ? [`${DOCS}held`] : []);
    // It has it again, for the next one.
    if (set === 'partial') ask({ op: 'root-add', pid: PID, roots: [NEWS] });
  }
});

test('a root that comes back while what it had is removed keeps what is left of it', async () => {
  register(PID, [DOCS, NEWS]);
  await store(
    PID,
    Array.from({ length: 10 }, (_, i) => `${NEWS}p${i}`),
  );
  ask({ op: 'root-rm', pid: PID, roots: [NEWS] });
  chore.run();
  const left = held().length;
  assert.ok(left > 0 && left < 10);
  ask({ op: 'root-add', pid: PID, roots: [NEWS] });
  carryOut();
  assert.equal(held().length, left);
});

test('a password that replaces a forgotten one keeps the roots that it names, in one commit', () => {
  register(PID, [ROOT, DOCS, NEWS]);
  const change = { op: 'password', pid: PID, password: hashPassword('second') } as const;
  assert.equal(refusalOf(ask({ ...change, generation: 1, roots: [`${ROOT}x/`] })), 'roots');
  assert.ok(passwordMatches('first', String(column('password'))));
  assert.deepEqual(ask({ ...change, generation: 1, roots: [DOCS] }), {
    ok: { pid: PID, generation: 2, given: [ROOT, NEWS], until: nowS() + 7 * 86_400 },
  });
  assert.deepEqual(bench.all(`SELECT root FROM proots WHERE pid = ${PID}`), [{ root: DOCS }]);
  assert.ok(passwordMatches('second', String(column('password'))));
});

test('a provider that the operator added neither leaves nor loses roots; its queue is the operator’s for each', () => {
  bench.provider(7, { backoffs: 3, backoffuntil: nowS() + 100 });
  for (const change of [
    { op: 'leave', pid: 7 },
    { op: 'stay', pid: 7 },
    { op: 'root-rm', pid: 7, roots: [ROOT] },
  ] as RsChange[])
    assert.equal(refusalOf(ask(change)), 'unknown', change.op);
  const control = (op: RsControl, id?: string) => ask({ op, pid: 7 }, id);
  const id = randomUUID();
  assert.deepEqual(control('pause', id), { ok: { pid: 7 } });
  assert.equal(column('paused', 7), 1);
  assert.ok('ok' in control('resume'));
  control('pause', id);
  assert.equal(column('paused', 7), 0, 'sent again, it changes nothing');
  assert.ok('ok' in control('flush') && 'ok' in control('want-full'));
  assert.deepEqual([column('backoffs', 7), column('fullsetwanted', 7)], [0, 'operator']);
  assert.deepEqual(told, ['changed 7', 'changed 7', 'flushed 7', 'changed 7']);
  for (const [op, enabled] of [
    ['disable', 0],
    ['disable', 0],
    ['enable', 1],
    ['enable', 1],
  ] as const) {
    assert.deepEqual(control(op), { ok: { pid: 7 } });
    assert.equal(column('enabled', 7), enabled);
  }
  assert.deepEqual(
    told.slice(4),
    Array.from({ length: 4 }, () => 'changed 7'),
  );
  assert.equal(refusalOf(ask({ op: 'pause', pid: 9 })), 'unknown');
});

test('urls: waiting, held with the number of its change, with an error, gone, or unknown', async () => {
  register(PID, [ROOT]);
  register(OTHER, [ROOT]);
  const odd = `${ROOT}a?x=1&y="`;
  await store(PID, [`${ROOT}held`, `${ROOT}gone`]);
  await bench.send(PID, [
    url(`${ROOT}gone`, { op: 'delete' }),
    url(odd),
    url(`${ROOT}held`, { md5: 'f'.repeat(32) }),
  ]);
  bench.missing(PID, odd);
  const urls = [`${ROOT}held`, `${ROOT}gone`, odd, `${ROOT}a`, `${ROOT}none`];
  const at = nowS();
  const mimetype = 'text/html';
  assert.deepEqual(tell({ op: 'urls', pid: PID, urls }), {
    urls: [
      [
        { mimetype, state: 'waiting', tries: 0 },
        { mimetype, state: 'held', seq: 1, bytes: 1, at },
      ],
      [{ mimetype, state: 'gone', seq: 3, at }],
      [{ mimetype, state: 'error', code: 404, text: 'error 404' }],
      [],
      [],
    ],
  });
  assert.deepEqual(tell({ op: 'urls', pid: OTHER, urls: [`${ROOT}held`] }), { urls: [[]] });
});

test('errors: in their order, by code, by the beginning of the url, after one that was seen', async () => {
  register(PID, [ROOT]);
  const names = ['a/1', 'a/2', 'b/1&"'].map(name => ROOT + name);
  await bench.send(
    PID,
    names.map(name => url(name)),
  );
  for (const name of names) bench.missing(PID, name);
  const ask = (more: object) => {
    const { errors } = tell({ op: 'errors', pid: PID, after: 0, limit: 10, ...more });
    return errors as { errseq: number; code: number; curl: string; mimetype: string; text: string }[];
  };
  const all = ask({});
  assert.deepEqual(
    all.map(({ errseq: _errseq, ...rest }) => rest),
    names.map(curl => ({ code: 404, curl, mimetype: 'text/html', text: 'error 404' })),
  );
  assert.deepEqual(ask({ after: all[0]?.errseq, limit: 1 }), [all[1]]);
  assert.deepEqual(ask({ prefix: `${ROOT}b/1&"` }), [all[2]]);
  assert.deepEqual([ask({ code: 404 }).length, ask({ code: 403 })], [3, []]);
});

test('a provider is shown with its last 30 sets, the newest first, and whether it leaves', async () => {
  register(PID, [ROOT]);
  for (let i = 0; i < 35; i++)
    await bench.send(PID, [url(`p${i}`), url('same')], { atS: 1000 + i, set: i === 34 ? 'full' : 'partial' });
  const { provider } = tell({ op: 'show', pid: PID }) as {
    provider: { sets: Record<string, number>[]; leaveat: number | null; left: number };
  };
  assert.deepEqual(
    provider.sets.map(({ at }) => at),
    Array.from({ length: 30 }, (_, i) => 1034 - i),
  );
  const { psetid: _psetid, ...last } = provider.sets[0] ?? {};
  assert.deepEqual(last, {
    at: 1034,
    isfull: 1,
    complete: 1,
    held: 0,
    queued: 1,
    duplicate: 1,
    unchanged: 0,
    deleted: 34,
  });
  assert.deepEqual([provider.leaveat, provider.left], [null, 0]);
});
