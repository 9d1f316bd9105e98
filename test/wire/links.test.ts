import assert from 'node:assert/strict';
import type { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import { readRobotFetched } from '../../src/wire/fetch-messages.js';
import { ManagerPeer, RobotPeer } from '../../src/wire/bm-bot.js';
import type {
  DeleteRequest,
  DeleteResult,
  FetchInline,
  FetchRedirect,
  FetchRequest,
  FetchResult,
  RobotOk,
  RobotRequest,
} from '../../src/wire/fetch.js';
import { BotManagerPeer, SourcePeer } from '../../src/wire/qm-bm.js';
import type { UpkeepRequest } from '../../src/wire/upkeep.js';
import { channelOptions, ends, settle } from '../support/duplex.js';
import { readProjectFile } from '../support/tree.js';

const golden = (name: string) => readProjectFile(`test/wire/golden/${name}.xml`);
const options = () => ({ ...channelOptions(), helloTimeoutMs: 1000, pingIntervalMs: 1000 });

const OK: RobotOk = {
  id: 17,
  status: 'ok',
  http: 200,
  md5: '0cc175b9c0f1b6a831c399e269772661',
  len: 5123,
  mimetype: 'text/html',
  charset: 'koi8-r',
  lastModified: 'Fri, 20 Nov 2026 10:13:01 GMT',
  etag: '"x"',
  finalUrl: 'http://www.example.org/a?b&c',
  robots: 'noindex, nofollow',
  completeness: 'unverified',
  wireBytes: 2048,
  elapsedMs: 12,
};
const BRIEF = { http: 200, md5: OK.md5, len: 1, wireBytes: 200, elapsedMs: 1 };
const WHOLE = { id: 23, status: 'ok', ...BRIEF, completeness: 'whole' } as const;
const JUST_CHANGED: RobotOk = { ...WHOLE, modifiedNow: 'Fri, 20 Nov 2026 10:13:01 GMT' };
const UNCHANGED: FetchResult = {
  id: 18,
  status: 'unchanged',
  http: 304,
  etag: 'W/"é"',
  wireBytes: 210,
  elapsedMs: 1,
};
const FAILED: FetchResult = {
  id: 19,
  status: 'error',
  code: 503,
  message: 'Service <Unavailable> – später',
  reach: 'url',
  wireBytes: 300,
  elapsedMs: 1250,
  retryAfterMs: 120_000,
};
const REDIRECTED: FetchRedirect = {
  id: 21,
  status: 'redirect',
  http: 301,
  location: 'http://www.example.org/?a&b',
  wireBytes: 180,
  elapsedMs: 2,
};
const INLINE: FetchInline = {
  id: 22,
  status: 'inline',
  http: 200,
  content: Buffer.from('User-agent: *\n'),
  isCut: true,
  wireBytes: 500,
  elapsedMs: 3,
  lastModified: 'Fri, 20 Nov 2026 10:13:01 GMT',
  etag: '"r"',
  finalUrl: 'https://cdn.example.org/robots.txt',
};
const RECALLED: FetchResult = { id: 20, status: 'recalled' };
const PLAIN: FetchRequest = { id: 1, lane: '7', url: 'http://www.example.org/a?b&c="', roots: [] };
const RICH: FetchRequest = {
  id: 2,
  lane: '7.1',
  url: 'https://www.example.org/',
  roots: ['http://www.example.org/', 'https://www.example.org/'],
  mimetype: 'text/html',
  lastModified: 'Fri, 20 Nov 2026 10:13:01 GMT',
  etag: '"x"',
  md5: '0cc175b9c0f1b6a831c399e269772661',
  len: 1,
  enforce: true,
  takesContradicted: true,
  maxBytes: 100,
  timeoutMs: 2500,
  userAgent: 'bot/1 (mail@example.org)',
  login: 'user:pass word"é',
};
const UNASKED: FetchRequest = {
  id: 21,
  lane: '8',
  url: 'http://www.example.org/c',
  roots: [],
  accept: ['text/*', 'application/pdf'],
  redirects: 'report',
};
const ROBOTS_TXT: FetchRequest = {
  id: 22,
  lane: '8',
  url: 'http://www.example.org/robots.txt',
  roots: [],
  etag: '"r"',
  inline: 512_000,
};
const forRobot = (request: FetchRequest, file: string): RobotRequest => ({ ...request, file });
const RELAY = { machineIds: ['m1', 'm2'], slots: 32, storeIds: ['s1', 's2'], relays: true };
const DELETE: DeleteRequest = { id: 3, machineId: 'm1', fileId: '00/00/00000000.0' };
const CHECK: UpkeepRequest = {
  kind: 'check',
  id: 5,
  machineId: 'm1',
  fileId: '00/00/00000001.0',
  md5: '0cc175b9c0f1b6a831c399e269772661',
  len: 1,
};
const SYNC: UpkeepRequest = { kind: 'sync', id: 6, machineId: 'm1' };
const ADOPT: UpkeepRequest = { ...CHECK, kind: 'adopt', id: 7, shard: 3 };
const ADOPTED = { kind: 'adopt', id: 7, status: 'ok', fileId: '00/00/0000002a.5' } as const;

/** Plays a transcript to one side, whole or byte by byte, and gives all the events it made there. */
async function play(
  name: string,
  cut: 'whole' | 'byte by byte',
  serve: (stream: Duplex, event: (...event: unknown[]) => void) => void,
): Promise<unknown[]> {
  const events: unknown[] = [];
  const { ours, theirs } = ends();
  serve(ours, (...event) => void events.push(event));
  const bytes = Buffer.from(golden(name));
  if (cut === 'whole') theirs.write(bytes);
  else for (const byte of bytes) theirs.write(Buffer.of(byte));
  theirs.end();
  await settle(cut === 'whole' ? 20 : bytes.length * 2);
  return events;
}

/** Reports all that a robot says. */
function robotHeard(stream: Duplex, event: (...heard: unknown[]) => void): void {
  const peer = new RobotPeer(
    stream,
    {
      hello: (slots, takesUnasked) => event('hello', slots, takesUnasked),
      fetched: result => event('fetched', result),
      closed: reason => event('closed', reason?.message),
    },
    options(),
  );
  peer.fetch(ROBOTS_TXT.id, undefined, ROBOTS_TXT);
}

for (const cut of ['whole', 'byte by byte'] as const) {
  describe(`golden transcripts, ${cut}`, () => {
    it('a robot', async () => {
      const events = await play('robot', cut, robotHeard);
      assert.deepEqual(events, [
        ['hello', 64, false],
        ['fetched', OK],
        ['fetched', UNCHANGED],
        ['fetched', FAILED],
        ['fetched', RECALLED],
        ['fetched', JUST_CHANGED],
        ['fetched', REDIRECTED],
        ['fetched', INLINE],
        ['hello', 32, true],
        ['closed', undefined],
      ]);
    });

    it('a robot typed by hand', async () => {
      const events = await play('robot-by-hand', cut, robotHeard);
      assert.deepEqual(events, [
        ['hello', 2, false],
        [
          'fetched',
          {
            id: 1,
            status: 'ok',
            http: 200,
            md5: '0cc175b9c0f1b6a831c399e269772661',
            len: 1,
            charset: 'windows-1252',
            wireBytes: 1,
            elapsedMs: 0,
            completeness: 'whole',
          },
        ],
        [
          'fetched',
          {
            id: 2,
            status: 'error',
            code: 404,
            message: 'Not\nFound',
            reach: 'url',
            wireBytes: 0,
            elapsedMs: 0,
          },
        ],
        [
          'fetched',
          {
            id: 3,
            status: 'unchanged',
            http: 304,
            wireBytes: 0,
            elapsedMs: 500,
            lastModified: 'Fri, 20 Nov 2026 10:13:01 GMT',
            etag: '"a&b"',
          },
        ],
        ['hello', 3, false],
        ['closed', undefined],
      ]);
    });

    it('a Bot Manager to a robot', async () => {
      const events = await play('manager-to-robot', cut, (stream, event) => {
        void new ManagerPeer(
          stream,
          {
            fetch: request => event(request),
            recall: lane => event('recall', lane),
            closed: reason => event(reason?.message),
          },
          options(),
        );
      });
      assert.deepEqual(events, [
        [forRobot(PLAIN, '/store/00/00/00000000.0')],
        [forRobot(RICH, '/store/é/00000001.0')],
        [forRobot(UNASKED, '/store/00/00/00000002.0')],
        [forRobot(ROBOTS_TXT, '')],
        ['recall', '7.1'],
        [undefined],
      ]);
    });

    it('a source to a Bot Manager', async () => {
      const events = await play('source-to-bm', cut, (stream, event) => {
        void new SourcePeer(
          stream,
          {
            epoch: epoch => event('epoch', epoch),
            fetch: request => event(request),
            recall: lane => event('recall', lane),
            delete: request => event(request),
            upkeep: request => event(request),
            refused: (machineId, why) => event('refused', machineId, why),
            closed: reason => event(reason?.message),
          },
          options(),
        );
      });
      assert.deepEqual(events, [
        ['epoch', 7],
        [PLAIN],
        [RICH],
        [UNASKED],
        [ROBOTS_TXT],
        ['recall', '7.1'],
        [DELETE],
        [CHECK],
        [SYNC],
        [ADOPT],
        ['refused', 'm2', 'taken <twice>'],
        [undefined],
      ]);
    });

    it('a Bot Manager to its source', async () => {
      const events = await play('bm-to-source', cut, (stream, event) => {
        const peer = new BotManagerPeer(
          stream,
          {
            hello: offer => event('hello', offer),
            fetched: result => event('fetched', result),
            deleted: (result: DeleteResult) => event('deleted', result),
            upkept: result => event(result),
            closed: reason => event('closed', reason?.message),
          },
          options(),
        );
        peer.fetch(ROBOTS_TXT);
      });
      assert.deepEqual(events, [
        ['hello', { machineIds: ['m1'], slots: 64, storeIds: [], relays: false, takesUnasked: false }],
        ['fetched', { ...OK, machineId: 'm1', fileId: '00/00/00000000.0' }],
        ['fetched', UNCHANGED],
        ['fetched', FAILED],
        ['fetched', RECALLED],
        ['fetched', REDIRECTED],
        ['fetched', INLINE],
        ['deleted', { id: 3, status: 'ok' }],
        ['deleted', { id: 4, status: 'away' }],
        [{ kind: 'check', id: 5, status: 'bad' }],
        [{ kind: 'sync', id: 6, status: 'ok' }],
        [ADOPTED],
        [{ kind: 'adopt', id: 8, status: 'bad' }],
        ['hello', { ...RELAY, takesUnasked: true }],
        ['closed', undefined],
      ]);
    });
  });
}

describe('what is written', () => {
  it('is the golden transcript: a robot', async () => {
    const { ours, received } = ends();
    const peer = new ManagerPeer(ours, { fetch() {}, recall() {}, closed() {} }, options());
    peer.hello(64);
    for (const result of [OK, UNCHANGED, FAILED, RECALLED, JUST_CHANGED, REDIRECTED, INLINE])
      peer.fetched(result);
    peer.hello(32, { isPinged: true, takesUnasked: true });
    await settle();
    assert.equal(received(), golden('robot'));
  });

  it('is the golden transcript: a Bot Manager to a robot', async () => {
    const { ours, received } = ends();
    const peer = new RobotPeer(ours, { hello() {}, fetched() {}, closed() {} }, options());
    peer.fetch(1, '/store/00/00/00000000.0', PLAIN);
    peer.fetch(2, '/store/é/00000001.0', RICH);
    peer.fetch(21, '/store/00/00/00000002.0', UNASKED);
    peer.fetch(22, undefined, ROBOTS_TXT);
    peer.recall('7.1');
    await settle();
    assert.equal(received(), golden('manager-to-robot'));
  });

  it('is the golden transcript: a source to a Bot Manager', async () => {
    const { ours, theirs, received } = ends();
    const peer = new BotManagerPeer(
      ours,
      { hello() {}, fetched() {}, deleted() {}, upkept() {}, closed() {} },
      options(),
    );
    peer.greet(7);
    peer.fetch(PLAIN);
    peer.fetch(RICH);
    peer.fetch(UNASKED);
    peer.fetch(ROBOTS_TXT);
    peer.recall('7.1');
    peer.delete(DELETE);
    peer.upkeep(CHECK);
    peer.upkeep(SYNC);
    peer.upkeep(ADOPT);
    peer.refuse('m2', 'taken <twice>');
    await settle();
    theirs.write('<lococa:bm machineid="m1" slots="1"/>');
    await settle();
    assert.equal(received(), golden('source-to-bm'));
  });

  it('is the golden transcript: a Bot Manager to its source', async () => {
    const { ours, theirs, received } = ends();
    const peer = new SourcePeer(
      ours,
      { fetch() {}, recall() {}, delete() {}, upkeep() {}, refused() {}, closed() {} },
      options(),
    );
    peer.hello({ machineIds: ['m1'], slots: 64, storeIds: [], relays: false });
    peer.fetched({ ...OK, machineId: 'm1', fileId: '00/00/00000000.0' });
    peer.fetched(UNCHANGED);
    peer.fetched(FAILED);
    peer.fetched(RECALLED);
    peer.fetched(REDIRECTED);
    peer.fetched(INLINE);
    peer.deleted({ id: 3, status: 'ok' });
    peer.deleted({ id: 4, status: 'away' });
    peer.upkept({ kind: 'check', id: 5, status: 'bad' });
    peer.upkept({ kind: 'sync', id: 6, status: 'ok' });
    peer.upkept(ADOPTED);
    peer.upkept({ kind: 'adopt', id: 8, status: 'bad' });
    await settle();
    theirs.write('<ping/>');
    await settle();
    peer.hello({ ...RELAY, takesUnasked: true });
    await settle();
    assert.equal(received(), golden('bm-to-source'));
  });
});

it('Retry-After is passed over where its code gives it no meaning, as with a page that is missing', () => {
  const patience = [404, 403, 500, 605, 429, 503, 613].map(code => {
    const result = readRobotFetched({ id: '1', status: 'error', code: String(code), retryafter: '20' }, '');
    return result.status === 'error' ? result.retryAfterMs : 0;
  });
  assert.deepEqual(patience, [undefined, undefined, undefined, undefined, 20_000, 20_000, 20_000]);
});
