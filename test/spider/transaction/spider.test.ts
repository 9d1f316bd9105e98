/** The conversation with the URL server, and what reaches the store server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { httpText } from '../../../src/wire/spider-codes.js';
import { until } from '../../support/until.js';
import { answer, rawServer } from '../../fetch/support.js';
import { PlayedStore, scene, type Kept } from './support.js';

/** A record in a line: success, reason, status, document. */
function brief(record: Kept | undefined): string {
  if (record === undefined) return 'nothing';
  const { success, reason, redirected, cut, http, document } = record;
  const flags = `${redirected ? ' redirected' : ''}${cut ? ' cut' : ''}`;
  return `${success ? 'yes' : 'no'} ${reason}${flags} ${httpText(http)} ${document.length} bytes`;
}

describe('a spider', () => {
  it('asks for as many urls as it has slots, and for one more for each that is done', async () => {
    const site = await rawServer(socket => void socket.write(answer('page')));
    const { urls, stores } = await scene();
    assert.deepEqual(urls.lines, [{ kind: 'get', count: 2 }]);
    urls.send(7, site.url);
    urls.send(8, `${site.url}b`);
    await urls.dones(2);
    await urls.credits(2);
    assert.deepEqual(stores[0]?.records.map(brief), ['yes ok 200 4 bytes', 'yes ok 200 4 bytes']);
    assert.deepEqual(stores[0]?.of(8)[0]?.url, `${site.url}b`);
    assert.equal(stores[0]?.of(7)[0]?.document.toString(), 'page');
    const granted = urls.lines.reduce((sum, line) => sum + (line.kind === 'get' ? line.count : 0), 0);
    assert.equal(granted, 4);
  });

  it('says DONE once for every url, and not before the store server has acknowledged its record', async () => {
    const site = await rawServer(socket => void socket.write(answer('page')));
    const { urls, stores, spider } = await scene({ settings: { timeout_update_ms: '200' } });
    const [store] = stores;
    assert.ok(store);
    store.holds = true;
    urls.send(1, site.url);
    await store.until(1);
    await until('a sign of life meanwhile', () => (urls.working.get('1') ?? 0) > 2);
    assert.equal(urls.done.size, 0);
    assert.equal(spider.status().unconfirmed, 1);
    store.acknowledge(1);
    await urls.dones(1);
    await urls.credits(2);
    assert.equal(spider.status().idle, true);
    assert.deepEqual([...urls.done], [['1', 1]]);
  });

  it('says DONE when its record has left, to a store server that does not acknowledge', async () => {
    const site = await rawServer(socket => void socket.write(answer('page')));
    const silent = await PlayedStore.start(false);
    const { urls, log } = await scene({ stores: [silent], links: { helloTimeoutMs: 50 } });
    urls.send(1, site.url);
    await urls.dones(1);
    await silent.until(1);
    assert.match(log(), /store server does not acknowledge/);
    urls.send(2, site.url);
    await urls.dones(2);
  });

  it('says DONE of nothing that it brought to what is no store server', async () => {
    const site = await rawServer(socket => void socket.write(answer('page')));
    const web = await PlayedStore.start(false);
    web.onBytes = () => void web.socket?.write('HTTP/1.1 400 Bad Request\r\n\r\n');
    const { urls, log, spider } = await scene({ stores: [web], settings: { slots: '3' } });
    for (const docId of [1, 2, 3]) urls.send(docId, `${site.url}${docId}`);
    await until('it has tried three times', () => web.connections >= 3);
    assert.match(log(), /"level":"error".*is no store server.*HTTP\/1\.1 400 Bad Request/);
    assert.equal(urls.done.size, 0);
    assert.equal(spider.status().idle, false);
    // The right one listens there from now on.
    web.onBytes = () => undefined;
    web.becomesStore();
    await urls.dones(3);
    assert.deepEqual([...urls.done.values()], [1, 1, 1]);
  });

  it('answers what cannot be fetched with a record and DONE, and what names no document with ERR', async () => {
    const { urls, stores } = await scene({ settings: { slots: '20' } });
    const lines: [line: string, transId: string | undefined, reason: string, url: string][] = [
      ['a 1 - localhost ftp://localhost/x', 'a', 'scheme', 'ftp://localhost/x'],
      ['b 2 - localhost http://[::g]/', 'b', 'bad-url', 'http://[::g]/'],
      ['c 3 - localhost', 'c', 'bad-url', 'invalid:'],
      ['d 4 - localhost http://localhost/a b', 'd', 'bad-url', 'http://localhost/a b'],
      ['e 5 999.1.1.1 localhost http://localhost/', 'e', 'bad-url', 'http://localhost/'],
      ['f 6 - localhost relative', 'f', 'bad-url', 'invalid:relative'],
      [`g 7 - localhost http://localhost/${'x'.repeat(65_536 - 17)}`, 'g', 'long-url', ''],
      ['h 8 10.1.1.1 localhost http://localhost/', 'h', 'address-forbidden', 'http://localhost/'],
      ['i', undefined, '', ''],
      ['j x - localhost http://localhost/', undefined, '', ''],
      ['k 4294967296 - localhost http://localhost/', undefined, '', ''],
      ['', undefined, '', ''],
      ['x'.repeat(70_001), undefined, '', ''],
    ];
    for (const [line, transId] of lines) urls.say(`${line}\r\n`, ...(transId === undefined ? [] : [transId]));
    await urls.dones(8);
    const [store] = stores;
    for (const [line, transId, reason, url] of lines) {
      if (transId === undefined) continue;
      const record = store?.of(Number(line.split(' ')[1]))[0];
      assert.equal(record?.reason, reason, line.slice(0, 100));
      if (url !== '') assert.equal(record?.url, url);
      else assert.equal(record?.url.length, 65_535);
    }
    await until('an ERR for each of the others', () => urls.errs.length >= 5);
    assert.equal(store?.records.length, 8);
  });

  it('reports once what a URL server says that is no url line, and each of its ERRs', async () => {
    const { urls, log } = await scene();
    urls.say('LCCACK1\n\x1b[2J nonsense\nERR not now\n');
    await until('both are answered', () => urls.errs.length === 2);
    await until('the ERR is reported', () => log().includes('not now'));
    const warnings = log()
      .split('\n')
      .filter(line => line.includes('"level":"warn"'));
    assert.equal(warnings.length, 2, warnings.join('\n'));
    assert.match(warnings[0] ?? '', /--urlserver.*"line":"LCCACK1"/);
    assert.match(warnings[1] ?? '', /URL server: error.*not now/);
  });

  it('reports such a line that names a transaction and a document, its bytes escaped', async () => {
    const { urls, log } = await scene();
    urls.say(Buffer.from('HTTP/1.1 400 Bad\xff Request\r\n', 'latin1'), 'HTTP/1.1');
    await urls.dones(1);
    assert.match(log(), /"level":"warn".*"line":"HTTP\/1\.1 400 Bad\\\\xff Request"/);
  });

  it('reports once for each host that its address is not public, and how to permit it', async () => {
    const { urls, log } = await scene({ engine: { allowAddresses: [] }, settings: { slots: '300' } });
    urls.send(1, 'http://127.0.0.1:9/a');
    urls.send(2, 'http://127.0.0.1:9/b');
    urls.send(3, 'http://h.example/', { ip: '10.1.1.1' });
    await urls.dones(3);
    const told = () =>
      log()
        .split('\n')
        .filter(line => line.includes('not public'));
    assert.equal(told().length, 2);
    assert.match(told().join(''), /"level":"warn".*--allow-private.*--allow-address.*"host":"127\.0\.0\.1"/);
    assert.match(told().join(''), /"host":"h\.example","address":"10\.1\.1\.1"/);
    for (let docId = 10; docId < 210; docId++) urls.send(docId, `http://10.1.1.${docId}/`);
    await urls.dones(203);
    assert.equal(told().length, 101, 'a hundred hosts, and that there are more');
  });

  it('fetches a url of 65535 bytes, and one that begins with its path', async () => {
    const site = await rawServer((socket, request) =>
      socket.write(answer(String((request.split('\r\n')[0] ?? '').length))),
    );
    const { urls, stores } = await scene();
    const long = site.url + 'x'.repeat(65_535 - site.url.length);
    urls.send(1, long);
    await urls.dones(1);
    assert.deepEqual(stores[0]?.records.map(brief), ['yes ok 200 5 bytes']);
    assert.equal(stores[0]?.records[0]?.url, long);
    urls.send(2, '/x', { host: '127.0.0.1' });
    await urls.dones(2);
    assert.deepEqual(
      stores[0]?.of(2).map(({ url, reason }) => [url, reason]),
      [['http://127.0.0.1/x', 'refused']],
    );
  });

  it('says where the host is another than that of the url, and goes by the url', async () => {
    const site = await rawServer(socket => void socket.write(answer('page')));
    const { urls, stores } = await scene();
    urls.send(1, `http://www.example.org:${site.port}/`, { ip: '127.0.0.1', host: 'www.example.net' });
    await urls.dones(1);
    assert.deepEqual(stores[0]?.records.map(brief), ['yes ok 200 4 bytes']);
    assert.match(site.requests[0] ?? '', /\r\nhost: www\.example\.org:/i);
    assert.match(urls.errs.join(), /www\.example\.net is not the host/);
  });

  it('begins nothing without credit, and nothing twice', async () => {
    const site = await rawServer(() => undefined);
    const { urls } = await scene({ settings: { slots: '2', timeout_req_ms: '60000' } });
    urls.send(1, site.url);
    urls.say(`1 2 - 127.0.0.1 ${site.url}\n`);
    await until('what is wrong', () => urls.errs.some(text => text.includes('under way')));
    await urls.credits(1);
    urls.send(3, site.url);
    await until('both are asked for', () => site.requests.length === 2);
    urls.say(`4 4 - 127.0.0.1 ${site.url}\n`);
    await until('what is wrong', () => urls.errs.some(text => text.includes('without credit')));
    assert.equal(site.requests.length, 2);
  });

  it('carries on without its URL server, and with nothing of it once that is back', async () => {
    const waiting: { write(bytes: Buffer): unknown }[] = [];
    const site = await rawServer(socket => void waiting.push(socket));
    const { urls, stores, spider } = await scene();
    urls.send(1, site.url);
    await until('it is asked for', () => waiting.length === 1);
    urls.socket?.destroy();
    await until('it connects again', () => urls.connections === 2);
    await urls.credits(1);
    assert.equal(urls.credit, 1, 'the orphan has the other slot');
    assert.equal(spider.status().orphans, 1);
    waiting[0]?.write(answer('page'));
    await stores[0]?.until(1);
    await urls.credits(2);
    assert.deepEqual([urls.done.size, spider.status().orphaned], [0, 1]);
  });

  it('tells a URL server that has said its last word of all that it asked for, and connects again', async () => {
    const waiting: { write(bytes: Buffer): unknown }[] = [];
    const site = await rawServer(socket => void waiting.push(socket));
    const { urls } = await scene();
    urls.send(1, site.url);
    urls.send(2, site.url);
    urls.socket?.end();
    await until('both are asked for', () => waiting.length === 2);
    for (const socket of waiting) socket.write(answer('page'));
    await urls.dones(2);
    await until('it connects again', () => urls.connections === 2);
    assert.deepEqual([...urls.done.values()], [1, 1]);
  });

  it('hands over again, in order and whole, what a lost store server had not acknowledged', async () => {
    const site = await rawServer(socket => void socket.write(answer('page')));
    const { urls, stores, spider } = await scene({ settings: { slots: '5' } });
    const [store] = stores;
    assert.ok(store);
    for (const docId of [1, 2]) urls.send(docId, site.url);
    await urls.dones(2);
    store.holds = true;
    for (const docId of [3, 4, 5]) urls.send(docId, `${site.url}${docId}`);
    await store.until(5);
    store.holds = false;
    store.socket?.destroy();
    await urls.dones(5);
    const again = store.records.slice(5).map(({ docId }) => docId);
    assert.deepEqual(
      again,
      store.records.slice(2, 5).map(({ docId }) => docId),
    );
    assert.equal(spider.status().resent_records, 3);
  });

  it('gives up a store server that takes records and never acknowledges them', async () => {
    const site = await rawServer(socket => void socket.write(answer('page')));
    const { urls, stores } = await scene({ links: { stallTimeoutMs: 200 } });
    const [store] = stores;
    assert.ok(store);
    store.holds = true;
    urls.send(1, site.url);
    await until('it connects again', () => store.connections === 2);
    store.holds = false;
    await until('it connects once more', () => store.connections === 3 || urls.done.size === 1);
    await urls.dones(1);
  });

  it('gives a store server that acknowledges something else another connection', async () => {
    const site = await rawServer(socket => void socket.write(answer('page')));
    const { urls, stores, log } = await scene();
    const [store] = stores;
    assert.ok(store);
    store.holds = true;
    urls.send(1, site.url);
    await store.until(1);
    store.holds = false;
    store.acknowledge(2);
    await urls.dones(1);
    assert.equal(store.connections, 2);
    assert.match(log(), /acknowledges another record/);
  });

  it('brings a document to the store server that its number says', async () => {
    const site = await rawServer(socket => void socket.write(answer('page')));
    const three = [await PlayedStore.start(), await PlayedStore.start(), await PlayedStore.start()];
    const { urls } = await scene({ stores: three, settings: { slots: '10' } });
    for (const docId of [0, 1, 2, 3, 4, 4_294_967_295]) urls.send(docId, site.url);
    await urls.dones(6);
    assert.deepEqual(
      three.map(store => store.records.map(({ docId }) => docId).toSorted((a, b) => a - b)),
      [[0, 3, 4_294_967_295], [1, 4], [2]],
    );
  });

  it('keeps documents in memory as far as it may, and hands over the others from files', async () => {
    const documents = [1000, 99_999, 100_001, 700_000].map((length, at) => Buffer.alloc(length, `${at}`));
    const site = await rawServer((socket, request) =>
      socket.write(answer(documents[Number(/GET \/(\d)/.exec(request)?.[1])] ?? '')),
    );
    for (const bounds of [{ memoryDocBytes: 100_000 }, { memoryBytes: 0 }]) {
      const { urls, stores, spider } = await scene({ settings: { slots: '4' }, bounds });
      documents.forEach((_, at) => urls.send(at, `${site.url}${at}`));
      await urls.dones(4);
      documents.forEach((document, at) =>
        assert.ok(stores[0]?.of(at)[0]?.document.equals(document), `${at}`),
      );
      assert.equal(spider.status().memory_bytes, 0);
    }
  });

  it('hands over once more what it has in a file', async () => {
    const document = Buffer.alloc(3_000_000, 'x');
    const site = await rawServer(socket => void socket.write(answer(document)));
    const { urls, stores } = await scene({ bounds: { memoryDocBytes: 1000 } });
    const [store] = stores;
    assert.ok(store);
    urls.send(1, site.url);
    await until('a part has come', () => store.receivedBytes > 0);
    store.socket?.destroy();
    await urls.dones(1);
    assert.ok(store.of(1).at(-1)?.document.equals(document));
  });

  it('gives up a URL server that sends more bad lines than it may', async () => {
    const { urls, log } = await scene({ settings: { max_bad_lines: '10' } });
    for (let n = 0; n < 10; n++) urls.say('nonsense\n');
    await until('an ERR for each', () => urls.errs.length === 10);
    assert.equal(urls.connections, 1);
    urls.say('nonsense\n');
    await until('it connects again', () => urls.connections === 2);
    assert.match(log(), /URL server: too many bad lines/);
  });

  it('gives up a URL server that does not read', async () => {
    const site = await rawServer(() => undefined);
    const settings = {
      slots: '2000',
      timeout_update_ms: '40',
      timeout_req_ms: '60000',
    };
    const { urls, log } = await scene({ settings, bounds: { maxUnsentBytes: 1024 } });
    urls.socket?.pause();
    for (let docId = 0; docId < 2000; docId++)
      urls.send(docId, site.url, { transId: 'x'.repeat(60) + docId });
    await until('it connects again', () => urls.connections === 2);
    assert.match(log(), /URL server: it does not read/);
  });
});

describe('a spider that is told to stop', () => {
  it('asks for nothing more, ends what it has begun, and says so', async () => {
    const waiting: { write(bytes: Buffer): unknown }[] = [];
    const site = await rawServer(socket => void waiting.push(socket));
    const { urls, stores, stop } = await scene({ settings: { grace_ms: '60000' } });
    urls.send(1, site.url);
    await until('it is asked for', () => waiting.length === 1);
    const stopped = stop();
    urls.send(2, site.url);
    await until('what comes late is sent back', () => urls.errs.some(text => text.includes('stops')));
    waiting[0]?.write(answer('page'));
    await stopped;
    await until('the end is told', () => urls.socket?.readableEnded === true);
    assert.deepEqual([...urls.done], [['1', 1]]);
    assert.equal(urls.credit, 0);
    assert.deepEqual(stores[0]?.records.map(brief), ['yes ok 200 4 bytes']);
  });

  it('gives up after its grace what is still under way, without a record or DONE: others will fetch it', async () => {
    const site = await rawServer(() => undefined);
    const { urls, stores, stop } = await scene({ settings: { grace_ms: '50' } });
    urls.send(1, site.url);
    urls.send(2, site.url);
    await until('they are asked for', () => site.requests.length === 2);
    await stop();
    await until('the end is told', () => urls.socket?.readableEnded === true);
    assert.deepEqual([[...urls.done.keys()], stores[0]?.records.map(brief)], [[], []]);
  });
});
