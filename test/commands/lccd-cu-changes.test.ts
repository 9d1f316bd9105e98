/** GET /changes of a real lccd-cu, read by real clients: curl, Python's urllib, lines as docs/change-feed.md has them. */
import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { Cutter } from '../support/cutter.js';
import { administer, startCu, type CuDaemon } from '../support/cu.js';
import { TestCache } from '../support/cache.js';
import { statusOf } from '../support/daemon.js';
import { lccqSays } from '../support/lccq.js';
import { isLong, longIt } from '../support/long.js';
import { readProjectFile } from '../support/tree.js';
import { until, within } from '../support/until.js';
import { Authority } from '../fetch/authority.js';
import { eventsIn, polled } from '../cu/http/support.js';

const run = promisify(execFile);

let cache: TestCache;
let daemon: CuDaemon;
let url: string;
let login: string;
let dir: string;
const children: ChildProcess[] = [];
beforeEach(async () => {
  cache = new TestCache();
  dir = mkdtempSync(join(tmpdir(), 'lcc-changes-'));
  login = `search:${administer(cache, '--add-reader=search').trim()}`;
  await start();
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  await daemon.stop();
  cache.close();
  rmSync(dir, { recursive: true, force: true });
});

async function start(toml = '', at = '127.0.0.1:0'): Promise<void> {
  daemon = await startCu(cache, toml, `--http-listen=${at}`);
  const { http_listens: listens } = await statusOf(cache.home, 'lccd-cu');
  url = `http://${String((listens as string[])[0])}`;
}

const lccq = (...args: string[]) => lccqSays(cache, args).stdout;
/** All changes there are, as lccq has them. */
const allChanges = () => lccq('--format=jsonl', '--since=1970-01-02');

/** One answer by curl; `cut` where its body was no whole one. */
async function curl(...args: string[]): Promise<{ text: string; isCut: boolean }> {
  try {
    const { stdout } = await run('curl', ['-sS', '-u', login, ...args], { maxBuffer: 1e9 });
    // One that is cut within its headers is none to curl, and no error.
    return { text: stdout, isCut: stdout === '' };
  } catch (error) {
    return { text: (error as { stdout?: string }).stdout ?? '', isCut: true };
  }
}

/** A block of a page in that language, the n-th. */
function blockOf(page: string, language: string, n = 0): string {
  const blocks = [...readProjectFile(page).matchAll(/^```(\w+)\n([^]*?)^```$/gm)];
  const found = blocks.filter(([, name]) => name === language)[n]?.[2];
  assert.ok(found !== undefined, `${page} has ${language}`);
  return found;
}

function startShell(script: string, shell = 'sh', flag = '-c'): { child: ChildProcess; said: () => string } {
  const env = { ...process.env, LCC: url, LCC_LOGIN: login };
  const child = spawn(shell, [flag, script], { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (more: string) => (text += more));
  child.stderr?.setEncoding('utf8').on('data', (more: string) => (text += more));
  return { child, said: () => text };
}

type Change = ['put' | 'remove', number];
/** A change of one of a few urls; what is not held cannot go. */
const change: fc.Arbitrary<Change> = fc.tuple(fc.constantFrom('put', 'put', 'remove'), fc.nat(6));
let version = 0;
function make([what, n]: Change): void {
  const name = `http://h/${n}`;
  const isHeld = cache.db.prepare('SELECT 1 FROM lccurl WHERE curl = ?').get(name) !== undefined;
  if (what === 'put') cache.put({ curl: name, content: `version ${++version} of ${n}` });
  else if (isHeld) cache.remove(name);
}

describe('the lines of docs/change-feed.md', () => {
  const page = 'docs/change-feed.md';

  it('with curl: a stream shows each change as it is committed', async () => {
    cache.put({ curl: 'http://h/before' });
    const { said } = startShell(blockOf(page, 'sh', 1));
    await until('curl is connected', async () => (await statusOf(cache.home, 'lccd-cu'))['streams'] === 1);
    cache.put({ curl: 'http://h/a' });
    await until('the line', () => said().includes('"curl":"http://h/a"'));
    assert.ok(!said().includes('http://h/before'));
  });

  it('with curl: everything, then each change, and again after the daemon was away', async () => {
    const take = join(dir, 'take');
    writeFileSync(take, '#!/bin/sh\ncat >>taken\n');
    chmodSync(take, 0o755);
    cache.put({ curl: 'http://h/a' });
    const { said } = startShell(blockOf(page, 'sh', 2));
    const taken = () => (existsSync(join(dir, 'taken')) ? readFileSync(join(dir, 'taken'), 'utf8') : '');
    await until('all that was there', () => taken().includes('http://h/a'));
    cache.remove('http://h/a');
    await until('the deletion', () => taken().includes('"op":"delete"'));
    const { port } = new URL(url);
    await daemon.stop();
    cache.put({ curl: 'http://h/b' });
    await start('', `127.0.0.1:${port}`);
    await until('what was put meanwhile', () => taken().includes('http://h/b'));
    assert.match(said(), /Failed to connect|Empty reply|reset|Recv/i);
    assert.equal(taken().match(/"seq":/g)?.length, 3, 'each once');
  });

  longIt('with Python', async () => {
    const script = blockOf(page, 'python');
    assert.ok(script.trimEnd().split('\n').length <= 14);
    cache.put({ curl: 'http://h/a', content: '<title>A title</title><p>Words.' });
    const { said } = startShell(script, 'python3');
    await until('what is there', () => said().includes('upsert http://h/a A title\n'));
    cache.remove('http://h/a');
    await until('what goes', () => said().includes('delete http://h/a None\n'));
    await until('its cursor', () => readFileSync(join(dir, 'cursor'), 'utf8').endsWith(':2'));
  });
});

describe('the change feed of a real lccd-cu', () => {
  /** Reads on as far as there is something, over a path that is cut after some bytes of each answer. */
  async function readCut(cuts: readonly number[], limit: number): Promise<string> {
    const path = join(dir, 'cut.sock');
    const http = join(cache.home, 'http.sock');
    const cutter = await new Cutter(path, http, 'listener').listen();
    let lines = '';
    let cursor = '';
    let next = 0;
    try {
      for (;;) {
        if (next < cuts.length) cutter.cutAfter(cuts[next++] ?? 0);
        const query = new URLSearchParams({ cursor, limit: String(limit), deleted: 'yes' });
        const { text, isCut } = await curl('--unix-socket', path, `http://h/changes?${String(query)}`);
        if (!isCut) {
          const answer = polled(text);
          lines += answer.lines;
          cursor = answer.cursor;
          if (!answer.more) return lines;
          continue;
        }
        // Whole lines that are no cursor: go on from the last of them.
        const whole = text.slice(0, text.lastIndexOf('\n') + 1);
        const rows = whole.split(/(?<=\n)/).filter(line => line.startsWith('{"op"'));
        lines += rows.join('');
        const seq = /"seq":(\d+)/.exec(rows.at(-1) ?? '')?.[1];
        const [store = cache.storeId, , began = String(highWater())] = cursor === '' ? [] : cursor.split(':');
        if (seq !== undefined) cursor = `${store}:${seq}:${began}`;
      }
    } finally {
      cutter.close();
    }
  }
  const highWater = () =>
    Number(cache.db.prepare("SELECT value FROM counter WHERE name = 'seq'").pluck().get());

  for (const [name, runs, only] of [
    ['a random history by curl, cut at any byte: the lines of lccq, byte by byte', 2, it],
    ['many of them', 30, longIt],
  ] as const)
    void only(name, async () => {
      await daemon.stop();
      await start('', `unix:${join(cache.home, 'http.sock')}`);
      await fc.assert(
        fc.asyncProperty(
          fc.array(change, { minLength: 5, maxLength: 25 }),
          fc.array(fc.nat(4000), { minLength: 3, maxLength: 6 }),
          fc.integer({ min: 1, max: 9 }),
          async (changes, cuts, limit) => {
            changes.forEach(make);
            assert.equal(await readCut(cuts, limit), allChanges());
          },
        ),
        { numRuns: runs, endOnFailure: true },
      );
    });

  it('a stream that is cut 20 times tells each state that is left, and every deletion', async () => {
    const port = Number(new URL(url).port);
    const { connect } = await import('node:net');
    const seen = new Map<string, string>();
    let lastId = '';
    for (let cut = 0; cut < 20; cut++) {
      for (let n = 0; n < 6; n++) make([n % 3 === 2 ? 'remove' : 'put', (cut * 5 + n) % 7]);
      const socket = connect(port, '127.0.0.1');
      let text = '';
      const authorization = `Bearer ${login}`;
      socket.write(
        `GET /changes HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\nAuthorization: ${authorization}\r\n` +
          `${lastId === '' ? '' : `Last-Event-ID: ${lastId}\r\n`}\r\n`,
      );
      const isLast = cut === 19;
      const enough = 600 + ((cut * 97) % 1500);
      socket.setEncoding('utf8').on('data', (more: string) => {
        text += more;
        // Cut wherever that is.
        if (!isLast && text.length > enough) socket.destroy();
      });
      const closed = once(socket, 'close');
      if (isLast) {
        await until('all that there is', () => text.includes(`"seq":${highWater()},`) && text.endsWith('\n'));
        socket.destroy();
      }
      await within('the connection ends', closed);
      // Sizes of chunks stand on lines of their own.
      const body = text
        .slice(text.indexOf('\r\n\r\n') + 4)
        .replace(/(?:\r\n)?\b[0-9a-f]+\r\n/g, '')
        .replaceAll('\r\n', '');
      for (const { id, event, data } of eventsIn(body)) {
        const { op, curl: name, seq } = JSON.parse(data ?? '') as { op: string; curl: string; seq: number };
        assert.equal(event, op);
        assert.match(id ?? '', new RegExp(`:${seq}(?::\\d+)?$`));
        lastId = id ?? lastId;
        seen.set(name, `${data}\n`);
      }
    }
    // The last that was told of each url is what lccq has of it.
    const bySeq = [...seen.values()].sort(
      (a, b) => Number(/"seq":(\d+)/.exec(a)?.[1]) - Number(/"seq":(\d+)/.exec(b)?.[1]),
    );
    const last = new Map(
      allChanges()
        .split(/(?<=\n)/)
        .map(line => [(JSON.parse(line) as { curl: string }).curl, line]),
    );
    assert.deepEqual(
      bySeq,
      [...last.values()].sort(
        (a, b) => Number(/"seq":(\d+)/.exec(a)?.[1]) - Number(/"seq":(\d+)/.exec(b)?.[1]),
      ),
    );
  });

  it('a long poll beside the commits misses none, and has each within a second', async () => {
    const rounds = isLong ? 300 : 25;
    const seen: string[] = [];
    let cursor = polled((await curl(`${url}/changes?cursor=now`)).text).cursor;
    const begun = cursor;
    const tookMs: number[] = [];
    for (let n = 0; n < rounds; n++) {
      const asked = fetch(`${url}/changes?cursor=${cursor}&wait=60`, {
        headers: { authorization: `Bearer ${login}` },
      });
      await until('it waits', async () => (await statusOf(cache.home, 'lccd-cu'))['streams'] === 1);
      const name = `http://h/${n % 5}`;
      const isHeld = cache.db.prepare('SELECT 1 FROM lccurl WHERE curl = ?').get(name) !== undefined;
      const beganMs = performance.now();
      if (isHeld) cache.remove(name);
      else cache.put({ curl: name, content: `${n}` });
      const answer = polled(await (await within('an answer', asked)).text());
      tookMs.push(performance.now() - beganMs);
      seen.push(...answer.lines.split('\n').slice(0, -1));
      ({ cursor } = answer);
    }
    assert.deepEqual(
      seen.map(line => (JSON.parse(line) as { seq: number }).seq),
      Array.from({ length: rounds }, (_, n) => Number(begun.split(':')[1]) + n + 1),
    );
    tookMs.sort((a, b) => a - b);
    // One that a busy machine has kept waiting is in the long set's hundred, too.
    const most = tookMs[Math.floor(tookMs.length * (isLong ? 0.99 : 0.5))] ?? Infinity;
    assert.ok(most < 1000, `commit to line: ${most} ms`);
  });

  longIt(
    'of many readers that wait and some that drip keeps little, and others are answered as before',
    async () => {
      const waiting = isLong ? 180 : 60;
      await daemon.stop();
      await start('[cu]\nmax_streams_per_address = 1000\n');
      cache.fill(300, i => `http://h/${i}/${'x'.repeat(500)}`);
      const headers = { authorization: `Bearer ${login}` };
      // A heap as it is after twenty that read what there is.
      const all = () => fetch(`${url}/changes?limit=10000`, { headers }).then(answer => answer.text());
      await Promise.all(Array.from({ length: 20 }, all));
      const before = Number((await statusOf(cache.home, 'lccd-cu'))['rss_bytes']);
      const leave = new AbortController();
      const { signal } = leave;
      const streams = Array.from({ length: waiting }, (_, n) =>
        fetch(`${url}/changes?cursor=now${n % 2 === 0 ? '&wait=60' : ''}`, {
          headers: n % 2 === 0 ? headers : { ...headers, accept: 'text/event-stream' },
          signal,
        }),
      );
      for (const stream of streams) stream.catch(() => undefined);
      const { connect } = await import('node:net');
      const drips = Array.from({ length: 20 }, () => {
        const socket = connect(Number(new URL(url).port), '127.0.0.1');
        socket.on('error', () => undefined).pause();
        socket.write(
          `GET /changes?limit=10000 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${login}\r\n\r\n`,
        );
        return socket;
      });
      await until(
        'all are there',
        async () => Number((await statusOf(cache.home, 'lccd-cu'))['streams']) >= waiting,
      );
      cache.put({ curl: 'http://h/news' });
      assert.equal((await curl(`${url}/changes?limit=10`)).isCut, false);
      await within('all polls have it', Promise.all(streams.filter((_, n) => n % 2 === 0)));
      const grown = Number((await statusOf(cache.home, 'lccd-cu'))['rss_bytes']) - before;
      assert.ok(grown < 60_000_000, `${grown} bytes more`);
      leave.abort();
      for (const socket of drips) socket.destroy();
    },
  );

  it('lets a reader in no more once it is removed, and says what is wrong in JSON', async () => {
    assert.equal((await curl('-o', '/dev/null', '-w', '%{http_code}', `${url}/changes`)).text, '200');
    administer(cache, '--remove-reader=search');
    assert.equal((await curl('-o', '/dev/null', '-w', '%{http_code}', `${url}/changes`)).text, '401');
    const { what } = JSON.parse((await curl(`${url}/changes`)).text) as { what: string };
    assert.equal(what, 'unknown reader or wrong password');
  });

  it('is read over TLS, compressed, by a socket, and below its address', async () => {
    await daemon.stop();
    const authority = new Authority();
    const { keyFile, certFile } = authority.issue();
    const http = join(cache.home, 'http.sock');
    const toml = `[net]\ntls_cert = "${certFile}"\ntls_key = "${keyFile}"\n[cu]\nurl = "https://localhost/feed"\n`;
    daemon = await startCu(cache, toml, '--http-listen=tls:127.0.0.1:0', `--http-listen=unix:${http}`);
    const { http_listens: listens } = await statusOf(cache.home, 'lccd-cu');
    const port = /:(\d+)$/.exec(String((listens as string[])[0]))?.[1];
    cache.put({ curl: 'http://h/a' });
    const lines = lccq('--format=jsonl');
    for (const args of [
      ['--cacert', authority.caFile, `https://localhost:${port}/feed/changes`],
      ['--cacert', authority.caFile, '--compressed', `https://localhost:${port}/changes`],
      ['--unix-socket', http, 'http://h/changes'],
    ])
      assert.equal(polled((await curl(...args)).text).lines, lines, args.join(' '));
  });

  it('is started by lccd where cu.http_listen alone says so, and is told by lccstat', async () => {
    await daemon.stop();
    writeFileSync(join(cache.home, 'lcc.toml'), '[cu]\nhttp_listen = ["127.0.0.1:0"]\n');
    const { startDaemon } = await import('../support/daemon.js');
    daemon = Object.assign(startDaemon('lccd-cu', cache.home), { unix: '' });
    await daemon.ready;
    const { http_listens: listens, listens: others } = await statusOf(cache.home, 'lccd-cu');
    assert.equal((listens as string[]).length, 1);
    assert.deepEqual(others, []);
  });
});
