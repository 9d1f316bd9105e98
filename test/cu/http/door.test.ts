/** GET /changes in the process of the test: statuses, polls, streams, and how each of them ends. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { renameSync, rmSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { buffer } from 'node:stream/consumers';
import { request, type IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import type { TestCache } from '../../support/cache.js';
import { lccqSays } from '../../support/lccq.js';
import { ManualClock } from '../../support/manual-clock.js';
import { settle } from '../../support/duplex.js';
import { until } from '../../support/until.js';
import { cachesOfFile, curls, EVENTS, eventsIn, feedsOf, polled, read, reading } from './support.js';

const newCache = cachesOfFile();
const lccq = (cache: TestCache, ...args: string[]) => lccqSays(cache, args).stdout;

describe('a poll of the change feed', () => {
  it('has the lines of lccq byte by byte, and one last line, its cursor', async t => {
    const cache = newCache('a', 'b "ü" \u2028', 'c');
    cache.put({ curl: 'http://h/bin', mimetype: 'image/png', content: Buffer.from([137, 80, 0, 255]) });
    cache.remove('http://h/a');
    const { port } = await feedsOf(t, cache);
    for (const [query, ...options] of [
      ['', '--format=jsonl'],
      ['?fields=seq,burl', '--format=jsonl', '--fields=seq,burl'],
      ['?with=text', '--format=jsonl', '--text'],
      ['?with=markdown&fields=op,id', '--format=jsonl', '--markdown', '--fields=op,id'],
      ['?with=content', '--format=jsonl', '--content'],
      ['?with=chunks', '--format=chunks'],
      ['?with=chunks&fields=pid', '--format=chunks', '--fields=pid'],
      ['?deleted=only', '--format=jsonl', '--deleted'],
      ['?deleted=no', '--format=jsonl', '--no-deleted'],
      [`?cursor=${cache.storeId}:0`, '--format=jsonl', '--since=2000-01-01'],
      ['?mime=image/*', '--format=jsonl', '--mime=image/*'],
      ['?pid=1&prefix=http://h/b', '--format=jsonl', '--pid=1', '--prefix=http://h/b'],
    ] as const) {
      const { status, text, response } = await read(port, query);
      assert.equal(status, 200, text);
      assert.equal(response.headers['content-type'], 'application/x-ndjson');
      const { lines, cursor, more } = polled(text);
      assert.equal(lines, lccq(cache, ...options), query);
      assert.deepEqual([cursor, more], [`${cache.storeId}:5`, false], query);
    }
  });

  it('goes on in parts, and says when there is nothing more that is selected', async t => {
    const cache = newCache('a', 'b', 'c');
    cache.put({ curl: 'http://h/other', pid: 2 });
    const { port } = await feedsOf(t, cache);
    const first = polled((await read(port, '?limit=2&pid=1')).text);
    assert.deepEqual([curls(first.lines), first.more], [['a', 'b'], true]);
    assert.equal(first.cursor, `${cache.storeId}:2:4`, 'everything is read for the first time');
    const second = polled((await read(port, `?limit=1&pid=1&cursor=${first.cursor}`)).text);
    assert.deepEqual([curls(second.lines), second.more, second.cursor], [['c'], false, `${cache.storeId}:4`]);
    const third = polled((await read(port, `?cursor=${second.cursor}`)).text);
    assert.deepEqual([third.lines, third.more, third.cursor], ['', false, second.cursor]);
  });

  it('reads everything in parts although deletions were forgotten before', async t => {
    const cache = newCache('a', 'b', 'c');
    cache.remove('http://h/c');
    cache.forgetDeletions();
    const { port } = await feedsOf(t, cache);
    const first = polled((await read(port, '?limit=1')).text);
    const second = polled((await read(port, `?limit=1&cursor=${first.cursor}`)).text);
    assert.deepEqual(
      [first, second].map(({ lines }) => curls(lines)),
      [['a'], ['b']],
    );
  });

  it('waits until something that is selected changes, not for what is not', async t => {
    const cache = newCache('a');
    const { port, door } = await feedsOf(t, cache);
    const now = polled((await read(port, '?cursor=now')).text).cursor;
    const waiting = reading(port, `?cursor=${now}&wait=60&pid=1`);
    await until('a reader waits', () => door.count === 1);
    cache.put({ curl: 'http://h/other', pid: 2 });
    await until('its commit is seen', () => door.count === 1);
    const committedMs = performance.now();
    cache.remove('http://h/a');
    const reader = await waiting;
    const { lines, cursor } = polled(await reader.until(/"more"/));
    assert.ok(performance.now() - committedMs < 1000, 'within a second of its commit');
    assert.deepEqual([curls(lines), cursor], [['a'], `${cache.storeId}:3`]);
    assert.match(lines, /"op":"delete"/);
  });

  it('that has waited for nothing has a cursor, past what was not selected', async t => {
    const cache = newCache('a');
    const clock = new ManualClock();
    const { port, door } = await feedsOf(t, cache, {}, clock);
    const waiting = reading(port, '?cursor=now&wait=5&pid=7');
    await until('a reader waits', () => door.count === 1 && clock.nextMs() !== undefined);
    cache.put({ curl: 'http://h/b' });
    await until('the commit is seen', async () => {
      clock.advance(100);
      await settle();
      return clock.monotonicMs() > 5000;
    });
    const { text } = await waiting.then(async reader => {
      await reader.over;
      return reader;
    });
    assert.deepEqual(polled(text), { lines: '', cursor: `${cache.storeId}:2`, more: false });
  });

  it('is compressed for those that take it', async t => {
    const cache = newCache('a', 'b');
    const { port } = await feedsOf(t, cache);
    const plain = (await read(port, '')).text;
    for (const [codings, isZipped] of [
      ['gzip', true],
      ['br, GZIP;q=0.5', true],
      ['gzip;q=0', false],
      ['br', false],
    ] as const) {
      const response = await new Promise<IncomingMessage>(resolve =>
        request(
          { port, host: '127.0.0.1', path: '/changes', headers: { 'accept-encoding': codings } },
          resolve,
        ).end(),
      );
      const bytes = await buffer(response);
      assert.equal(response.headers['content-encoding'], isZipped ? 'gzip' : undefined, codings);
      assert.equal((isZipped ? gunzipSync(bytes) : bytes).toString(), plain);
      assert.match(String(response.headers.vary), /accept-encoding/);
    }
  });
});

describe('a stream of the change feed', () => {
  it('tells each change as an event, with its place and as lccq has it, deletions included', async t => {
    const cache = newCache('a');
    const { port } = await feedsOf(t, cache);
    const reader = await reading(port, '', EVENTS);
    assert.equal(reader.response.headers['content-type'], 'text/event-stream');
    await reader.until(/http:\/\/h\/a/);
    cache.put({ curl: 'http://h/b' });
    cache.remove('http://h/a');
    await reader.until(/"op":"delete".*\n\n/s);
    const lines = lccq(cache, '--format=jsonl', '--since=2000-01-01').split('\n').slice(0, -1);
    const events = eventsIn(reader.text);
    assert.deepEqual(
      events.map(({ event }) => event),
      ['upsert', 'upsert', 'delete'],
    );
    assert.deepEqual(
      events.slice(1).map(({ data }) => data),
      lines,
    );
    assert.deepEqual(
      events.map(({ id }) => id),
      [1, 2, 3].map(seq => `${cache.storeId}:${seq}`),
    );
    reader.leave();
    const again = await reading(port, '?cursor=now', { ...EVENTS, 'last-event-id': events[1]?.id ?? '' });
    await again.until(/\n\n/);
    assert.deepEqual(eventsIn(again.text), events.slice(2));
  });

  it('in pieces has the place of a page with its last line alone', async t => {
    const cache = newCache('a');
    cache.put({ curl: 'http://h/long', content: `<p>${'words '.repeat(2000)}` });
    const { port } = await feedsOf(t, cache);
    const reader = await reading(port, '?with=chunks', EVENTS);
    await reader.until(/"doc":2,"from".*\n\n/);
    const events = eventsIn(reader.text);
    assert.deepEqual(events.map(({ data }) => data).join('\n') + '\n', lccq(cache, '--format=chunks'));
    assert.equal(events[0]?.event, 'reset');
    for (const { event, id } of events) assert.equal(id !== undefined, event === 'delete');
  });

  it('says every 15 s that it is there, moves its reader on, and ends in time between two events', async t => {
    const cache = newCache('a');
    const clock = new ManualClock();
    const { port, door } = await feedsOf(t, cache, { 'cu.stream_ms': '40s' }, clock);
    const reader = await reading(port, '?pid=7&cursor=now', EVENTS);
    await until('it waits', () => door.count === 1 && clock.nextMs() !== undefined);
    cache.put({ curl: 'http://h/b' });
    await until('it is over', async () => {
      clock.advance(500);
      await settle();
      return clock.monotonicMs() > 41_000;
    });
    await reader.over;
    assert.deepEqual(reader.text, `:\nid: ${cache.storeId}:2\n\n:\n\n`);
    assert.equal(reader.response.complete, true, 'its end is no cut');
  });

  it('ends with as many as were asked for, and when the daemon stops', async t => {
    const cache = newCache('a', 'b', 'c');
    const { port, door } = await feedsOf(t, cache);
    const few = await read(port, '?limit=2', EVENTS);
    assert.deepEqual(curls(few.text), ['a', 'b']);
    const live = await reading(port, '', EVENTS);
    const poll = reading(port, '?cursor=now&wait=60');
    await live.until(/h\/c/);
    await until('both are there', () => door.count === 2);
    await door.stop();
    await live.over;
    assert.equal(live.response.complete, true);
    assert.equal(polled((await poll).text || (await (await poll).until(/more/))).more, false);
  });

  it('is compressed so that each event arrives at once', async t => {
    const cache = newCache('a');
    const { port } = await feedsOf(t, cache);
    const headers = { ...EVENTS, 'accept-encoding': 'gzip' };
    const reader = await reading(port, '?cursor=now', headers);
    reader.response.setEncoding('latin1');
    cache.put({ curl: 'http://h/b' });
    await until('bytes of an event', () => reader.text.length > 40);
    reader.leave();
  });
});

describe('the change feed', () => {
  it('cuts off a reader that takes nothing, and keeps little for it', async t => {
    const cache = newCache();
    cache.fill(3000, i => `http://h/${i}/${'x'.repeat(1000)}`);
    const { port, counts, door } = await feedsOf(t, cache, { 'cu.stall_timeout_ms': '50ms' });
    const socket = connect(port, '127.0.0.1');
    socket.pause();
    socket.write('GET /changes?limit=10000 HTTP/1.1\r\nHost: h\r\n\r\n');
    await until('it is cut off', () => counts['streams_stalled'] === 1);
    assert.ok((counts['bytes_sent'] ?? 0) < 10_000_000);
    await until('its place is free', () => door.count === 0);
    socket.destroy();
  });

  it('ends nothing but its own connection for hostile requests', async t => {
    const cache = newCache('a');
    const { port, bugs, door } = await feedsOf(t, cache);
    for (const bytes of [
      'GET /changes?%00=%ff HTTP/1.1\r\nHost: h\r\n\r\n',
      'GET /changes?cursor=%F0%9F HTTP/1.1\r\nHost: h\r\n\r\n',
      `GET /changes?prefix=${'%00'.repeat(2000)} HTTP/1.1\r\nHost: h\r\n\r\n`,
      `GET /changes?mime=${'%5B'.repeat(300)} HTTP/1.1\r\nHost: h\r\n\r\n`,
      `GET /changes?fields=${'seq,'.repeat(1500)}seq HTTP/1.1\r\nHost: h\r\n\r\n`,
      'GET http://[ HTTP/1.1\r\nHost: h\r\n\r\n',
      'GET * HTTP/1.1\r\nHost: h\r\n\r\n',
      'GET /changes HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\nx',
      'GET /changes HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n',
      'GET /changes HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\nLast-Event-ID: \u0000\r\n\r\n',
      'GET /changes HTTP/1.1\r\nHost: h\r\nAuthorization: Basic \u00ff\u00fe\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      '\u0016\u0003\u0001\u0002\u0000',
    ]) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined).resume();
      socket.write(bytes, 'latin1', () => setImmediate(() => socket.destroy()));
      await new Promise(resolve => socket.once('close', resolve));
    }
    await until('all have gone', () => door.count === 0);
    assert.deepEqual(bugs, []);
    assert.deepEqual(curls((await read(port, '')).text), ['a']);
  });

  it('is of another database once that has taken its place: readers are told to begin again', async t => {
    const cache = newCache('a');
    const other = newCache('x', 'y');
    const { port, door, bugs } = await feedsOf(t, cache);
    const live = await reading(port, '', EVENTS);
    await live.until(/h\/a/);
    const poll = reading(port, `?cursor=${cache.storeId}:1&wait=60`);
    await until('both wait', () => door.count === 2);
    other.db.pragma('wal_checkpoint(TRUNCATE)');
    other.db.close();
    for (const end of ['-wal', '-shm']) rmSync(cache.dbPath + end, { force: true });
    renameSync(other.dbPath, cache.dbPath);
    await live.over;
    assert.equal((await poll).status, 410);
    assert.deepEqual(curls((await read(port, '')).text), ['x', 'y']);
    assert.deepEqual(bugs, []);
  });
});
