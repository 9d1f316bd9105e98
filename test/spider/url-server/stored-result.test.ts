/** What a store server has of a fetch, as the result of a robot. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { collect, type StoredDocument } from '../../../src/spider/url-server/stored-result.js';
import { endOf, verdictOf } from '../../../src/spider/url-server/fetch-verdict.js';
import type { FetchFailed, RobotOk, RobotRequest } from '../../../src/wire/fetch.js';
import { httpByte, reasonByte, SPIDER_REASONS, type SpiderReason } from '../../../src/wire/spider-codes.js';

const dir = mkdtempSync(join(tmpdir(), 'collect-'));
after(() => rmSync(dir, { recursive: true }));

const URL = 'http://www.example.org/a';
const CONTENT = Buffer.from('content');
const MD5 = createHash('md5').update(CONTENT).digest('hex');
const request = (more: Partial<RobotRequest> = {}): RobotRequest => ({
  id: 7,
  url: URL,
  file: join(dir, '00000001.0'),
  roots: [],
  ...more,
});
const stored = (more: Partial<StoredDocument> = {}): StoredDocument => ({
  url: URL,
  newUrl: '',
  isSuccess: true,
  reason: 0,
  http: httpByte(200),
  durationMs: 12,
  md5: MD5,
  content: () => CONTENT,
  ...more,
});
const byte = (reason: SpiderReason, more: { redirected?: boolean; cut?: boolean } = {}) =>
  reasonByte({ reason, redirected: false, cut: false, ...more });
const collected = (row: StoredDocument | undefined, asked = request()) =>
  collect(1, asked, { find: () => row, syncContent: false });
const failure = async (...args: Parameters<typeof collected>) => {
  const { code, reach } = (await collected(...args)) as FetchFailed;
  assert.deepEqual(readdirSync(dir), [], 'nothing is left');
  return [code, reach];
};

describe('what a store server has of a fetch', () => {
  it('is put in its place, with what was announced of its type', async () => {
    const asked = request({
      mimetype: 'text/html',
      roots: ['http://www.example.org/'],
      md5: MD5,
      enforce: true,
    });
    assert.deepEqual(await collected(stored(), asked), {
      id: 7,
      status: 'ok',
      http: 200,
      md5: MD5,
      len: CONTENT.length,
      completeness: 'whole',
      wireBytes: CONTENT.length,
      elapsedMs: 12,
      mimetype: 'text/html',
    });
    assert.deepEqual(readdirSync(dir), ['00000001.0']);
    assert.deepEqual(readFileSync(asked.file), CONTENT);
    rmSync(asked.file);
  });

  it('counts where a permanent redirect led inside of the roots, and not where that is outside or unknown', async () => {
    const reason = byte('ok', { redirected: true });
    const roots = ['http://www.example.org/'];
    const inside = stored({ reason, newUrl: 'http://www.example.org/b' });
    const { finalUrl, status } = (await collected(inside, request({ roots }))) as RobotOk;
    assert.deepEqual([status, finalUrl], ['ok', 'http://www.example.org/b']);
    rmSync(request().file);
    for (const newUrl of ['', 'http://www.example.net/'])
      assert.deepEqual(await failure(stored({ reason, newUrl }), request({ roots })), [609, 'real']);
    assert.equal((await collected(stored({ reason }))).status, 'ok');
    rmSync(request().file);
  });

  it('does not count when it is cut, too long, or not what must be there', async () => {
    assert.deepEqual(await failure(stored({ reason: byte('ok', { cut: true }) })), [606, 'real']);
    assert.deepEqual(await failure(stored(), request({ maxBytes: 6 })), [606, 'real']);
    assert.deepEqual(await failure(stored(), request({ len: 8, enforce: true })), [612, 'real']);
    assert.equal((await collected(stored(), request({ len: 8 }))).status, 'ok');
    rmSync(request().file);
  });

  it('is a failure when the store has nothing, another url, or damaged bytes', async () => {
    assert.deepEqual(await failure(undefined), [605, 'provider']);
    assert.deepEqual(await failure(stored({ url: 'http://other/' })), [605, 'provider']);
    assert.deepEqual(await failure(stored({ content: () => Buffer.from('damaged') })), [605, 'provider']);
    const unreadable = () => {
      throw Object.assign(new Error('EIO'), { code: 'EIO' });
    };
    assert.deepEqual(await failure(stored({ content: unreadable })), [613, 'provider']);
    assert.deepEqual(await failure(stored(), request({ file: join(dir, 'nowhere/x') })), [613, 'provider']);
  });

  it('is read again when the document was replaced meanwhile', async () => {
    let reads = 0;
    const gone = () => {
      if (++reads < 3) throw Object.assign(new Error('gone'), { code: 'ENOENT' });
      return CONTENT;
    };
    assert.equal((await collected(stored({ content: gone }))).status, 'ok');
    assert.equal(reads, 3);
    rmSync(request().file);
  });

  it('is the failure that the record says, whatever older document there is', async () => {
    const of = (reason: SpiderReason, status?: number) =>
      failure(stored({ isSuccess: false, reason: byte(reason), http: httpByte(status) }));
    assert.deepEqual(await of('http-4xx', 404), [404, 'real']);
    assert.deepEqual(await of('http-4xx', 429), [429, 'url']);
    assert.deepEqual(await of('http-4xx', 499), [400, 'real']);
    assert.deepEqual(await of('http-5xx', 503), [503, 'url']);
    assert.deepEqual(await of('http-other', 206), [206, 'url']);
    assert.deepEqual(await of('http-other', 999), [611, 'url']);
    assert.deepEqual(await of('refused'), [602, 'provider']);
    assert.deepEqual(await of('total-timeout'), [603, 'url']);
    assert.deepEqual(await of('redirect-loop'), [608, 'real']);
  });

  it('has a verdict for every reason of a record, also for those that are reserved', () => {
    for (const reason of Object.keys(SPIDER_REASONS) as SpiderReason[]) {
      const { code, message } = verdictOf(endOf(byte(reason)), 0);
      assert.ok(code >= 600 && code < 620, `${reason}: ${code} ${message}`);
    }
    assert.equal(verdictOf(endOf(62), 0).code, 605);
  });
});
