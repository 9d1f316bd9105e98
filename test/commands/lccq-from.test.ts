/** lccq --from: the rows of an lccd-cu elsewhere, made into the same bytes as there, whatever is cut or killed. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { FORMAT_NAMES } from '../../src/cu/formats/index.js';
import { Authority } from '../fetch/authority.js';
import { TestCache } from '../support/cache.js';
import { administer, startCu, type CuDaemon } from '../support/cu.js';
import { Cutter } from '../support/cutter.js';
import { LCCQ, lccqSays, runLccq } from '../support/lccq.js';
import { isLong, longIt } from '../support/long.js';
import { until, within } from '../support/until.js';

let cache: TestCache;
let daemon: CuDaemon;
let dir: string;
const children: ChildProcess[] = [];
beforeEach(async () => {
  cache = new TestCache();
  dir = mkdtempSync(join(tmpdir(), 'lcc-from-'));
  daemon = await startCu(cache);
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await daemon.stop();
  cache.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Rows of many kinds, and what became of them. */
function fill(large = 1_200_000): void {
  const at = 1_795_000_000;
  cache.put({
    curl: 'http://h/a?b&c="d"',
    burl: 'http://h/<a>',
    mtime: '2026-11-20T10:13:01Z',
    subtype: 'x & y',
  });
  cache.put({ curl: 'http://h/ü\u2028\t"', content: '<title>Ü &amp; ä</title><p>Wörter\u0000' });
  cache.put({
    curl: 'http://h/b.txt',
    mimetype: 'text/plain',
    content: 'two',
    pid: 2,
    charset: 'iso-8859-1',
  });
  cache.put({
    curl: 'http://h/big.bin',
    mimetype: 'application/octet-stream',
    content: Buffer.alloc(large, 'ab\u0000'),
  });
  cache.put({ curl: 'http://h/hidden', burl: '' });
  cache.put({ curl: 'http://h/view', burl: 'http://h/page', content: 'one' });
  cache.put({ curl: 'http://h/view2', burl: 'http://h/page', mimetype: 'text/xml', content: '<x/>' });
  cache.put({ curl: 'http://h/elsewhere', machineid: 'other', at });
  rmSync(cache.put({ curl: 'http://h/missing', content: 'gone' }));
  writeFileSync(cache.put({ curl: 'http://h/altered', content: 'before' }), 'beforf');
  cache.put({ curl: 'http://h/empty', content: '' });
  for (let n = 0; n < 30; n++)
    cache.put({ curl: `http://h/n/${n}`, content: `<p>${'word '.repeat(n * 40)}` });
  cache.put({ curl: 'http://h/moved', burl: 'http://h/old' });
  cache.put({ curl: 'http://h/moved', burl: 'http://h/new' });
  cache.remove('http://h/view2', { mimetype: 'text/xml' });
  cache.remove('http://h/n/7');
  cache.put({ curl: 'http://h/n/7', mimetype: 'text/plain', content: 'another type' });
}

/** Archives name the moment in which they were made. */
function steady(format: string, bytes: Buffer): string {
  if (format !== 'warc') return bytes.toString('latin1');
  return gunzipSync(bytes)
    .toString('latin1')
    .replace(/^WARC-Date: .*$/gm, '')
    .replace(/urn:uuid:[0-9a-f-]+/g, '');
}

/** The same command here and there: status, standard output, and what is said besides. */
function both(from: readonly string[], args: readonly string[]): void {
  const format = /--format=(\S+)/.exec(args.join(' '))?.[1] ?? 'xml';
  const here = runLccq(cache, args);
  const there = runLccq(cache, [...from, ...args]);
  assert.equal(there.status, here.status, `${args.join(' ')}: ${there.stderr}`);
  const [ours, theirs] = [here, there].map(({ stdout }) => steady(format, stdout));
  if (ours !== theirs) {
    let at = 0;
    while (ours?.[at] === theirs?.[at]) at++;
    assert.fail(
      `${args.join(' ')} differs at ${at}: ${ours?.slice(at, at + 200)}\n${theirs?.slice(at, at + 200)}`,
    );
  }
  assert.equal(there.stderr, here.stderr);
}

const NO_FILES = FORMAT_NAMES.filter(name => !name.endsWith('paths') && name !== 'paths0');
const COMMANDS = [
  ...NO_FILES.map(name => [`--format=${name}`]),
  ...NO_FILES.filter(name => name !== 'urls').map(name => [`--format=${name}`, '--since=2000-01-01']),
  ['--content'],
  ['--format=jsonl', '--content'],
  ['--format=jsonl', '--text'],
  ['--format=jsonl', '--markdown=all', '--fields=op,seq'],
  ['--format=tar', '--markdown'],
  ['--format=chunks', '--chunk-size=300', '--fields=pid'],
  ['--format=csv', '--fields=curl,subtype,mtime,hops,robots'],
  ['--format=jsonl', '--deleted'],
  ['--since=2000-01-01', '--no-deleted', '--pid=1', '--prefix=http://h/n', '--mime=text/*', '--limit=5'],
  ['--format=changed-urls', '--since=2000-01-01', '--limit=4'],
  ['--count'],
  ['--count', '--format=tar', '--since=2000-01-01'],
  ['--count', '--limit=3', '--mime=text/plain'],
];

describe('lccq --from', () => {
  it('writes in every format what the same command writes there, byte by byte', () => {
    fill();
    for (const args of COMMANDS) both([`--from=unix:${daemon.unix}`], args);
  });

  it('does so over TCP and over TLS, as a reader', async () => {
    await daemon.stop();
    const authority = new Authority();
    const { keyFile, certFile } = authority.issue();
    const toml = `[net]\ntls_cert = "${certFile}"\ntls_key = "${keyFile}"\n`;
    daemon = await startCu(cache, toml, '--listen=tls:127.0.0.1:0');
    const tlsPort = /"endpoint":"tls:127\.0\.0\.1:(\d+)"/.exec(daemon.log)?.[1];
    const pwdfile = join(dir, 'password');
    writeFileSync(pwdfile, administer(cache, '--add-reader=search'), { mode: 0o600 });
    const login = ['--reader=search', `--pwdfile=${pwdfile}`];
    fill();
    for (const args of [['--format=jsonl', '--content'], ['--format=tar'], []]) {
      both([`--from=127.0.0.1:${daemon.port}`, ...login], args);
      both([`--from=tls:localhost:${tlsPort}`, `--cafile=${authority.caFile}`, ...login], args);
    }
    const said = (...args: string[]) => {
      const { status, stderr } = lccqSays(cache, args);
      return `${status} ${stderr}`;
    };
    assert.match(said(`--from=127.0.0.1:${daemon.port}`), /^77 .*give --reader and --pwdfile/);
    writeFileSync(pwdfile, 'wrong\n', { mode: 0o600 });
    assert.match(said(`--from=127.0.0.1:${daemon.port}`, ...login), /^77 .*wrong password/);
    assert.match(said(`--from=tls:localhost:${tlsPort}`, ...login), /^69 .*certificate/i);
  });

  it('moves a cursor as there, and goes on from it', () => {
    fill();
    const [ours, theirs] = [join(dir, 'here'), join(dir, 'there')];
    const from = `--from=unix:${daemon.unix}`;
    const round = (...args: string[]) => {
      const here = lccqSays(cache, [`--cursor=${ours}`, ...args, '--', 'cat']);
      const there = lccqSays(cache, [from, `--cursor=${theirs}`, ...args, '--', 'cat']);
      assert.deepEqual({ ...there, stderr: '' }, { ...here, stderr: '' }, there.stderr);
      assert.equal(readFileSync(theirs, 'utf8'), readFileSync(ours, 'utf8'));
    };
    round('--format=changed-urls', '--limit=7');
    round('--format=changed-urls', '--batch=3');
    cache.remove('http://h/n/3');
    round('--format=changed-urls');
    round('--format=changed-urls');
    const fresh = join(dir, 'fresh');
    const made = lccqSays(cache, [from, `--cursor=${fresh}`, '--from-now', '--pid=1']);
    assert.equal(made.status, 0, made.stderr);
    assert.equal(readFileSync(fresh, 'utf8'), `${readFileSync(ours, 'utf8')}of --pid=1\n`);
    writeFileSync(theirs, readFileSync(theirs, 'utf8').replace(/\d+\n/, '999\n'));
    const { status, stderr } = lccqSays(cache, [from, `--cursor=${theirs}`]);
    assert.deepEqual([status, /ahead of the store/.test(stderr)], [65, true]);
  });

  it('goes on when its connection is cut, at any byte, as if nothing had been', async () => {
    fill();
    const path = join(dir, 'cut.sock');
    const commands = [
      ['--format=jsonl', '--content', '--since=2000-01-01'],
      ['--since=2000-01-01'],
      ['--format=changed-urls', '--since=2000-01-01'],
      ['--format=tar', '--since=2000-01-01'],
    ];
    const rounds = isLong ? 50 : 2;
    const cutter = await new Cutter(path, daemon.unix, 'listener').listen();
    try {
      for (let round = 0; round < rounds; round++) {
        const args = commands[round % commands.length] ?? [];
        const expected = runLccq(cache, args);
        // The first answer, to how far there is anything, is 300 bytes.
        const size = args.includes('--content') || args.includes('--format=tar') ? 2_000_000 : 12_000;
        const cuts = [0, 1, 2].map(n =>
          Math.floor((createHash('md5').update(`${round} ${n}`).digest().readUInt32BE() / 2 ** 32) * size),
        );
        for (const cut of cuts) cutter.cutAfter(400 + cut);
        const child = spawn(LCCQ, [`--from=unix:${path}`, ...args], {
          env: { ...process.env, LCC_HOME: cache.home, LCC_CONFIG: '' },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        children.push(child);
        const [stdout, stderr] = await within(
          'lccq ends',
          Promise.all([buffer(child.stdout), buffer(child.stderr), once(child, 'exit')]),
        );
        cutter.calm();
        assert.ok(
          stdout.equals(expected.stdout),
          `${args.join(' ')} cut at ${cuts.join()}: ${stderr.toString()}`,
        );
      }
      assert.ok(cutter.made >= rounds, `${cutter.made} cuts`);
    } finally {
      cutter.close();
    }
  });

  longIt('outlives a kill of the lccd-cu, and after one of its own gives the same again', async () => {
    fill();
    // More than sockets and pipes hold.
    for (let n = 0; n < 6; n++)
      cache.put({ curl: `http://h/more/${n}`, content: Buffer.alloc(2_000_000, `${n}\0`) });
    const cursor = join(dir, 'cursor');
    const expected = runLccq(cache, ['--since=2000-01-01', '--format=jsonl', '--content']).stdout;
    const args = [`--from=unix:${daemon.unix}`, `--cursor=${cursor}`, '--format=jsonl', '--content'];
    const file = (run: string, name: string) => join(dir, `${name}-${run}`);
    /** Into a program that stops reading until it is told to go on. */
    const start = async (run: string) => {
      const script = `head -c 2000 >taken-${run}; echo >begun-${run}; read -r _ <go-${run}; cat >>taken-${run}`;
      execFileSync('mkfifo', [file(run, 'go')]);
      const child = spawn(LCCQ, [...args, '--', 'sh', '-c', script], {
        cwd: dir,
        env: { ...process.env, LCC_HOME: cache.home, LCC_CONFIG: '' },
        stdio: ['ignore', 'ignore', 'ignore'],
      });
      children.push(child);
      await until('it has begun', () => existsSync(file(run, 'begun')));
      return child;
    };
    const first = await start('first');
    first.kill('SIGKILL');
    await once(first, 'exit');
    writeFileSync(file('first', 'go'), '\n');
    assert.ok(!existsSync(cursor));
    const second = await start('second');
    const ended = once(second, 'exit');
    await daemon.stop('SIGKILL');
    writeFileSync(file('second', 'go'), '\n');
    daemon = await startCu(cache);
    const [status] = (await within('lccq ends', ended)) as [number];
    // Some contents are missing.
    assert.equal(status, 1);
    assert.ok(readFileSync(file('second', 'taken')).equals(expected));
    assert.match(readFileSync(cursor, 'utf8'), /^lcc-cursor 1 /);
  });

  longIt('follows, and hands each change to a program that stays', async () => {
    cache.put({ curl: 'http://h/a' });
    const cursor = join(dir, 'cursor');
    const script = `while IFS= read -r line; do if [ -z "$line" ]; then echo ok; else printf '%s\\n' "$line" >>'${dir}/lines'; fi; done`;
    const child = spawn(
      LCCQ,
      [
        `--from=unix:${daemon.unix}`,
        '--follow',
        '--stay',
        `--cursor=${cursor}`,
        '--format=jsonl',
        '--fields=op,curl',
        '--',
        'sh',
        '-c',
        script,
      ],
      {
        env: { ...process.env, LCC_HOME: cache.home, LCC_CONFIG: '' },
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    );
    children.push(child);
    const lines = () => (existsSync(join(dir, 'lines')) ? readFileSync(join(dir, 'lines'), 'utf8') : '');
    await until('what was there', () => lines().includes('/a"'));
    cache.remove('http://h/a');
    await until('what went', () => lines().includes('"delete"'));
    await daemon.stop('SIGKILL');
    daemon = await startCu(cache);
    cache.put({ curl: 'http://h/b' });
    await until('what came after the daemon was away', () => lines().includes('/b"'));
    await until('its answer', () => / 3\n/.test(readFileSync(cursor, 'utf8')));
    child.kill('SIGTERM');
    await within('lccq ends', once(child, 'exit'));
  });

  longIt('ends when it is told to while the lccd-cu is away', async () => {
    cache.put({ curl: 'http://h/a' });
    const args = [`--from=unix:${daemon.unix}`, '--follow', '--format=urls', '--', 'cat'];
    const child = spawn(LCCQ, args, {
      env: { ...process.env, LCC_HOME: cache.home, LCC_CONFIG: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    const [first] = (await within('what was there', once(child.stdout, 'data'))) as [Buffer];
    assert.equal(first.toString(), 'http://h/a\n');
    await daemon.stop('SIGKILL');
    await until('it waits for the lccd-cu', () => said.includes('goes on when'));
    child.kill('SIGTERM');
    await within('lccq ends', once(child, 'exit'));
    daemon = await startCu(cache);
  });

  it('refuses what has no sense elsewhere, and says what is wrong with the other side', async () => {
    const said = (...args: string[]) => {
      const { status, stderr } = lccqSays(cache, args);
      return `${status} ${stderr}`;
    };
    const from = `--from=unix:${daemon.unix}`;
    for (const name of ['paths', 'paths0', 'gone-paths'])
      assert.match(said(from, `--format=${name}`), /^64 .*names files of the other machine/);
    assert.match(
      said(from, '--format=jsonl', '--fields=curl,file'),
      /^64 .*file is one of the other machine/,
    );
    assert.match(said('--reader=x'), /^64 .*give --from/);
    assert.match(said(from, '--reader=x'), /^64 .*both --reader and --pwdfile/);
    assert.match(said(from, '--cafile=/nonexistent'), /^66 /);
    assert.match(said(from, '--cafile=/dev/null'), /^78 .*holds no certificate/);
    assert.match(said(`--from=unix:${dir}/nobody`), /^69 .*there is no such socket; is it running\?/);
    const tls = said(`--from=tls:127.0.0.1:${daemon.port}`);
    assert.match(tls, /^69 lccq: tls:127\.0\.0\.1:\d+: it does not speak TLS there\n$/);
    // As an lccd-cu of 0.2 answers.
    const old = createServer(socket => {
      socket.on('error', () => undefined).resume();
      socket.end(
        '<lococa:refused xmlns:lococa="http://www.lococa.org/1.0" code="104">line 1, column 1: &lt;query&gt;: no attribute fields</lococa:refused>\n',
      );
    });
    await new Promise<void>(resolve => void old.listen(join(dir, 'old.sock'), resolve));
    const child = spawn(LCCQ, [`--from=unix:${dir}/old.sock`], {
      env: { ...process.env, LCC_HOME: cache.home },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    children.push(child);
    const [stderr, [status]] = await Promise.all([
      buffer(child.stderr),
      once(child, 'exit') as Promise<[number]>,
    ]);
    old.close();
    assert.deepEqual([status, /too old for --from/.test(stderr.toString())], [69, true], stderr.toString());
  });

  it('asks whether it is an lccd-cu where something else answers, or nothing', async () => {
    for (const [answer, expected] of [
      ['HTTP/1.1 400 Bad Request\r\n\r\n', 76],
      ['', 69],
    ] as const) {
      const path = join(dir, `other-${expected}.sock`);
      const other = createServer(socket => {
        socket.on('error', () => undefined).resume();
        socket.end(answer);
      });
      await new Promise<void>(resolve => void other.listen(path, resolve));
      const child = spawn(LCCQ, [`--from=unix:${path}`], {
        env: { ...process.env, LCC_HOME: cache.home },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      children.push(child);
      const [stderr, [status]] = await Promise.all([
        buffer(child.stderr),
        once(child, 'exit') as Promise<[number]>,
      ]);
      other.close();
      assert.equal(status, expected, stderr.toString());
      assert.match(stderr.toString(), /; is it what cu\.listen of an lccd-cu names\?\n$/);
    }
  });
});
