import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { crc32 } from 'node:zlib';
import { runBin } from '../support/command.js';
import { failureBytes, recordBytes, StoreHome } from '../support/store-server.js';
import { ROOT } from '../support/tree.js';
import { within } from '../support/until.js';

const dir = mkdtempSync(join(tmpdir(), 'lccrec-'));
const homes: StoreHome[] = [];
after(async () => {
  rmSync(dir, { recursive: true });
  await Promise.all(homes.map(home => home.end()));
});

const lccrec = (args: readonly string[], input: Buffer = Buffer.alloc(0)) =>
  runBin('lccrec', args, { input });

const doc = Buffer.from(Array.from({ length: 1000 }, (_, i) => i & 0xff));
const stream = Buffer.concat([
  recordBytes({
    docId: 7,
    doc,
    url: 'http://a.example/\xff x',
    newUrl: 'https://b.example/',
    reason: 'ok',
    redirected: true,
    cut: true,
  }),
  failureBytes(0xffff_ffff, { http: 0, reason: 'no-such-name' }),
]);
const sum = crc32(doc).toString(16).padStart(8, '0');

describe('lccrec', () => {
  it('writes one JSON object a line, or fields separated by tabs', () => {
    const lines = lccrec([], stream).stdout.toString().trimEnd().split('\n');
    assert.deepEqual(
      lines.map(line => JSON.parse(line) as unknown),
      [
        {
          doc_id: 7,
          success: true,
          reason: 'ok',
          redirected: true,
          cut: true,
          http: '200',
          ms: 5,
          url: 'http://a.example/%FF%20x',
          new_url: 'https://b.example/',
          len: 1000,
          crc32: sum,
          offset: 0,
        },
        {
          doc_id: 0xffff_ffff,
          success: false,
          reason: 'no-such-name',
          redirected: false,
          cut: false,
          http: null,
          ms: 5,
          url: 'http://www.example.org/4294967295',
          new_url: null,
          len: 0,
          crc32: '00000000',
          offset: stream.length - 53,
        },
      ],
    );
    assert.equal(
      lccrec(['--tsv'], stream).stdout.toString(),
      `7\t1\t0\trc\t200\t5\t1000\t${sum}\thttp://a.example/%FF%20x\thttps://b.example/\n` +
        '4294967295\t0\t30\t-\t-\t5\t0\t00000000\thttp://www.example.org/4294967295\t\n',
    );
  });

  it('writes the document of a record, byte by byte, and ends with 66 where there is none', () => {
    const { stdout, status } = lccrec(['--body=7'], stream);
    assert.ok(stdout.equals(doc));
    assert.equal(status, 0);
    const missing = lccrec(['--body=8'], stream);
    assert.equal(missing.status, 66);
    assert.equal(missing.stderr, 'lccrec: there is no record with doc_id 8\n');
    // What comes after the record is not looked at.
    assert.equal(lccrec(['--body=7'], Buffer.concat([stream.subarray(0, -3), doc])).status, 0);
  });

  it('says why there is no document of a record without success', () => {
    const failed = Buffer.concat([
      failureBytes(1, { http: 0, reason: 'address-forbidden', redirected: true }),
      failureBytes(2, { doc: 'page of an error' }),
      recordBytes({ docId: 3, reason: 'empty' }),
    ]);
    const { status, stdout, stderr } = lccrec(['--body=1'], failed);
    assert.deepEqual(
      [status, stdout.toString(), stderr],
      [66, '', 'lccrec: document 1 was not fetched: address not permitted (54)\n'],
    );
    assert.equal(lccrec(['--body=2'], failed).stdout.toString(), 'page of an error');
    const empty = lccrec(['--body=3'], failed);
    assert.deepEqual([empty.status, empty.stdout.toString()], [0, '']);
  });

  it('ends with 65 at the first bad byte, whose offset it says, after what was whole', () => {
    const bad = Buffer.concat([stream, stream]);
    bad[stream.length + 7] = 3;
    for (const [input, offset, lines] of [
      [bad, stream.length + 7, 2],
      [stream.subarray(0, -1), stream.length - 1, 1],
      [Buffer.from('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'), 4, 0],
    ] as const) {
      const { stdout, stderr, status } = lccrec(['--tsv'], input);
      assert.equal(status, 65);
      assert.match(stderr, new RegExp(`^lccrec: byte ${offset}: .*\\n$`));
      assert.equal(stdout.toString().split('\n').length - 1, lines);
    }
  });

  it('refuses two forms at once, and ids that are none', () => {
    assert.equal(lccrec(['--tsv', '--jsonl']).status, 64);
    for (const id of ['4294967296', '-1', 'x', '']) assert.equal(lccrec([`--body=${id}`]).status, 64, id);
    const { status, stderr } = lccrec([`--store=${dir}`]);
    assert.equal(status, 66);
    assert.match(stderr, /there is no store here; lccstored makes it/);
  });

  it('needs no more memory for a document of 1 GB than for a short one', async () => {
    const child = spawn(join(ROOT, 'bin/lccrec'), ['--tsv'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const size = 1024 ** 3;
    const head = recordBytes({ docId: 1 });
    head.writeUInt32BE(size, 16);
    const piece = Buffer.alloc(1024 * 1024);
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => void (text += chunk));
    child.stdin.write(head);
    let peakKb = 0;
    for (let sent = 0; sent < size; sent += piece.length) {
      if (!child.stdin.write(piece)) await within('lccrec reads', once(child.stdin, 'drain'));
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      peakKb = Math.max(peakKb, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]));
    }
    child.stdin.end();
    const [code] = (await within('lccrec ends', once(child, 'close'))) as [number];
    assert.equal(code, 0);
    assert.match(text, new RegExp(`^1\\t1\\t0\\t-\\t200\\t5\\t${size}\\t`));
    assert.ok(peakKb > 10_000 && peakKb < 150_000, `${peakKb} KB`);
  });

  it('shows what a store holds while its server runs, and its records make the same store', async () => {
    const home = new StoreHome();
    homes.push(home);
    await home.start(['--compress=gzip']);
    const big = Buffer.alloc(400_000, 'lcc');
    await home.keep(
      recordBytes({ docId: 3, doc: 'old' }),
      recordBytes({ docId: 3, doc: big }),
      recordBytes({ docId: 1, doc: 'one' }),
      failureBytes(3),
      failureBytes(2),
      recordBytes({ docId: 4, reason: 'empty' }),
    );
    const listed = lccrec(['--tsv', `--store=${home.store}`]).stdout.toString();
    assert.deepEqual(
      listed
        .trimEnd()
        .split('\n')
        .map(line => line.split('\t').slice(0, 3).join(' ')),
      ['1 1 0', '2 0 10', '3 1 0', '3 0 10', '4 1 2'],
    );
    assert.ok(lccrec([`--store=${home.store}`, '--body=3']).stdout.equals(big));
    const other = new StoreHome();
    homes.push(other);
    await other.start();
    await other.keep(lccrec(['--records', `--store=${home.store}`]).stdout);
    assert.equal(lccrec(['--tsv', `--store=${other.store}`]).stdout.toString(), listed);
  });
});
