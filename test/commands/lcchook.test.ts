/** lcchook below lccq --stay, and a receiver that is killed, slow, or wants no more. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { runCommand } from '../support/command.js';
import { cache, cursor, cursorSeq } from '../support/cursor.js';
import { freePort } from '../support/free-port.js';
import { LCCQ, lccqSays } from '../support/lccq.js';
import { isLong } from '../support/long.js';
import { examples, pageOf } from '../support/mdoc.js';
import { ROOT } from '../support/tree.js';
import { until } from '../support/until.js';

const LCCHOOK = join(ROOT, 'bin/lcchook');

let dir: string;
let secretFile: string;
let port: number;
const children: ChildProcess[] = [];
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'lcc-hook-'));
  secretFile = join(dir, 'whsec');
  writeFileSync(secretFile, runCommand(dir, 'lcchook', ['--new-secret']).stdout, { mode: 0o600 });
  port = await freePort();
});
afterEach(async () => {
  for (const child of children.splice(0)) await kill(child);
  rmSync(dir, { recursive: true, force: true });
});

async function kill(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

/** A receiver in a process of its own, which verifies by the library, and keeps what it took before it answers. */
async function receiver(answer: string): Promise<ChildProcess> {
  const script = join(dir, 'receiver.mjs');
  const library = import.meta.resolve('standardwebhooks');
  writeFileSync(
    script,
    `import { createServer } from 'node:http';
import { appendFileSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import library from '${library}';
const webhook = new library.Webhook(readFileSync(process.argv[2], 'utf8').trim());
let n = 0;
createServer(async (request, response) => {
  n++;
  const body = await text(request);
  const message = webhook.verify(body, request.headers);
  const take = () => appendFileSync(process.argv[3], message.changes.map(c => c.seq + ' ').join(''));
  const end = (status, headers) => response.writeHead(status, headers).end();
  ${answer}
}).listen(${port}, '127.0.0.1', () => console.log('ready'));`,
  );
  const child = spawn(process.execPath, [script, secretFile, join(dir, 'taken')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  return child;
}

const hook = (...options: string[]) => [
  '--',
  LCCHOOK,
  `--url=http://127.0.0.1:${port}/hook`,
  `--secretfile=${secretFile}`,
  '--allow-address=127.0.0.1',
  ...options,
];
const put = (from: number, to: number) => {
  for (let n = from; n <= to; n++) cache.put({ curl: `http://h/${n}` });
};
const taken = () =>
  existsSync(join(dir, 'taken'))
    ? readFileSync(join(dir, 'taken'), 'utf8').trim().split(' ').map(Number)
    : [];

function follow(...options: string[]): ChildProcess {
  const args = [
    '--follow',
    '--stay',
    '--batch=3',
    `--cursor=${cursor}`,
    '--format=jsonl',
    ...hook(...options),
  ];
  const child = spawn(LCCQ, args, {
    env: { ...process.env, LCC_HOME: cache.home, LCC_CONFIG: '' },
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  children.push(child);
  return child;
}

describe('lcchook', () => {
  const batches = () => ['--stay', '--batch=2', `--cursor=${cursor}`, '--format=jsonl'];

  it('posts each batch, signed, in order, and the cursor moves with each that is taken', async () => {
    put(1, 5);
    await receiver('take(); end(n === 2 ? 500 : 200);');
    const { status, stderr } = lccqSays(cache, [...batches(), ...hook()]);
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^lcchook: http:\/\/127\.0\.0\.1:\d+: answered 500; again in 1 s$/m);
    assert.deepEqual(taken(), [1, 2, 3, 4, 3, 4, 5]);
    assert.equal(cursorSeq(), 5);
  });

  it('ends with 77 where nobody wants it any more, with 75 where it is given up: the cursor stays', async () => {
    put(1, 3);
    await receiver('take(); end(n === 2 ? 410 : n > 2 ? 503 : 200);');
    const gone = lccqSays(cache, [...batches(), ...hook()]);
    assert.deepEqual([gone.status, cursorSeq()], [77, 2], gone.stderr);
    const later = lccqSays(cache, [...batches(), ...hook('--give-up=1s')]);
    assert.deepEqual([later.status, cursorSeq()], [75, 2], later.stderr);
  });

  it('misses none and keeps the order while its receiver is killed and it itself is, at any step', async () => {
    const rounds = isLong ? 30 : 2;
    let number = 0;
    let target = await receiver('take(); end(204);');
    for (let round = 0; round < rounds; round++) {
      let lccq = follow();
      put(number + 1, (number += 7));
      // Somewhere between the first byte and the last answer.
      await until('some are taken', () => (taken().at(-1) ?? 0) > number - 7);
      await kill(round % 2 === 0 ? target : lccq);
      put(number + 1, (number += 2));
      if (round % 2 === 0) target = await receiver('take(); end(204);');
      else lccq = follow();
      await until('all are taken', () => (taken().at(-1) ?? 0) === number);
      await until('the cursor is there', () => cursorSeq() === number);
      await kill(lccq, 'SIGTERM');
    }
    // Batches come again, never out of order: without what came twice it is the sequence.
    let last = 0;
    for (const seq of taken()) {
      assert.ok(seq <= last + 1, `${seq} after ${last}`);
      last = Math.max(last, seq);
    }
    assert.equal(last, number);
  });

  it('refuses what it cannot do', () => {
    const said = (...args: string[]) => {
      const { status, stderr } = runCommand(dir, 'lcchook', args);
      return `${status} ${stderr}`;
    };
    const url = '--url=https://h.example.org/';
    assert.match(said(url), /^64 .*--secretfile=FILE is missing/);
    assert.match(said(`--secretfile=${secretFile}`), /^64 .*--url: give an https url/);
    assert.match(said('--url=http://h/', `--secretfile=${secretFile}`), /^64 .*give https/);
    assert.match(said('--url=ftp://h/', `--secretfile=${secretFile}`), /^64 /);
    assert.match(said('--url=https://u:pw@h/', `--secretfile=${secretFile}`), /^64 (?!.*pw)/);
    assert.match(said(url, `--secretfile=${secretFile}x`), /^66 /);
    assert.match(said(url, `--secretfile=${secretFile}`, '--max-bytes=1'), /^64 .*from 1KB to 64MB/);
    assert.match(said(url, `--secretfile=${secretFile}`, '--give-up=7'), /^64 .*a time with its unit/);
    assert.match(said(url, `--secretfile=${secretFile}`, '--allow-address=x'), /^64 /);
    assert.match(said(url, `--secretfile=${secretFile}`, '--cafile=/nonexistent'), /^66 /);
    const noPem = `--cafile=${secretFile}`;
    assert.match(said(url, `--secretfile=${secretFile}`, noPem), /^78 .*holds no certificate/);
    chmodSync(secretFile, 0o644);
    assert.match(said(url, `--secretfile=${secretFile}`), /^78 .*others may read.*chmod 600/);
  });

  it('is verified by the receiver of its manual page', async () => {
    const script = join(dir, 'receiver.mjs');
    const page = pageOf('lcchook');
    const printed = page && examples(page).find(block => block.startsWith('import '));
    assert.ok(printed !== undefined);
    writeFileSync(
      script,
      printed.replace("'standardwebhooks'", `'${import.meta.resolve('standardwebhooks')}'`),
    );
    const env = { ...process.env, WHSEC: readFileSync(secretFile, 'utf8').trim(), PORT: String(port) };
    const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (more: string) => (said += more));
    put(1, 2);
    const { status, stderr } = lccqSays(cache, [...batches(), ...hook()]);
    assert.equal(status, 0, stderr);
    await until('it says so', () => said === 'upsert http://h/1\nupsert http://h/2\n');
  });
});
