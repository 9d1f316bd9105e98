import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { WARCParser, WARCRecord, WARCSerializer } from 'warcio';
import { TestCache } from '../support/cache.js';
import { runProgram } from '../support/command.js';
import { runLccq } from '../support/lccq.js';

let cache: TestCache;
beforeEach(() => {
  cache = new TestCache();
});
afterEach(() => cache.close());

interface Found {
  type: string | null | undefined;
  uri: string | null | undefined;
  date: string | null | undefined;
  contentType: string | null | undefined;
  record: WARCRecord;
  body: Buffer;
}

/** As warcio takes it itself. */
async function digestOf(body: Buffer): Promise<string | null | undefined> {
  const copy = WARCRecord.create({ url: 'http://x/', type: 'resource', warcHeaders: {} }, only(body));
  await WARCSerializer.serialize(copy, { digest: { algo: 'sha-1', prefix: 'sha1:', base32: true } });
  return copy.warcBlockDigest;
}

async function* only(body: Buffer): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(body);
}

/** All records as warcio reads them, their digests compared with its own. */
async function read(archive: Buffer): Promise<Found[]> {
  const found: Found[] = [];
  for await (const record of new WARCParser([archive])) {
    const { warcType: type, warcTargetURI: uri, warcDate: date, warcBlockDigest, warcPayloadDigest } = record;
    const contentType = record.warcHeaders.headers.get('Content-Type');
    const body = Buffer.from(await record.readFully(false));
    const digest = await digestOf(body);
    assert.equal(warcBlockDigest, digest, `${uri}`);
    if (type === 'resource') assert.equal(warcPayloadDigest, digest);
    found.push({ type, uri, date, contentType, record, body });
  }
  return found;
}

describe('lccq --format=warc', () => {
  it('is read by warcio: every page with its bytes, type and time, all digests right', async () => {
    const big = Buffer.from(Array.from({ length: 3_000_001 }, (_, i) => (i * i) % 251));
    cache.put({ curl: 'http://x/1', content: 'one', at: 1_700_000_000 });
    cache.put({ curl: 'http://x/big', mimetype: 'image/png', content: big });
    cache.put({ curl: 'http://x/c', burl: 'http://b/d\u00e9j\u00e0 vu\r\nX: y', content: '' });
    cache.put({ curl: 'http://x/hidden', burl: '' });
    const { status, stdout, stderr } = runLccq(cache, ['--format=warc']);
    assert.deepEqual([status, stderr], [0, '']);
    const [info, one, large, other, end, ...more] = await read(stdout);
    assert.equal(info?.type, 'warcinfo');
    assert.match(String(info?.body), /^software: lccq \(LCC\), warc 1\r\nformat: WARC File Format 1\.1\r\n/);
    assert.deepEqual(
      [one?.type, one?.uri, one?.date, one?.contentType, String(one?.body)],
      ['resource', 'http://x/1', '2023-11-14T22:13:20Z', 'text/html', 'one'],
    );
    assert.ok(large?.body.equals(big));
    assert.equal(large?.contentType, 'image/png');
    assert.equal(other?.uri, 'http://b/d%C3%A9j%C3%A0%20vu%0D%0AX:%20y');
    assert.equal(other?.record.warcHeaders.headers.get('LCC-Conceptual-URI'), 'http://x/c');
    assert.equal(end?.type, 'metadata');
    assert.equal(String(end?.body), 'lcc-complete: 3\r\nlcc-reached: 4\r\n');
    assert.deepEqual(more, []);
  });

  it('tells each URL that is gone in a metadata record', async () => {
    cache.put({ curl: 'http://x/1' });
    cache.put({ curl: 'http://x/2', burl: 'http://b/2' });
    cache.remove('http://x/1', { at: 1_700_000_000 });
    cache.put({ curl: 'http://x/2', burl: 'http://b/3' });
    const records = await read(runLccq(cache, ['--format=warc', '--since=0']).stdout);
    assert.deepEqual(
      records.slice(1, -1).map(({ type, uri, body }) => [type, uri, type === 'metadata' ? String(body) : '']),
      [
        ['metadata', 'http://x/1', 'lcc-op: delete\r\n'],
        ['metadata', 'http://b/2', 'lcc-op: delete\r\n'],
        ['resource', 'http://b/3', ''],
      ],
    );
    assert.equal(records[1]?.date, '2023-11-14T22:13:20Z');
  });

  it('is one gzip member a record, which can be read alone, and whole for gzip', () => {
    cache.fill(20, i => `http://x/${i}`);
    const { stdout } = runLccq(cache, ['--format=warc']);
    const starts = [...stdout.keys()].filter(
      at => stdout.readUInt8(at) === 0x1f && stdout[at + 1] === 0x8b && stdout[at + 2] === 8,
    );
    const members = starts.filter(at => {
      try {
        return gunzipSync(stdout.subarray(at)).subarray(0, 10).toString() === 'WARC/1.1\r\n';
      } catch {
        return false;
      }
    });
    assert.equal(members.length, 22);
    assert.equal(runProgram('gzip', ['-t'], { input: stdout }).status, 0);
  });

  it('gives a record the same name in every archive, and none twice', async () => {
    cache.fill(3, i => `http://x/${i}`);
    const ids = async () =>
      (await read(runLccq(cache, ['--format=warc']).stdout)).map(({ record }) =>
        record.warcHeaders.headers.get('WARC-Record-ID'),
      );
    const [first, second] = [await ids(), await ids()];
    assert.deepEqual(first.slice(1, -1), second.slice(1, -1));
    assert.notEqual(first[0], second[0]);
    assert.equal(new Set(first).size, 5);
    for (const id of first)
      assert.match(String(id), /^<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab]/);
  });

  it('leaves out what is altered, and counts it not: 1', async () => {
    appendFileSync(cache.put({ curl: 'http://x/1' }), 'x');
    appendFileSync(cache.put({ curl: 'http://x/2', content: Buffer.alloc(2_000_000) }), 'x');
    cache.put({ curl: 'http://x/3' });
    const { status, stdout } = runLccq(cache, ['--format=warc']);
    assert.equal(status, 1);
    const records = await read(stdout);
    assert.equal(records.length, 3);
    assert.match(String(records[2]?.body), /^lcc-complete: 1\r\n/);
  });
});
