/** The example of a table of vectors: what it embeds, finds, and does after an embedder that fails. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { TestCache } from '../support/cache.js';
import { homeEnv, runProgram } from '../support/command.js';
import { lccqSays } from '../support/lccq.js';
import { ROOT } from '../support/tree.js';
import { until } from '../support/until.js';
import { openPostgres, postgresStatements, sqliteRows, VECTORS } from '../support/vector-table.js';

const SENTENCE = 'Water rises and falls with the moon. ';

let cache: TestCache;
let folder: string;
beforeEach(() => {
  cache = new TestCache();
  folder = mkdtempSync(join(tmpdir(), 'lcc-vectors-'));
});
afterEach(() => {
  cache.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Counted {
  status: number | null;
  embedded: number;
  taken: number;
  stderr: string;
}

function fill(name: string, args: string[] = [], lccq: string[] = ['--batch=7', '--stay']): Counted {
  const { status, stderr } = lccqSays(cache, [
    `--cursor=${join(folder, `${name}.cursor`)}`,
    '--format=chunks',
    '--chunk-size=300',
    ...lccq,
    '--',
    process.execPath,
    join(VECTORS, 'vectors.mjs'),
    join(folder, `${name}.db`),
    ...args,
  ]);
  const [, embedded, taken] = /pages: (\d+) embedded, (\d+) taken over/.exec(stderr) ?? [];
  return { status, embedded: Number(embedded ?? 0), taken: Number(taken ?? 0), stderr };
}

const contents = (name: string) => sqliteRows(join(folder, `${name}.db`));

const page = (words: string, parts = 3) =>
  `<title>T</title>${Array.from({ length: parts }, (_, i) => `<h2>Part ${i}</h2><p>${words} ${SENTENCE.repeat(4)}`).join('')}<footer>F</footer>`;

describe('the table of vectors', () => {
  it('embeds what is new, and takes over what it has', () => {
    cache.put({ curl: 'https://h/1', content: page('one') });
    cache.put({ curl: 'https://h/2', content: page('two') });
    assert.deepEqual(pick(fill('v')), [0, 6, 0]);
    assert.deepEqual(pick(fill('v')), [0, 0, 0]);
    cache.put({ curl: 'https://h/1', content: page('one').replace('>F<', '>G<') });
    cache.put({ curl: 'https://h/3', content: page('two') });
    assert.deepEqual(pick(fill('v')), [0, 0, 6]);
    cache.put({ curl: 'https://h/2', content: page('two', 1) });
    cache.remove('https://h/3');
    assert.deepEqual(pick(fill('v')), [0, 0, 1]);
    assert.equal(contents('v').length, 4);
    rmSync(join(folder, 'v.cursor'));
    assert.deepEqual(pick(fill('v')), [0, 0, 4]);
  });

  it('is found by words and by meaning, as JSON too', () => {
    cache.put({
      curl: 'https://h/dump',
      content: '<h1>Backup</h1><p>How to restore a dump of the database.',
    });
    cache.put({ curl: 'https://h/moon', content: `<h1>Tides</h1><p>${SENTENCE}` });
    fill('v');
    const search = (...args: string[]) =>
      runProgram(process.execPath, [join(VECTORS, 'search.mjs'), join(folder, 'v.db'), ...args]);
    const found = search('how do I restore a dump?').stdout.toString();
    assert.match(found, /^Backup\n {2}https:\/\/h\/dump\n {2}How to restore/);
    const [first] = JSON.parse(search('--json', 'moon').stdout.toString()) as { url: string }[];
    assert.equal(first?.url, 'https://h/moon');
    // A document without a title that has pages, as PDFs are converted.
    writeFileSync(
      join(cache.home, 'lcc.toml'),
      '[convert]\ncommands = ["application/pdf text/plain cat"]\nsandbox = "off"\n',
    );
    cache.put({
      curl: 'https://h/d/a.pdf',
      mimetype: 'application/pdf',
      content: 'Nothing.\fTwo quokkas.\f',
    });
    fill('v');
    assert.match(
      search('quokkas').stdout.toString(),
      /^a\.pdf#page=2\n {2}https:\/\/h\/d\/a\.pdf#page=2\n {2}Two quokkas/,
    );
  });

  for (const [what, code, status, message] of [
    ['dies', 'process.exit(3)', 75, /the embedder ended/],
    ['hangs', 'process.stdin.resume()', 75, /did not answer within 500 ms/],
    [
      'answers short',
      'process.stdin.once("data", () => { console.log("[1,2]"); process.exit(0); })',
      75,
      /the embedder ended/,
    ],
    [
      'answers what is no vector',
      'process.stdin.on("data", () => console.log("[1,null]"))',
      76,
      /what is no vector/,
    ],
    [
      'makes vectors of another length',
      'require("readline").createInterface({ input: process.stdin }).on("line", (l, i) => console.log(l.includes("two") ? "[1,2,3]" : "[1,2]"))',
      78,
      /vectors of 2 numbers, the embedder makes 3/,
    ],
  ] as const)
    it(`goes on after an embedder that ${what}`, () => {
      const file = join(folder, 'embed.cjs');
      const good =
        'require("readline").createInterface({ input: process.stdin }).on("line", l => console.log(`[${l.length},1]`))';
      const embed = `--embed=${process.execPath} ${file}`;
      writeFileSync(file, code);
      for (const words of ['one', 'two']) cache.put({ curl: `https://h/${words}`, content: page(words) });
      if (what === 'hangs') process.env['EMBED_TIMEOUT_MS'] = '500';
      const failed = fill('v', [embed]);
      delete process.env['EMBED_TIMEOUT_MS'];
      assert.equal(failed.status, status, failed.stderr);
      assert.match(failed.stderr, message);
      writeFileSync(file, good);
      assert.equal(fill('v', [embed]).status, 0);
      assert.equal(contents('v').length, 6);
      assert.equal(fill('v').status, 0, 'nothing new, so nobody is asked');
      cache.put({ curl: 'https://h/3' });
      assert.equal(fill('v').status, 78, 'vectors of another model');
    });

  it('asks a server in the form of OpenAI, again where it fails', async () => {
    let asked = 0;
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', chunk => (body += chunk));
      request.on('end', () => {
        asked++;
        const { input, model } = JSON.parse(body) as { input: string[]; model: string };
        response.statusCode = asked === 1 ? 503 : 200;
        const data = input
          .map((text, index) => ({ index, embedding: [text.length, model.length] }))
          .reverse();
        response.end(JSON.stringify({ data }));
      });
    }).listen(0, '127.0.0.1');
    await new Promise(resolve => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const { execFile } = await import('node:child_process');
    const args = [
      join(VECTORS, 'embed-http.mjs'),
      `--url=http://127.0.0.1:${port}/v1/embeddings`,
      '--model=abc',
    ];
    const output = await new Promise<string>((resolve, reject) => {
      const child = execFile(process.execPath, args, (error, stdout) =>
        error ? reject(error) : resolve(stdout),
      );
      child.stdin?.end('"one"\n"three"\n');
    });
    server.close();
    assert.equal(output, '[3,3]\n[5,3]\n');
    assert.ok(asked >= 2);
  });
});

describe('the lines of the guide', () => {
  const linesOf = (file: string) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/^ {4}(.*)$/gm)]
      .map(([, line = '']) => line)
      .slice(0, 3);

  it('are those of the README, and install what is tested here', () => {
    assert.deepEqual(linesOf('docs/guide/models.md'), linesOf('examples/vectors/README.md'));
    assert.equal(linesOf('docs/guide/models.md')[0], 'cd examples/vectors && npm install');
    type Versions = Record<string, Record<string, string>>;
    const versions = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as Versions;
    const { dependencies, devDependencies, optionalDependencies } = versions('package.json');
    for (const [name, version] of Object.entries(
      versions('examples/vectors/package.json')['dependencies'] ?? {},
    ))
      assert.equal({ ...dependencies, ...devDependencies, ...optionalDependencies }[name], version, name);
  });

  it('for LangChain and LlamaIndex are Python', () => {
    const readme = readFileSync(join(VECTORS, 'README.md'), 'utf8');
    const code = [...readme.slice(readme.indexOf('## LangChain')).matchAll(/^ {4}(.*)$/gm)].map(
      ([, line]) => line,
    );
    assert.ok(code.length > 10);
    const { status, stderr } = runProgram('python3', ['-c', 'import ast, sys; ast.parse(sys.stdin.read())'], {
      input: code.join('\n'),
    });
    assert.equal(status, 0, stderr);
  });

  it('keep a table in step and search it, as they are printed', async () => {
    const [, keep = '', search = ''] = linesOf('docs/guide/models.md');
    cpSync(VECTORS, folder, { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const dump = (words: string) => ({
      curl: 'https://h/dump',
      content: `<h1>Backup</h1><p>${words} a dump.`,
    });
    cache.put(dump('How to restore'));
    const env = homeEnv(cache.home, { PATH: `${join(ROOT, 'bin')}:${process.env['PATH']}` });
    const child = spawn('bash', ['-c', `exec ${keep}`], { cwd: folder, env, stdio: 'ignore' });
    const closed = once(child, 'close');
    const holds = (words: string) =>
      until(
        `the table holds ${words}`,
        () =>
          existsSync(join(folder, 'v.db')) &&
          contents('v').some(({ text }) => text === `Backup\n${words} a dump.`),
      );
    try {
      await holds('How to restore');
      const found = runProgram('bash', ['-c', search], { cwd: folder }).stdout.toString();
      assert.equal(found, 'Backup\n  https://h/dump\n  How to restore a dump.\n');
      cache.put(dump('How to make'));
      await holds('How to make');
    } finally {
      child.kill('SIGTERM');
      await closed;
    }
  });
});

describe('the statements for PostgreSQL', () => {
  it('as the README prints them keep the pieces of a page, and find the nearest', async () => {
    const { schema, reset, there, upsert, remove, search } = postgresStatements();
    const db = await openPostgres();
    try {
      for (const statement of schema) await db.exec(statement);
      const of = (first: number) => JSON.stringify([first, 1, ...Array<number>(254).fill(0)]);
      const put = (n: number, words: string, first: number) =>
        db.query(upsert, [1, n, 'https://h/1', 'T', words, `hash of ${words}`, of(first)]);
      for (const [n, words] of ['one', 'two', 'three'].entries()) await put(n, words, n * 10);
      await put(1, 'another', 5);
      await db.query(remove, [1, 2]);
      const rows = async (statement: string, values: unknown[] = []) =>
        (await db.query(statement, values)).rows;
      assert.deepEqual(await rows('SELECT n, text FROM chunks ORDER BY n'), [
        { n: 0, text: 'one' },
        { n: 1, text: 'another' },
      ]);
      assert.equal((await rows(there, ['hash of another'])).length, 1);
      assert.equal((await rows(there, ['hash of two'])).length, 0);
      assert.deepEqual((await rows(search, [of(4)]))[0], { url: 'https://h/1', text: 'another' });
      await db.exec(reset);
      assert.deepEqual(await rows('SELECT n FROM chunks'), []);
    } finally {
      await db.close();
    }
  });
});

function pick({ status, embedded, taken }: Counted): unknown[] {
  return [status, embedded, taken];
}
