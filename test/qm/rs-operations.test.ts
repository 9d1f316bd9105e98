import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, test } from 'node:test';
import { addProvider, changeProvider } from '../../src/db/providers/pidb.js';
import { hashPassword, passwordMatches } from '../../src/lib/password.js';
import type { RsOperations } from '../../src/qm/rs-operations.js';
import { REMEMBERED_MS, type RsAnswer, type RsChange, type RsTerms } from '../../src/wire/qm-rs.js';
import type { RsBounds } from '../../src/qm/rs-operations.js';
import { MOST_TERMS } from '../../src/wire/terms.js';
import { rsOperationsOf } from './rs-bench.js';
import { Bench } from './support.js';

const PID = 100_000;
const ROOT = 'http://www.example.org/docs/';
const HOUR_MS = 3_600_000;
let bench: Bench;
let told: string[];
let operations: RsOperations;

function begin(overrides: Record<string, string> = {}, bounds: Partial<RsBounds> = {}): void {
  told = [];
  operations = rsOperationsOf(bench, told, overrides, bounds);
}

beforeEach(() => {
  bench = new Bench();
  begin();
});
afterEach(() => bench.close());

const registering = (pid = PID, more: RsTerms = {}, roots = [ROOT]): RsChange => ({
  op: 'register',
  pid,
  password: hashPassword('first'),
  roots,
  ...more,
});
const ask = (change: RsChange, id: string = randomUUID()): RsAnswer => operations.answer({ id, change });
const refusalOf = (answer: RsAnswer) => ('refused' in answer ? answer.refused : JSON.stringify(answer));
const passwordOf = (pid: number) => String(bench.value(`SELECT password FROM pidb WHERE pid = ${pid}`));
const columns = (pid = PID) =>
  bench.all(
    `SELECT origin, filesmax, spacemax, fullsetsallowed, bandwidth, priority, timeofday FROM pidb WHERE pid = ${pid}`,
  )[0];

test('a registration makes a provider with the first terms, of which it may ask for less and not for more', () => {
  assert.deepEqual(ask(registering()), { ok: { pid: PID, generation: 1 } });
  const first = {
    origin: 'rs',
    filesmax: 10_000,
    spacemax: 2 ** 30,
    fullsetsallowed: 3,
    bandwidth: 2 ** 20,
    priority: 0,
    timeofday: '',
  };
  assert.deepEqual(columns(), first);
  const hours = `${'1'.repeat(7)}${'0'.repeat(17)}`;
  ask(registering(PID + 1, { bandwidth: 1000, filesmax: 10_001, priority: 2, timeofday: hours }));
  assert.deepEqual(columns(PID + 1), { ...first, bandwidth: 1000, timeofday: hours });
  ask(registering(PID + 2, { bandwidth: 0 }));
  assert.deepEqual(columns(PID + 2), first, '0 would be unlimited');
  assert.deepEqual(
    told,
    [PID, PID + 1, PID + 2].map(pid => `changed ${pid}`),
  );
});

test('an operation that is sent again is answered as before and changes nothing, also after a restart', () => {
  const id = randomUUID();
  const change = registering();
  const answer = ask(change, id);
  const stored = passwordOf(PID);
  bench.reopen();
  begin();
  assert.deepEqual(ask(change, id), answer);
  assert.equal(passwordOf(PID), stored);
  assert.equal(bench.value('SELECT count(*) FROM pidb'), 1);
  assert.deepEqual(told, []);
});

test('a refusal is kept as well: what was refused does not happen later by itself', () => {
  const id = randomUUID();
  const change: RsChange = { op: 'terms', pid: PID, filesmax: 5 };
  assert.equal(refusalOf(ask(change, id)), 'unknown');
  ask(registering());
  assert.equal(refusalOf(ask(change, id)), 'unknown');
});

test('an id that was of another operation is refused', () => {
  const id = randomUUID();
  ask(registering(), id);
  assert.equal(refusalOf(ask(registering(PID + 1), id)), 'id');
  assert.equal(bench.value('SELECT count(*) FROM pidb'), 1);
});

test('a number is given once: not below the first one, not that of a provider, not one that was used', () => {
  bench.provider(PID + 5);
  for (const pid of [PID - 1, PID + 5]) assert.equal(refusalOf(ask(registering(pid))), 'taken');
  ask(registering());
  bench.db.exec(`DELETE FROM pidb WHERE pid = ${PID}`);
  assert.equal(refusalOf(ask(registering())), 'taken', 'it was removed');
});

test('a provider that the operator added is none of a Registration Server’s', () => {
  bench.provider(PID + 7);
  bench.provider(7);
  for (const pid of [7, PID + 7])
    for (const change of [
      { op: 'password', pid, password: hashPassword('x'), generation: 1 },
      { op: 'root-add', pid, roots: [ROOT] },
      { op: 'terms', pid, filesmax: 1 },
    ] as RsChange[])
      assert.equal(refusalOf(ask(change)), 'unknown', `${change.op} ${pid}`);
  assert.equal(passwordOf(7), 'x');
});

test('a password replaces the one it names, and no other', () => {
  ask(registering());
  const change = { op: 'password', pid: PID, password: hashPassword('second') } as const;
  assert.equal(refusalOf(ask({ ...change, generation: 2 })), 'generation');
  assert.ok(passwordMatches('first', passwordOf(PID)));
  assert.deepEqual(ask({ ...change, generation: 1 }), { ok: { pid: PID, generation: 2 } });
  assert.ok(passwordMatches('second', passwordOf(PID)));
  assert.equal(refusalOf(ask({ ...change, generation: 1 })), 'generation');
});

test('roots: usable directories, as many as allowed, each shared by as many as allowed', () => {
  begin({ 'rs.max_roots': '2', 'rs.providers_per_root': '2' });
  const unusable = [
    'ftp://www.example.org/',
    'http://www.example.org/docs',
    'http://www.example.org/a/../b/',
    'http://user@www.example.org/',
    'http://WWW.example.org/',
    'http://www.example.org:80/',
    'http://www.example.org/?a/',
  ];
  for (const root of unusable) assert.equal(refusalOf(ask(registering(PID, {}, [root]))), 'roots', root);
  ask(registering());
  assert.deepEqual(ask({ op: 'root-add', pid: PID, roots: ['https://www.example.org/docs/'] }), {
    ok: { pid: PID, generation: 1 },
  });
  assert.equal(refusalOf(ask({ op: 'root-add', pid: PID, roots: ['https://other.example.org/'] })), 'roots');
  assert.ok('ok' in ask(registering(PID + 1)));
  assert.equal(refusalOf(ask(registering(PID + 2))), 'roots', 'two have it');
  bench.provider(7);
  bench.db.prepare('INSERT INTO proots VALUES (7, ?)').run('http://alone.example.org/');
  assert.ok(
    'ok' in ask(registering(PID + 3, {}, ['http://alone.example.org/'])),
    'those of operators do not count',
  );
});

test('an approval may give as much as the settings say, and a refused one changes nothing', () => {
  begin({}, { most: { ...MOST_TERMS, filesmax: 20_000, bandwidth: 2 << 20 } });
  ask(registering());
  const before = columns();
  for (const terms of [
    { filesmax: 20_001 },
    { bandwidth: 0 },
    { bandwidth: 3 * 2 ** 20 },
    { priority: 2, filesmax: 1 },
  ])
    assert.equal(refusalOf(ask({ op: 'terms', pid: PID, ...terms })), 'terms');
  assert.deepEqual(columns(), before);
  ask({ op: 'terms', pid: PID, filesmax: 20_000, bandwidth: 2 ** 21, timeofday: '0'.repeat(24) });
  assert.deepEqual(columns(), {
    ...(before as object),
    filesmax: 20_000,
    bandwidth: 2 ** 21,
    timeofday: '0'.repeat(24),
  });
});

test('an operator gives any provider other terms, above what the settings say no more than it has; hours are not among them', () => {
  begin({}, { most: { ...MOST_TERMS, filesmax: 20_000, bandwidth: 2 << 20 }, controlsPerHour: 6 });
  bench.provider(7);
  changeProvider(bench.db, 7, { filesmax: 50_000, bandwidth: 0, timeofday: '0'.repeat(24) });
  ask(registering());
  const limits = (pid: number, more: RsTerms) =>
    refusalOf(ask({ op: 'limits', pid, ...more })).replace(/^\{"ok.*/, 'ok');
  assert.equal(limits(7, { filesmax: 50_001, priority: 1 }), 'terms');
  assert.equal(limits(7, { filesmax: 50_000, priority: 9 }), 'terms', 'each of them is looked at');
  assert.equal(limits(7, { filesmax: 40_000, bandwidth: 0 }), 'ok');
  assert.equal(limits(PID, { filesmax: 20_000, bandwidth: 0 }), 'terms');
  assert.equal(limits(PID, { filesmax: 20_000 }), 'ok');
  assert.equal(limits(8, { filesmax: 1 }), 'unknown');
  assert.deepEqual(
    [7, PID].map(pid => bench.value(`SELECT filesmax || ' ' || timeofday FROM pidb WHERE pid = ${pid}`)),
    [`40000 ${'0'.repeat(24)}`, '20000 '],
  );
  assert.match(JSON.stringify(ask({ op: 'limits', pid: 7, filesmax: 1 })), /"later".*6/);
});

test('registrations a day and operations an hour are counted in the database, and what is too much waits', () => {
  begin({ 'rs.registrations_per_day': '2' }, { operationsPerHour: 4 });
  ask(registering(PID));
  ask(registering(PID + 1));
  bench.reopen();
  begin({ 'rs.registrations_per_day': '2' }, { operationsPerHour: 4 });
  const id = randomUUID();
  assert.match(JSON.stringify(ask(registering(PID + 2), id)), /"later".*2 \(rs\.registrations_per_day\)/);
  const terms: RsChange = { op: 'terms', pid: PID, filesmax: 1 };
  ask(terms);
  ask(terms);
  assert.match(JSON.stringify(ask(terms)), /"later".*4/);
  bench.clock.advance(HOUR_MS + 1000);
  assert.ok('ok' in ask(terms));
  bench.clock.advance(24 * HOUR_MS);
  assert.ok('ok' in ask(registering(PID + 2), id));
});

test('changes of providers hold up no operator, nor words of operators a provider', () => {
  begin({}, { controlsPerHour: 2, operationsPerHour: 7 });
  ask(registering(PID));
  ask(registering(PID + 1));
  const terms = (pid: number): RsChange => ({ op: 'terms', pid, filesmax: 1 });
  for (let i = 0; i < 2; i++) assert.ok('ok' in ask(terms(PID)));
  assert.ok('ok' in ask({ op: 'password', pid: PID, password: hashPassword('second'), generation: 1 }));
  for (const pid of [PID + 1, PID + 1]) assert.ok('ok' in ask(terms(pid)));
  assert.match(JSON.stringify(ask(registering(PID + 2))), /"later".*7/);
  for (const op of ['pause', 'disable'] as const) assert.ok('ok' in ask({ op, pid: PID }), op);
  assert.match(JSON.stringify(ask({ op: 'resume', pid: PID })), /"later".*2/);
  bench.clock.advance(HOUR_MS + 1000);
  for (const change of [terms(PID), { op: 'resume', pid: PID }, registering(PID + 2)] as const)
    assert.ok('ok' in ask(change), change.op);
});

test('a provider of lccpidb that it disabled is enabled by it alone; what was disabled from here is enabled from here', () => {
  bench.provider(7);
  const enabledOf = (pid: number) => bench.value(`SELECT enabled FROM pidb WHERE pid = ${pid}`);
  const enabled = (change: RsChange) => {
    const answer = ask(change);
    return 'ok' in answer ? enabledOf(change.pid) : refusalOf(answer);
  };
  changeProvider(bench.db, 7, { enabled: false });
  assert.equal(enabled({ op: 'enable', pid: 7 }), 'state');
  assert.equal(enabled({ op: 'disable', pid: 7 }), 0);
  assert.equal(enabled({ op: 'enable', pid: 7 }), 'state', 'it was disabled already, and not from here');
  changeProvider(bench.db, 7, { enabled: true });
  assert.equal(enabled({ op: 'disable', pid: 7 }), 0);
  bench.reopen();
  begin();
  assert.equal(enabled({ op: 'disable', pid: 7 }), 0);
  bench.clock.advance(REMEMBERED_MS + 2000);
  assert.equal(enabled({ op: 'enable', pid: 7 }), 1, 'also when the operation is forgotten');
  ask({ op: 'disable', pid: 7 });
  changeProvider(bench.db, 7, { enabled: false });
  assert.equal(enabled({ op: 'enable', pid: 7 }), 'state', 'the word of lccpidb came later');
  assert.equal(enabledOf(7), 0);
  ask(registering());
  changeProvider(bench.db, PID, { enabled: false });
  assert.equal(enabled({ op: 'enable', pid: PID }), 1, 'one that registered by itself');
});

test('operations are forgotten after their time', () => {
  ask(registering());
  bench.clock.advance(REMEMBERED_MS + 2000);
  ask({ op: 'terms', pid: PID, filesmax: 1 });
  assert.equal(bench.value('SELECT count(*) FROM rsop'), 1);
});

test('questions: the provider without its password, providers around a url, how many there are', () => {
  ask(registering());
  bench.provider(7);
  const tell = (question: Parameters<typeof operations.answer>[0] & { id: undefined }) =>
    operations.answer(question);
  const shown = JSON.stringify(tell({ id: undefined, question: { op: 'show', pid: PID } }));
  assert.match(shown, /"origin":"rs","generation":1,"roots":.*,"left":0,"errors":\[\],"sets":\[\]/);
  assert.doesNotMatch(shown, /sha256|password/);
  assert.deepEqual(tell({ id: undefined, question: { op: 'show', pid: 9 } }), { ok: { provider: null } });
  const around = (url: string) => tell({ id: undefined, question: { op: 'find', url } });
  assert.deepEqual(around(`${ROOT}a/b.html?x=1`), { ok: { pids: [PID], crawlers: [] } });
  assert.deepEqual(around('http://127.0.0.1/x'), { ok: { pids: [7], crawlers: [] } });
  for (const url of ['http://www.example.org/doc', `${ROOT}../x`, 'no url'])
    assert.deepEqual(around(url), { ok: { pids: [], crawlers: [] } }, url);
  const crawlers = (url: string) => (around(url) as { ok: { crawlers: number[] } }).ok.crawlers;
  for (const [pid, root, enabled] of [
    [8, 'https://crawled.example.org/', true],
    [9, 'https://crawled.example.org/docs/deep/', true],
    [10, 'https://crawled.example.org/', false],
    [11, 'https://crawled.example.org.evil.example/', true],
  ] as const)
    addProvider(bench.db, pid, 'x', { enabled, spider: true }, [root]);
  assert.deepEqual(crawlers('https://crawled.example.org/'), [8, 9]);
  assert.deepEqual(crawlers('https://crawled.example.org/docs/'), [8, 9], 'around it, and below it');
  assert.deepEqual(crawlers('https://crawled.example.org/docsX/'), [8]);
  for (const url of ['http://crawled.example.org/', 'https://www.crawled.example.org/', 'http://127.0.0.1/'])
    assert.deepEqual(crawlers(url), [], url);
  const announcers = (url: string) => (around(url) as { ok: { announcers?: number[] } }).ok.announcers ?? [];
  addProvider(bench.db, 12, 'x', {}, ['https://had.example.org//news///']);
  addProvider(bench.db, 13, 'x', { enabled: false }, ['https://had.example.org/']);
  for (const url of ['', '/', 'news/', '//news/', 'news/old/'])
    assert.deepEqual(announcers(`https://had.example.org/${url}`), [12], url);
  for (const url of ['https://had.example.org/newsX/', 'https://had.example.org.evil.example/', 'no url/'])
    assert.deepEqual(announcers(url), [], url);
  assert.deepEqual(tell({ id: undefined, question: { op: 'status' } }), { ok: { providers: 1 } });
});
