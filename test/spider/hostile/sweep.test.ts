/** A real lccspider among servers that do everything wrong: one well-formed record and one DONE for each, in time and in bounds. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Authority } from '../../fetch/authority.js';
import { BOMB } from '../../fetch/hostile/bombs.js';
import { CASES } from '../../fetch/hostile/cases.js';
import { listen, TLS_CASES } from '../../fetch/hostile/tls.js';
import { answer, rawServer } from '../../fetch/support.js';
import { freePort } from '../../support/free-port.js';
import { Daemons } from '../../support/daemon.js';
import { compileRecordReader, LCCREC, readBy, recordReaders } from '../../support/record-readers.js';
import { httpText } from '../../../src/wire/spider-codes.js';
import { PlayedStore, PlayedUrlServer, type Kept } from '../transaction/support.js';
import { ENDS } from './ends.js';

const TIMEOUT_REQ_MS = 6000;
const MAX_MEMORY_BYTES = 256 * 1024 * 1024;

const home = mkdtempSync(join(tmpdir(), 'lccspider-'));
const daemons = new Daemons();
const servers: Server[] = [];
after(async () => {
  await daemons.end();
  for (const server of servers) server.close();
  rmSync(home, { recursive: true, force: true });
});

interface Target {
  name: string;
  url: string;
  ip?: string;
}

async function targets(authority: Authority): Promise<Target[]> {
  const all: Target[] = [];
  for (const { name, serve, onConnect } of CASES) {
    const { url } = await rawServer(serve, onConnect && (socket => onConnect(socket, '', 0)));
    all.push({ name, url });
  }
  for (const { name, make } of TLS_CASES) {
    const server = make(authority);
    servers.push(server);
    all.push({ name: `TLS: ${name}`, url: await listen(server) });
  }
  const page = await rawServer(socket => void socket.write(answer('page')));
  const at = (rest: string) => `http://127.0.0.1:${page.port}${rest}`;
  const six = createServer(socket => void socket.on('error', () => undefined).end(answer('page')));
  servers.push(six);
  await new Promise<void>(resolve => void six.listen(0, '::1', resolve));
  const sixPort = (six.address() as AddressInfo).port;
  all.push(
    { name: 'a name that does not exist', url: 'http://nowhere.invalid/' },
    { name: 'an international name', url: `http://xn--bcher-kva.example:${page.port}/`, ip: '127.0.0.1' },
    { name: 'nobody listens', url: `http://127.0.0.1:${await freePort()}/` },
    { name: 'a url that is none', url: 'http://[::g]/' },
    { name: 'a port that is none', url: 'http://127.0.0.1:99999/' },
    { name: 'ftp', url: 'ftp://127.0.0.1/' },
    { name: 'an IPv6 literal', url: `http://[::1]:${sixPort}/` },
    { name: 'a NUL in the path', url: at('/%00') },
    { name: 'a path that nothing encodes', url: at('/{}|"^`\\') },
    { name: 'TLS to a plain port', url: at('/').replace('http:', 'https:') },
    { name: 'a black hole', url: 'http://192.0.2.1/' },
    { name: 'a login in the url', url: at('/').replace('//', '//user:password@') },
    { name: 'a fragment', url: at('/#here') },
    { name: 'an ordinary page', url: at('/') },
  );
  return all;
}

/** A record in a line. */
function brief({ success, reason, redirected, cut, http, newUrl }: Kept): string {
  const flags = `${redirected ? ' redirected' : ''}${cut ? ' cut' : ''}${newUrl === '' ? '' : ' moved'}`;
  return `${success ? '+' : '-'} ${reason}${flags} ${httpText(http)}`;
}

describe('lccspider among hostile servers', () => {
  const records = new Map<string, Kept>();
  const stream: Buffer[] = [];
  let all: Target[] = [];
  let peakBytes = 0;
  let urls: PlayedUrlServer;

  before(async () => {
    const authority = new Authority();
    all = await targets(authority);
    const store = await PlayedStore.start();
    store.onBytes = bytes => void stream.push(bytes);
    urls = await PlayedUrlServer.start();
    const spider = daemons.start(
      'lccspider',
      home,
      [
        `--urlserver=127.0.0.1:${urls.port}`,
        `--store=127.0.0.1:${store.port}`,
        '--slots=64',
        `--timeout-req=${TIMEOUT_REQ_MS}`,
        '--timeout-update=10000',
        '--max-doc-size=1MB',
        '--allow-address=127.0.0.0/8',
        '--allow-address=::1',
        '--allow-address=192.0.2.0/24',
      ],
      authority.env,
    );
    await spider.ready;
    for (const [docId, { url, ip }] of all.entries()) {
      await urls.credits(1);
      urls.send(docId, url, { ...(ip !== undefined && { ip }) });
    }
    await urls.dones(all.length);
    peakBytes = peakOf(spider.child.pid);
    for (const [docId, { name }] of all.entries()) {
      const [record, second] = store.of(docId);
      assert.ok(record !== undefined && second === undefined, `${name}: one record`);
      records.set(name, record);
    }
    assert.equal(await spider.stop(), 0);
    assert.equal(store.records.length, all.length);
  });

  it('says DONE once for each', () => {
    assert.deepEqual(
      [...urls.done.values()],
      all.map(() => 1),
    );
    assert.deepEqual(Object.keys(ENDS).toSorted(), all.map(({ name }) => name).toSorted());
  });

  it('is done with each in time', () => {
    for (const [name, { durationMs }] of records)
      assert.ok(durationMs <= TIMEOUT_REQ_MS + 1000, `${name}: ${durationMs} ms`);
  });

  it('keeps to its memory, 64 at a time', () => {
    assert.ok(peakBytes > 0 && peakBytes < MAX_MEMORY_BYTES, `${Math.round(peakBytes / 1024 / 1024)} MB`);
  });

  it('sends a stream that readers in C, Perl and Python understand as lccrec does', () => {
    const bytes = Buffer.concat(stream);
    compileRecordReader(home);
    const wanted = readBy(LCCREC, bytes);
    assert.equal(wanted.status, 0);
    assert.equal(wanted.stdout.trimEnd().split('\n').length, all.length);
    for (const [name, command] of Object.entries(recordReaders(home)))
      assert.deepEqual(readBy(command, bytes), wanted, name);
  });

  for (const [name, expected] of Object.entries(ENDS))
    it(`reports what came of it: ${name}`, () => {
      const record = records.get(name);
      assert.ok(record);
      const ends = typeof expected === 'string' ? [expected] : expected;
      assert.ok(ends.includes(brief(record)), `${brief(record)}, not ${ends.join(' or ')}`);
      if (!record.success) assert.equal(record.document.length, 0);
    });
});

describe('lccspider with 64 bombs at a time', () => {
  it('gives its signs of life', async () => {
    const timeoutUpdateMs = 2000;
    const site = await rawServer(socket => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${BOMB.length}\r\n\r\n`);
      socket.write(BOMB);
    });
    const [urls, store] = [await PlayedUrlServer.start(), await PlayedStore.start()];
    store.keepsDocuments = false;
    const spider = daemons.start('lccspider', home, [
      `--urlserver=127.0.0.1:${urls.port}`,
      `--store=127.0.0.1:${store.port}`,
      '--name=bombs',
      `--timeout-update=${timeoutUpdateMs}`,
      '--max-doc-size=4MB',
      '--allow-private',
    ]);
    for (let docId = 0; docId < 192; docId++) {
      await urls.credits(1);
      urls.send(docId, site.url);
    }
    await urls.dones(192);
    assert.ok(store.records.every(({ cut, docBytes }) => cut && docBytes === 4 * 1024 * 1024));
    assert.ok(urls.longestSilenceMs <= timeoutUpdateMs, `${urls.longestSilenceMs} ms of silence`);
    assert.equal(await spider.stop(), 0);
  });
});

/** The most memory that a process has had. */
function peakOf(pid: number | undefined): number {
  const found = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return Number(found?.[1] ?? 0) * 1024;
}
