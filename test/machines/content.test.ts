/** Content of three machines, read on one: by lccq, the library and lccd-cu, and from elsewhere, as if all of it lay there. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { FORMAT_NAMES } from '../../src/cu/formats/index.js';
import { bytesOf, contentOf, fetchContent, openLcc, pageTextOf, type Change } from '../../src/index.js';
import { Authority } from '../fetch/authority.js';
import { TestCache } from '../support/cache.js';
import { ask } from '../support/cu.js';
import { Daemons, type Daemon } from '../support/daemon.js';
import { freePort } from '../support/free-port.js';
import { isLong, longIt } from '../support/long.js';
import { lccqSays, runLccq } from '../support/lccq.js';

/** Formats with places of content in them are asked for other fields. */
const fieldsOf = (name: string) => (['tsv', 'csv'].includes(name) ? ['--fields=curl,md5,mtime,len'] : []);
const NO_FILES = FORMAT_NAMES.filter(name => !name.endsWith('paths') && name !== 'paths0');
const SHORT = [
  ['--content'],
  ['--format=xml'],
  ['--format=jsonl', '--content'],
  ['--format=jsonl', '--markdown'],
  ['--format=tar'],
  ['--format=fts5-sql'],
];
const COMMANDS = isLong
  ? [
      ...SHORT,
      ...NO_FILES.map(name => [`--format=${name}`, '--no-deleted', ...fieldsOf(name)]),
      ...NO_FILES.map(name => [`--format=${name}`, '--since=2000-01-01', ...fieldsOf(name)]),
      ['--format=jsonl', '--text'],
      ['--format=tar', '--markdown'],
      ['--format=tar', '--limit=3'],
    ]
  : SHORT;

const cache = new TestCache();
const daemons = new Daemons();
const authority = new Authority();
/** First ports of the three machines. */
let ports: number[] = [];
const files = new Map<string, { machine: string; file: string; content: string | Buffer }>();
let reference = new Map<string, string>();
let cu: Daemon;
const managers = new Map<string, Daemon>();

const homeOf = (machine: string) => (machine === 'm1' ? cache.home : join(cache.home, machine));
const nameOf = (machine: string) => `localhost:${ports[Number(machine.slice(1)) - 1]}`;

function configure(machine: string, more = ''): void {
  const { keyFile, certFile } = authority.issue();
  const [cert, key] = [certFile, keyFile].map((from, i) => {
    const to = join(homeOf(machine), i === 0 ? 'machine.pem' : 'machine.key');
    cpSync(from, to);
    return to;
  });
  writeFileSync(
    join(homeOf(machine), 'lcc.toml'),
    `[net]
peer_ca = "${authority.caFile}"
tls_cert = "${cert}"
tls_key = "${key}"
[bm]
machine_id = "${machine}"
[cluster]
machine = "${nameOf(machine)}"
machines = [${['m1', 'm2', 'm3'].map(each => JSON.stringify(nameOf(each))).join(', ')}]
${more}`,
  );
}

async function startManager(machine: string, id = machine): Promise<void> {
  const daemon = daemons.start('lccd-bm', homeOf(machine), [
    '--source=unix:/nowhere/qm.sock',
    `--listen=unix:${homeOf(machine)}/bm.sock`,
    `--machineid=${id}`,
    `--listen-content=tls:127.0.0.1:${(ports[Number(machine.slice(1)) - 1] ?? 0) + 1}`,
  ]);
  managers.set(machine, daemon);
  await daemon.ready;
}

async function startCu(): Promise<void> {
  cu = daemons.start('lccd-cu', cache.home, [
    `--listen=unix:${cache.home}/cu.sock`,
    `--http-listen=unix:${cache.home}/http.sock`,
    `--listen-machines=tls:127.0.0.1:${(ports[0] ?? 0) + 2}`,
  ]);
  await cu.ready;
}

/** Without what rows say of the place of their content, and archives of the moment in which they were made. */
function steady(args: readonly string[], bytes: Buffer): string {
  const isWarc = args.includes('--format=warc');
  return (isWarc ? gunzipSync(bytes) : bytes)
    .toString('latin1')
    .replace(/ (?:fetched_machineid|file)="[^"]*"/g, '')
    .replace(/"(?:fetched_machineid|file)":(?:null|"[^"]*")/g, '""')
    .replace(/^(WARC-Date: |WARC-Warcinfo-ID|WARC-Record-ID|WARC-Refers-To).*$/gm, '');
}

const made = (args: readonly string[], ...from: string[]) => {
  const { status, stdout, stderr } = runLccq(cache, [...from, ...args]);
  assert.equal(status, 0, `${from.join(' ')} ${args.join(' ')}: ${stderr}`);
  return steady(args, stdout);
};

before(async () => {
  ports = await Promise.all(['m1', 'm2', 'm3'].map(async () => (await freePort()) - 1));
  const put = (curl: string, mimetype: string, content: string | Buffer) => {
    const file = cache.put({ curl, mimetype, content, machineid: 'm1' });
    const machine = `m${(files.size % 3) + 1}`;
    files.set(curl, { machine, file, content });
  };
  for (let n = 0; n < 12; n++)
    put(`http://h/${n}`, 'text/html', `<title>t ${n}</title><p>${`word${n} `.repeat(1 + n * 30)}`);
  for (const [n, type] of ['image/png', 'application/octet-stream', 'image/gif'].entries())
    put(`http://h/big${n}`, type, Buffer.alloc(3_000_001 + n, `${n}ab\u0000`));
  for (const n of [1, 2, 3]) put(`http://h/empty${n}`, 'text/plain', '');
  cache.put({ curl: 'http://h/gone', machineid: 'm1' });
  cache.remove('http://h/gone');
  for (const machine of ['m1', 'm2', 'm3']) {
    mkdirSync(homeOf(machine), { recursive: true });
    configure(machine);
  }
  reference = new Map(COMMANDS.map(args => [args.join(' '), made(args)]));
  const move = cache.db.prepare('UPDATE lccurl SET fetched_machineid = ? WHERE curl = ?');
  for (const [curl, { machine, file }] of files) {
    if (machine === 'm1') continue;
    const to = join(homeOf(machine), file.slice(cache.home.length));
    mkdirSync(dirname(to), { recursive: true });
    renameSync(file, to);
    files.get(curl)!.file = to;
    move.run(machine, curl);
  }
  await Promise.all(['m2', 'm3'].map(each => startManager(each)));
  await startCu();
});
after(async () => {
  await daemons.end();
  cache.close();
});

describe('content of three machines', () => {
  it('is in every format what it is where all of it lies on one, byte by byte', () => {
    for (const args of COMMANDS) assert.ok(made(args) === reference.get(args.join(' ')), args.join(' '));
  });

  it('is the same from elsewhere, byte by byte', () => {
    const from = `--from=unix:${cache.home}/cu.sock`;
    for (const args of COMMANDS)
      assert.ok(made(args, from) === reference.get(args.join(' ')), args.join(' '));
  });

  longIt('goes to a program in batches, and to one that follows, with a cursor', async () => {
    const cursor = join(cache.home, 'batches');
    const all = join(cache.home, 'all');
    const line = ['--format=jsonl', '--content', `--cursor=${cursor}`, '--batch=7'];
    const { status, stderr } = lccqSays(cache, [...line, '--', 'sh', '-c', `cat >>${all}`]);
    assert.equal(status, 0, stderr);
    const records = readFileSync(all, 'utf8')
      .trim()
      .split('\n')
      .map(each => JSON.parse(each) as Record<string, string>);
    assert.equal(records.filter(({ op }) => op === 'upsert').length, files.size);
    for (const { curl = '', text, base64 } of records.filter(({ op }) => op === 'upsert')) {
      const bytes = typeof text === 'string' ? Buffer.from(text) : Buffer.from(base64 ?? '', 'base64');
      assert.ok(bytes.equals(Buffer.from(files.get(curl)?.content ?? 'none')), curl);
    }
  });

  it('is read by programs: as a stream, and in memory once it was fetched', async () => {
    const lcc = openLcc({ home: cache.home });
    try {
      const of = new Map<string, Change>();
      for await (const change of lcc.changes()) of.set(change.curl, change);
      for (const [curl, { machine, content }] of files) {
        const change = of.get(curl) ?? assert.fail(curl);
        assert.equal(change.file === null, machine !== 'm1');
        const hash = createHash('md5');
        for await (const piece of contentOf(change)) hash.update(piece);
        assert.equal(hash.digest('hex'), createHash('md5').update(content).digest('hex'));
      }
      const far = of.get('http://h/1') ?? assert.fail();
      assert.equal(far.machineId, 'm2');
      assert.throws(() => bytesOf(far), /is on machine m2, not on this one; fetchContent brings it/);
      await fetchContent(far);
      assert.ok(Buffer.from(bytesOf(far)).equals(Buffer.from(String(files.get('http://h/1')?.content))));
      assert.equal(pageTextOf(far)?.title, 't 1');
    } finally {
      lcc.close();
    }
  });

  it('is given out by lccd-cu, as XML and in the change feed', async () => {
    const answer = await ask(`${cache.home}/cu.sock`, '<lococa:query content="yes" prefix="http://h/1"/>');
    assert.match(answer, /<\/[a-z:]*result>/);
    assert.doesNotMatch(answer, /omitted/);
    const sent = [...answer.matchAll(/curl="([^"]+)"[^>]*>([^<]+)<\/url>/g)];
    assert.equal(sent.length, 3);
    for (const [, curl = '', base64 = ''] of sent)
      assert.ok(Buffer.from(base64, 'base64').equals(Buffer.from(files.get(curl)?.content ?? 'none')), curl);
    const feed = execFileSync(
      'curl',
      ['-sS', '--unix-socket', `${cache.home}/http.sock`, 'http://lcc/changes?with=text&prefix=http://h/1'],
      { encoding: 'utf8' },
    );
    const lines = feed
      .trim()
      .split('\n')
      .map(each => JSON.parse(each) as Record<string, unknown>);
    assert.equal(lines.filter(({ title }) => typeof title === 'string').length, 3, feed);
  });

  it('that is missing or altered there is reported, one that was replaced comes with the next change', () => {
    const [missing, altered, replaced] = ['http://h/1', 'http://h/4', 'http://h/7'].map(
      curl => files.get(curl) ?? assert.fail(curl),
    );
    assert.ok(missing && altered && replaced);
    for (const { file } of [missing, altered]) cpSync(file, `${file}.kept`);
    rmSync(missing.file);
    writeFileSync(altered.file, 'something else');
    const args = ['--format=jsonl', '--content', '--prefix=http://h/'];
    try {
      const here = lccqSays(cache, args);
      const there = lccqSays(cache, [...args, `--from=unix:${cache.home}/cu.sock`]);
      for (const { status, stderr, stdout } of [here, there]) {
        assert.equal(status, 1);
        assert.match(stderr, /http:\/\/h\/1: left out: its content on machine m2 is missing; .*--recheck/);
        assert.match(stderr, /http:\/\/h\/4: left out: its content on machine m2 is altered/);
        assert.equal(stdout.trim().split('\n').length, files.size);
      }
    } finally {
      for (const { file } of [missing, altered]) renameSync(`${file}.kept`, file);
    }
  });
});

describe('a machine that does not answer', () => {
  const program = ['--', 'sh', '-c', 'cat >"$0"'];
  const cursor = () => join(cache.home, 'docs.cursor');
  const taken = () => join(cache.home, 'taken');
  const run = (...more: string[]) =>
    lccqSays(cache, ['--format=jsonl', '--content', `--cursor=${cursor()}`, ...more, ...program, taken()]);

  it('ends lccq with 75, the cursor stays; nothing is lost when it is back', async () => {
    await managers.get('m3')?.stop();
    for (const from of [[], [`--from=unix:${cache.home}/cu.sock`]]) {
      const { status, stderr } = run(...from);
      assert.equal(status, 75, stderr);
      assert.match(stderr, /content of machine m3: .*connection refused.*--skip-away/);
      assert.equal(existsSync(cursor()), false);
    }
    const { status, stdout } = lccqSays(cache, ['--format=jsonl', '--text', '--prefix=http://h/2']);
    assert.equal(status, 75);
    assert.doesNotMatch(stdout, /http:\/\/h\/2"/);
    // Formats without content do not ask for it.
    assert.equal(lccqSays(cache, ['--format=tsv']).status, 0);
    await startManager('m3');
    assert.equal(run().status, 0);
    assert.equal(
      readFileSync(taken(), 'utf8')
        .trim()
        .split('\n')
        .filter(each => each.includes('"upsert"')).length,
      files.size,
    );
    rmSync(cursor());
  });

  longIt('is passed over with --skip-away, and its rows are left out', async () => {
    await managers.get('m3')?.stop();
    const ofOthers = [...files.values()].filter(({ machine }) => machine !== 'm3').length;
    const said: string[] = [];
    for (const from of [[], [`--from=unix:${cache.home}/cu.sock`]]) {
      const { status, stdout, stderr } = lccqSays(cache, [
        '--format=jsonl',
        '--content',
        '--skip-away',
        ...from,
      ]);
      assert.equal(status, 1, stderr);
      assert.match(stderr, /left out: its content is on machine m3, not on this one/);
      assert.equal(
        stdout
          .trim()
          .split('\n')
          .filter(each => each.includes('"base64":"') || /"text":"/.test(each)).length,
        ofOthers,
      );
      said.push(stderr);
    }
    assert.equal(said[0], said[1]);
    const { status } = run('--skip-away');
    assert.equal(status, 1);
    assert.ok(existsSync(cursor()), 'the cursor moves past what was left out');
    rmSync(cursor());
  });

  it('has programs hear try.later, and lccd-cu say 102', async () => {
    await managers.get('m3')?.stop();
    const lcc = openLcc({ home: cache.home });
    try {
      for await (const change of lcc.changes({ prefix: 'http://h/2' }))
        if (change.machineId === 'm3') {
          await assert.rejects(fetchContent(change), { code: 'try.later', message: /content of machine m3/ });
          break;
        }
    } finally {
      lcc.close();
    }
    const answer = await ask(`${cache.home}/cu.sock`, '<lococa:query content="yes"/>');
    assert.match(answer, /code="102"/);
    assert.doesNotMatch(answer, /localhost/, "where machines are is nobody else's business");
    assert.match(cu.log, /cannot answer now.*content of machine m3/);
    await startManager('m3');
  });

  longIt('that has come back under another machine id is not taken for the one it was', async () => {
    await managers.get('m3')?.stop();
    writeFileSync(join(homeOf('m3'), 'store', 'machine-id.kept'), '');
    const mark = join(homeOf('m3'), 'store', 'machine-id');
    const text = readFileSync(mark, 'utf8');
    writeFileSync(mark, text.replace('m3', 'm9'));
    await startManager('m3', 'm9');
    const { status, stderr } = lccqSays(cache, ['--format=jsonl', '--content']);
    assert.equal(status, 1);
    assert.match(stderr, /its content is on machine m3, not on this one/);
    await managers.get('m3')?.stop();
    writeFileSync(mark, text);
    await startManager('m3');
    await cu.stop(); // which rests from asking m3
    await startCu();
  });
});

describe('lccq on a standby', () => {
  let keeper: Server;
  let owner = '';
  before(async () => {
    mkdirSync(join(homeOf('m2'), 'run'), { recursive: true, mode: 0o700 });
    configure('m2', '[store]\nurl = "mariadb://lcc@localhost/lcc"\n');
    keeper = createServer(socket => {
      socket.on('error', () => undefined);
      socket.on('data', () => void socket.write(`standby ${owner}\n`));
    });
    await new Promise<void>(resolve => void keeper.listen(join(homeOf('m2'), 'run', 'keep.sock'), resolve));
  });
  after(() => keeper.close());
  const there = async (...args: string[]) => {
    const { spawn } = await import('node:child_process');
    const { buffer } = await import('node:stream/consumers');
    const { LCCQ } = await import('../support/lccq.js');
    const child = spawn(LCCQ, args, { env: { ...process.env, LCC_HOME: homeOf('m2'), LCC_CONFIG: '' } });
    const [stdout, stderr, status] = await Promise.all([
      buffer(child.stdout),
      buffer(child.stderr),
      new Promise<number | null>(resolve => void child.once('close', resolve)),
    ]);
    return { status, stdout, stderr: stderr.toString() };
  };

  longIt('asks the owner by itself, with the certificate of its machine and no password', async () => {
    owner = nameOf('m1');
    for (const args of [['--format=jsonl', '--content'], ['--format=tar'], ['--format=xml']]) {
      const { status, stdout, stderr } = await there(...args);
      assert.equal(status, 0, stderr);
      assert.ok(steady(args, stdout) === reference.get(args.join(' ')), args.join(' '));
    }
    assert.equal((await there('--count')).stdout.toString(), `${files.size}\n`);
  });

  it('says so where no machine owns the home', async () => {
    owner = '-';
    const { status, stderr } = await there('--count');
    assert.equal(status, 75);
    assert.match(stderr, /no machine serves this LCC for now/);
  });
});

describe('lccq --from=A,B', () => {
  longIt('asks the next where one is away', async () => {
    const away = `unix:${cache.home}/away.sock`;
    const args = ['--format=jsonl', '--content'];
    for (const from of [
      `${away},unix:${cache.home}/cu.sock`,
      `127.0.0.1:${await freePort()},${away},unix:${cache.home}/cu.sock`,
    ])
      assert.ok(made(args, `--from=${from}`) === reference.get(args.join(' ')));
    const { status, stderr } = lccqSays(cache, [...args, `--from=${away},${away}`]);
    assert.equal(status, 69);
    assert.match(stderr, /away\.sock/);
  });
});
