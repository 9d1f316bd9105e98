import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { TestCache } from '../support/cache.js';
import { runCommand, runCommandLater } from '../support/command.js';
import { administer, ask, Cu, startCu, type CuDaemon } from '../support/cu.js';
import { statusOf } from '../support/daemon.js';
import { until } from '../support/until.js';
import { longIt } from '../support/long.js';

const SITE = 'http://www.example.org/';
const caches: TestCache[] = [];
const daemons: CuDaemon[] = [];
afterEach(async () => {
  for (const daemon of daemons.splice(0)) await daemon.stop();
});
after(() => {
  for (const cache of caches) cache.close();
});

function newCache(): TestCache {
  const cache = new TestCache();
  caches.push(cache);
  return cache;
}

async function served(cache: TestCache, toml = ''): Promise<CuDaemon> {
  const daemon = await startCu(cache, toml);
  daemons.push(daemon);
  return daemon;
}

const codeOf = (reply: string) => Number(/<lococa:refused [^>]*code="(\d+)"/.exec(reply)?.[1] ?? NaN);
const curlsOf = (reply: string) => [...reply.matchAll(/<url curl="([^"]*)"/g)].map(([, curl]) => curl);
const cursorOf = (reply: string) => /^<lococa:result [^>]*cursor="([^"]+)"/m.exec(reply)?.[1] ?? '';

describe('lccd-cu', () => {
  it('answers queries whole and byte by byte alike, and is well-formed for other readers', async () => {
    const cache = newCache();
    cache.put({ curl: `${SITE}a?b&c`, burl: `${SITE}"a"`, mtime: '2026-11-20T10:13:01Z', content: 'one' });
    cache.put({ curl: `${SITE}b.txt`, mimetype: 'text/plain', content: 'two', pid: 2 });
    cache.remove(`${SITE}b.txt`, { pid: 2, mimetype: 'text/plain' });
    const { unix } = await served(cache);
    const queries = ['<lococa:query/>', '<query deleted="yes" pid="2"></query>'];
    const whole = await ask(unix, ...queries);
    const start = `<lococa:result xmlns:lococa="http://www.lococa.org/1.0" store="${cache.storeId}" cursor="${cache.storeId}:3">\n`;
    assert.equal(
      whole,
      `${start}<url curl="${SITE}a?b&amp;c" mimetype="text/html" burl="${SITE}&quot;a&quot;" ` +
        'md5="f97c5d29941bfb1b2fdab0874906ab82" len="3" mtime="2026-11-20T10:13:01Z" pid="1" seq="1" ' +
        'fetched_time="1795000000" fetched_machineid="local" status="ok"/>\n</lococa:result>\n' +
        `${start}<url curl="${SITE}b.txt" mimetype="text/plain" op="delete" pid="2" seq="3" status="deleted" ` +
        'deleted_time="1795000000"/>\n</lococa:result>\n',
    );
    const dripped = new Cu(unix);
    await dripped.drip(queries.join('\n'));
    assert.equal(await dripped.end().reply, whole);
    for (const document of whole.split(/(?<=<\/lococa:result>\n)/).filter(text => text !== ''))
      execFileSync('xmllint', ['--noout', '-'], { input: document });
  });

  it('sends content inline in base64, verified, and says what it cannot send', async () => {
    const cache = newCache();
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251));
    cache.put({ curl: `${SITE}good`, content: bytes });
    const missing = cache.put({ curl: `${SITE}missing`, content: 'gone' });
    const altered = cache.put({ curl: `${SITE}altered`, content: 'before' });
    cache.put({ curl: `${SITE}elsewhere`, content: 'x', machineid: 'other' });
    cache.put({ curl: `${SITE}empty`, content: '' });
    rmSync(missing);
    writeFileSync(altered, 'beforf');
    const { unix } = await served(cache);
    const reply = await ask(unix, '<query content="yes"/>');
    const contents = new Map(
      [...reply.matchAll(/<url curl="([^"]*)"[^>]*[^/]>([^<]*)<\/url>/g)].map(([, curl = '', text = '']) => [
        curl,
        Buffer.from(text, 'base64'),
      ]),
    );
    assert.deepEqual(contents.get(`${SITE}good`), bytes);
    assert.deepEqual([...contents.keys()], [`${SITE}good`, `${SITE}empty`]);
    assert.deepEqual(reply.match(/<omitted .*/g), [
      `<omitted curl="${SITE}missing" seq="2">missing</omitted>`,
      `<omitted curl="${SITE}altered" seq="3">altered: its md5 differs</omitted>`,
      `<omitted curl="${SITE}elsewhere" seq="4">on another machine</omitted>`,
    ]);
    assert.match(reply, /<\/lococa:result>\n$/);
  });

  it('resumes at a cursor, or at the last url that was read, and tells deletions', async () => {
    const cache = newCache();
    for (const name of ['a', 'b', 'c']) cache.put({ curl: SITE + name });
    const { unix } = await served(cache);
    const first = await ask(unix, '<query limit="2"/>');
    assert.deepEqual(curlsOf(first), [`${SITE}a`, `${SITE}b`]);
    assert.equal(cursorOf(first), '', 'how far a limited answer goes is told at its end');
    const limited = /<limited cursor="([^"]+)"\/>/.exec(first)?.[1];
    assert.equal(limited, `${cache.storeId}:2:3`);
    const second = await ask(unix, `<query cursor="${limited}"/>`);
    assert.deepEqual(curlsOf(second), [`${SITE}c`]);
    cache.remove(`${SITE}a`);
    cache.put({ curl: `${SITE}b`, content: 'changed' });
    const third = await ask(unix, `<query cursor="${cursorOf(second)}"/>`);
    assert.deepEqual(curlsOf(third), [`${SITE}a`, `${SITE}b`]);
    assert.match(third, /a" mimetype="text\/html" op="delete"/);
    assert.deepEqual(curlsOf(await ask(unix, `<query cursor="${cursorOf(third)}"/>`)), []);
  });

  it('gives everything in parts although deletions were forgotten before', async () => {
    const cache = newCache();
    for (const name of ['a', 'b', 'c']) cache.put({ curl: SITE + name });
    cache.remove(`${SITE}c`);
    cache.forgetDeletions();
    const { unix } = await served(cache);
    const first = await ask(unix, '<query limit="1"/>');
    const limited = /<limited cursor="([^"]+)"\/>/.exec(first)?.[1];
    const second = await ask(unix, `<query cursor="${limited}"/>`);
    assert.deepEqual([first, second].map(curlsOf), [[`${SITE}a`], [`${SITE}b`]]);
    assert.equal(cursorOf(second), `${cache.storeId}:4`);
  });

  it('refuses cursors of another store, ahead of it, or older than its deletions', async () => {
    const cache = newCache();
    for (const name of ['a', 'b', 'c']) cache.put({ curl: SITE + name });
    cache.remove(`${SITE}a`);
    cache.forgetDeletions();
    const { unix } = await served(cache);
    for (const [cursor, why] of [
      ['00000000-0000-0000-0000-000000000000:1', 'another store'],
      [`${cache.storeId}:99`, 'ahead of the store'],
      [`${cache.storeId}:2`, 'older than the deletions'],
    ] as const) {
      const reply = await ask(unix, `<query cursor="${cursor}"/>`);
      assert.equal(codeOf(reply), 108, reply);
      assert.match(reply, new RegExp(`${why}.*full resync needed`));
    }
  });

  it('selects by time, provider, prefix and mimetype', async () => {
    const cache = newCache();
    cache.put({ curl: `${SITE}old`, at: 1_700_000_000 });
    cache.put({ curl: `${SITE}docs/new`, pid: 2 });
    cache.put({ curl: `${SITE}docs/pdf`, mimetype: 'application/pdf' });
    const { unix } = await served(cache);
    for (const [query, names] of [
      ['since="2024-01-01"', ['docs/new', 'docs/pdf']],
      ['until="2024-01-01"', ['old']],
      ['pid="2"', ['docs/new']],
      [`prefix="${SITE}docs/"`, ['docs/new', 'docs/pdf']],
      ['mime="application/*"', ['docs/pdf']],
      [`pid="3"`, []],
    ] as const) {
      assert.deepEqual(
        curlsOf(await ask(unix, `<query ${query}/>`)),
        names.map(name => SITE + name),
        query,
      );
    }
  });

  it('sends every row of a large cache once, whatever the windows', async () => {
    const cache = newCache();
    cache.fill(1200, i => `${SITE}${i % 97 === 0 ? 'x&y'.repeat(500) : 'page'}/${i}`);
    // A gap wider than a window in the sequence.
    cache.db.exec("UPDATE counter SET value = value + 20000 WHERE name = 'seq'");
    cache.put({ curl: `${SITE}last` });
    const { unix } = await served(cache);
    const all = curlsOf(await ask(unix, '<query/>'));
    assert.equal(all.length, 1201);
    assert.equal(new Set(all).size, 1201);
    assert.equal(all.at(-1), `${SITE}last`);
    assert.equal(curlsOf(await ask(unix, '<query limit="777"/>')).length, 777);
    assert.equal(curlsOf(await ask(unix, '<query content="yes" limit="777"/>')).length, 777);
  });
});

describe('readers of lccd-cu', () => {
  it('need a name and a password over TCP, which are made once and stored as a hash', async () => {
    const cache = newCache();
    cache.put({ curl: SITE });
    const { port } = await served(cache);
    const password = administer(cache, '--add-reader=search').trim();
    assert.match(password, /^[\w-]{27}$/);
    assert.equal(administer(cache, '--list-readers'), 'search\n');
    const file = join(cache.home, 'readers');
    assert.equal(statSync(file).mode & 0o007, 0, 'nobody else reads the hashes');
    const login = (name: string, passwd: string) => `<lococa:reader name="${name}" passwd="${passwd}"/>`;
    assert.deepEqual(curlsOf(await ask(port, login('search', password), '<query/>')), [SITE]);
    const unknown = await ask(port, login('nobody', password), '<query/>');
    assert.equal(
      await ask(port, login('search', 'wrong'), '<query/>'),
      unknown,
      'an unknown name shows nothing',
    );
    assert.equal(codeOf(unknown), 101);
    assert.equal(codeOf(await ask(port, '<query/>')), 101);
    const renewed = administer(cache, '--add-reader=search').trim();
    assert.equal(codeOf(await ask(port, login('search', password), '<query/>')), 101, 'the old one is void');
    assert.deepEqual(curlsOf(await ask(port, login('search', renewed), '<query/>')), [SITE]);
    administer(cache, '--remove-reader=search');
    assert.equal(codeOf(await ask(port, login('search', renewed), '<query/>')), 101);
  });

  it('are kept where cu.readers_file says', async () => {
    const cache = newCache();
    cache.put({ curl: SITE });
    const toml = `[cu]\nreaders_file = "${join(cache.home, 'elsewhere')}"\n`;
    const { port } = await served(cache, toml);
    const password = administer(cache, '--add-reader=search').trim();
    assert.deepEqual(
      [existsSync(join(cache.home, 'elsewhere')), existsSync(join(cache.home, 'readers'))],
      [true, false],
    );
    const login = `<lococa:reader name="search" passwd="${password}"/>`;
    assert.deepEqual(curlsOf(await ask(port, login, '<query/>')), [SITE]);
  });

  it('need none where everybody may read', async () => {
    const cache = newCache();
    cache.put({ curl: SITE });
    const { port } = await served(cache, '[cu]\nanonymous = true\n');
    assert.deepEqual(curlsOf(await ask(port, '<query/>')), [SITE]);
  });

  it('are refused names that would not be found again, and removing one that is not there', () => {
    const cache = newCache();
    const run = (...args: string[]) => runCommand(cache.home, 'lccd-cu', args);
    assert.equal(run('--add-reader=a b').status, 64);
    assert.equal(run('--remove-reader=a').status, 66);
    assert.equal(run('--add-reader=a', '--list-readers').status, 64);
    assert.equal(run().status, 64);
  });
});

/** A client sees the end of its connection before lccd-cu does. */
async function atMost(connections: number, cache: TestCache): Promise<void> {
  while (Number((await statusOf(cache.home, 'lccd-cu'))['connections']) > connections)
    await new Promise(setImmediate);
}

describe('clients of lccd-cu that behave badly', () => {
  /** Resolves when lccd-cu has counted one. */
  const counted = async (cache: TestCache, what: 'queries' | 'refused'): Promise<void> => {
    await until(`${what} is not 0`, async () => Number((await statusOf(cache.home, 'lccd-cu'))[what]) > 0);
  };
  /** One that has asked for an answer which no socket holds, and does not read it. */
  const slowReader = async (cache: TestCache, toml = ''): Promise<{ slow: Cu; unix: string }> => {
    cache.fill(4000, i => `${SITE}${'long/'.repeat(40)}${i}`);
    const { unix } = await served(cache, toml);
    const slow = new Cu(unix);
    slow.socket.pause();
    slow.send('<query/>');
    await counted(cache, 'queries');
    return { slow, unix };
  };

  it('do not hold the database: one that stops reading lets the log be used anew, and others read on', async () => {
    const cache = newCache();
    const { slow, unix } = await slowReader(cache);
    cache.fill(500, i => `${SITE}meanwhile/${i}`);
    const [checkpoint] = cache.db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number; log: number }[];
    assert.deepEqual([checkpoint?.busy, checkpoint?.log], [0, 0]);
    assert.equal(curlsOf(await ask(unix, `<query prefix="${SITE}meanwhile/"/>`)).length, 500);
    const { answering } = await statusOf(cache.home, 'lccd-cu');
    assert.equal(Number(answering), 1, 'the slow one still stands there');
    slow.socket.destroy();
  });

  longIt('are cut off when they take nothing for long, and have no whole answer then', async () => {
    const cache = newCache();
    const { slow } = await slowReader(cache, '[cu]\nstall_timeout_ms = 200\n');
    await atMost(0, cache);
    slow.socket.resume();
    assert.doesNotMatch(await slow.reply, /<\/lococa:result>/);
  });

  it('are sent away in an answer that takes too long, and have no whole one then', async () => {
    const cache = newCache();
    const { slow } = await slowReader(cache, '[cu]\nanswer_timeout_ms = 200\n');
    await counted(cache, 'refused');
    slow.socket.resume();
    const reply = await slow.reply;
    assert.equal(codeOf(reply), 106);
    assert.match(reply, /the answer takes too long; .*\(cu\.answer_timeout_ms\)/);
    assert.doesNotMatch(reply, /<\/lococa:result>/);
  });

  it('end their own connection only', async () => {
    const cache = newCache();
    cache.put({ curl: SITE });
    const { unix } = await served(cache, '[cu]\nmax_connections = 11\n');
    const good = new Cu(unix).send('<query/>');
    await good.heard(/<\/lococa:result>/);
    const documents: [document: string, code: number][] = [
      [' '.repeat(20_000), 106],
      [`<!-- ${'x'.repeat(20_000)}`, 106],
      ['GET / HTTP/1.0\r\n\r\n', 103],
      ['\0\u0001\u0002', 103],
      ['<!DOCTYPE a [<!ENTITY b "c">]><query prefix="&b;"/>', 103],
      ['<a>'.repeat(20), 104],
      ['<query since="yesterdayish"/>', 104],
    ];
    const replies = await Promise.all(documents.map(([document]) => new Cu(unix).send(document).reply));
    documents.forEach(([document, code], i) =>
      assert.equal(codeOf(replies[i] ?? ''), code, JSON.stringify(document.slice(0, 40)) + replies[i]),
    );
    const crowd = Array.from({ length: 12 }, () => new Cu(unix));
    assert.equal(codeOf(await Promise.race(crowd.map(one => one.reply))), 102);
    for (const one of [good, ...crowd]) one.socket.destroy();
    await atMost(0, cache);
    assert.deepEqual(curlsOf(await ask(unix, '<query/>')), [SITE]);
    const half = new Cu(unix).send('<query content="yes"/><query/>');
    half.socket.destroy();
    assert.deepEqual(curlsOf(await ask(unix, '<query/>')), [SITE]);
  });

  it('have so many connections from one address, and a place again for each they end', async () => {
    const cache = newCache();
    cache.put({ curl: SITE });
    const { unix, port } = await served(cache, '[cu]\nanonymous = true\nmax_connections_per_address = 2\n');
    const stays = new Cu(port).send('<query/>');
    const leaves = new Cu(port).send('<query/>');
    for (const one of [stays, leaves]) await one.heard(/<\/lococa:result>/);
    const refused = await ask(port, '<query/>');
    assert.equal(codeOf(refused), 102);
    assert.match(refused, /the limit is 2 \(cu\.max_connections_per_address\)/);
    assert.deepEqual(curlsOf(await ask(unix, '<query/>')), [SITE], 'a Unix socket has no address');
    leaves.end();
    await atMost(1, cache);
    assert.deepEqual(curlsOf(await ask(port, '<query/>')), [SITE]);
  });
});

describe('the daemon lccd-cu', () => {
  it('says what it has done, to lccstat and to Prometheus', async () => {
    const cache = newCache();
    cache.put({ curl: SITE });
    const daemon = await served(cache, '[cu]\nmetrics_listen = "127.0.0.1:0"\n');
    await ask(daemon.unix, '<query/>');
    await ask(daemon.unix, '<query/><nonsense/>');
    const status = await statusOf(cache.home, 'lccd-cu');
    assert.deepEqual(
      [status['queries'], status['urls_sent'], status['refused'], status['idle']],
      [2, 2, 1, true],
    );
    const { stdout: shown } = await runCommandLater(cache.home, 'lccstat', []);
    assert.match(shown, /lccd-cu +idle .* 2 queries with 2 urls since the start, 1 refused/);
    const endpoint = /metrics: listening","endpoint":"([^"]+)"/.exec(daemon.log)?.[1];
    const metrics = await (await fetch(`http://${endpoint}/metrics`)).text();
    assert.match(metrics, /^lcc_cu_queries_total 2$/m);
  });

  longIt('goes on with a database that took the place of another', async () => {
    const cache = newCache();
    cache.put({ curl: `${SITE}before` });
    cache.fill(4000, i => `${SITE}${'long/'.repeat(40)}${i}`);
    const daemon = await served(cache);
    const { unix } = daemon;
    assert.deepEqual(curlsOf(await ask(unix, '<query limit="1"/>')), [`${SITE}before`]);
    const slow = new Cu(unix);
    slow.socket.pause();
    slow.send('<query/>');
    await until('it answers', async () => Number((await statusOf(cache.home, 'lccd-cu'))['answering']) > 0);
    const other = newCache();
    other.put({ curl: `${SITE}after` });
    other.db.pragma('wal_checkpoint(TRUNCATE)');
    execFileSync('cp', ['--remove-destination', other.dbPath, `${cache.dbPath}.new`]);
    cache.db.pragma('wal_checkpoint(TRUNCATE)');
    for (const suffix of ['-wal', '-shm']) rmSync(cache.dbPath + suffix, { force: true });
    execFileSync('mv', [`${cache.dbPath}.new`, cache.dbPath]);
    assert.deepEqual(curlsOf(await ask(unix, '<query/>')), [`${SITE}after`]);
    slow.socket.resume();
    const cut = await slow.reply;
    assert.equal(codeOf(cut), 102);
    assert.match(cut, /the database was replaced, try again/);
    assert.doesNotMatch(cut, /<\/lococa:result>/);
    assert.match(await ask(unix, `<query cursor="${cursorOf(cut)}"/>`), /full resync needed/);
    assert.doesNotMatch(daemon.log, /"level":"error"/);
  });

  it('sends its clients away when it is told to stop', async () => {
    const cache = newCache();
    cache.put({ curl: SITE });
    const daemon = await startCu(cache);
    const waiting = new Cu(daemon.unix).send('<query/>');
    await waiting.heard(/<\/lococa:result>/);
    assert.equal(await daemon.stop(), 0);
    assert.equal(codeOf(await waiting.reply), 102);
  });
});
