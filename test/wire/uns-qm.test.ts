import assert from 'node:assert/strict';
import type { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import {
  createAnswerReader,
  damageNote,
  formatQmAnswer,
  receiveFromUns,
  SET_END,
  sessionNote,
  setStart,
  unsHello,
  type QmAnswer,
  type SetHead,
  type UnsHandlers,
} from '../../src/wire/uns-qm.js';
import { ends, settle } from '../support/duplex.js';
import { flooded, STRANGER_BYTES } from '../support/flood.js';
import { Conversation } from '../../src/lib/conversation.js';
import { FairShare } from '../../src/lib/fair-share.js';
import { ManualClock } from '../support/manual-clock.js';

const OPTIONS = {
  where: 'uns',
  xml: { maxTokenBytes: 65_536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 },
  maxHelloBytes: 4096,
  share: new FairShare(),
};
const HEAD: SetHead = {
  entry: '000000000000001-7.18.full.2',
  pid: 7,
  seq: 18,
  set: 'full',
  urlprefix: 'http://h/?a&b"<',
  received: 2,
  errseen: 812,
  ip: '192.0.2.7',
  atS: 1_795_169_581,
  newest: 19,
  numbering: '3f9a',
  after: 4711,
};
const LINKS: SetHead = { ...HEAD, set: 'partial', origin: 'links' };
const FUSED: SetHead = { ...HEAD, deletes: 1, digest: '0cc175b9c0f1b6a831c399e269772661' };
const FUSED_START =
  '<lococa:set entry="000000000000001-7.18.full.2" pid="7" seq="18" set="full" urlprefix="http://h/?a&amp;b&quot;&lt;" ' +
  'received="2" errseen="812" ip="192.0.2.7" at="1795169581" newest="19" numbering="3f9a" after="4711" deletes="1" digest="0cc175b9c0f1b6a831c399e269772661">\n';
const DOCUMENT =
  unsHello('uns.3f9a') +
  setStart(HEAD) +
  '<url curl="a"/>\n<lococa:url c="b" mimetype="text/html"/>\n' +
  SET_END +
  sessionNote({ pid: 7, seq: 19, ip: '', errseen: 900 }) +
  damageNote({ entry: 'e1', pid: 8 });

function talkOver(stream: Duplex): Conversation {
  return new Conversation(stream, 'uns', new ManualClock());
}

/** Everything the handlers were told, urls one by one. */
async function hear(document: string, pieceBytes = Infinity): Promise<unknown[]> {
  const told: unknown[] = [];
  const { ours, theirs } = ends();
  const bytes = Buffer.from(document);
  const heard = receiveFromUns(talkOver(ours), recorder(told), OPTIONS);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    theirs.write(bytes.subarray(at, Math.min(bytes.length, at + pieceBytes)));
    if (pieceBytes < Infinity) await settle(1);
  }
  theirs.end();
  await heard;
  return told;
}

function recorder(told: unknown[]): UnsHandlers {
  return {
    hello: id => void told.push(['hello', id]),
    setBegins: head => void told.push(['set', head]),
    urls: records => void told.push(...records.map(({ curl, mimetype }) => ['url', curl, mimetype])),
    setEnds: () => void told.push(['end']),
    session: note => void told.push(['session', note]),
    damaged: note => void told.push(['damaged', note]),
  };
}

describe('the QM hears', () => {
  it('a UNS, whole and byte by byte', async () => {
    const expected = [
      ['hello', 'uns.3f9a'],
      ['set', HEAD],
      ['url', 'a', ''],
      ['url', 'b', 'text/html'],
      ['end'],
      ['session', { pid: 7, seq: 19, ip: '', errseen: 900 }],
      ['damaged', { entry: 'e1', pid: 8 }],
    ];
    assert.deepEqual(await hear(DOCUMENT), expected);
    assert.deepEqual(await hear(DOCUMENT, 1), expected);
  });

  it('how many removals a set asks for and its digest, where the UNS knows them', async () => {
    assert.equal(setStart(FUSED), FUSED_START);
    const document =
      unsHello('u') + FUSED_START + SET_END + setStart(HEAD) + SET_END + setStart(LINKS) + SET_END;
    const expected = [
      ['hello', 'u'],
      ['set', FUSED],
      ['end'],
      ['set', HEAD],
      ['end'],
      ['set', LINKS],
      ['end'],
    ];
    assert.deepEqual(await hear(document), expected);
    assert.deepEqual(await hear(document, 1), expected);
  });

  it('nothing more until a handler is done', async () => {
    const { ours, theirs } = ends();
    let release = () => {};
    const told: unknown[] = [];
    const heard = receiveFromUns(
      talkOver(ours),
      {
        ...recorder(told),
        urls: async records => {
          told.push(records.length);
          await new Promise<void>(resolve => (release = resolve));
        },
      },
      OPTIONS,
    );
    theirs.write(unsHello('u') + setStart(HEAD) + '<url curl="a"/>'.repeat(3));
    await settle();
    theirs.write('<url curl="b"/>');
    await settle();
    assert.deepEqual(told.slice(2), [3]);
    release();
    await settle();
    assert.deepEqual(told.slice(2), [3, 1]);
    release();
    theirs.end(SET_END);
    await heard;
  });

  it('a stranger so far only, and says which limit that is', async () => {
    const { ours, theirs } = ends();
    const heard = assert.rejects(receiveFromUns(talkOver(ours), recorder([]), OPTIONS), {
      code: 'limit',
      message: /^uns:\d+:\d+: no message in 4 KB \(wire\.max_hello_bytes\)$/,
    });
    theirs.write('<!-- x -->\n'.repeat(1000));
    await heard;
  });

  it('256 KB of a stranger at most that goes on and on', async () => {
    let answered: Promise<void> | undefined;
    const { readBytes } = await flooded(socket => {
      const talk = talkOver(socket);
      const heard = receiveFromUns(talk, recorder([]), { ...OPTIONS, maxHelloBytes: 128 * 1024 });
      answered = assert.rejects(heard, { code: 'limit' }).finally(() => talk.destroy());
    });
    await answered;
    assert.ok(readBytes <= STRANGER_BYTES, String(readBytes));
  });

  it('everything of a UNS that has said which it is', async () => {
    const told: unknown[] = [];
    const { ours, theirs } = ends();
    const heard = receiveFromUns(talkOver(ours), recorder(told), OPTIONS);
    theirs.write(unsHello('u'));
    for (let i = 0; i < 10; i++) theirs.write('<!-- x -->\n'.repeat(1000));
    theirs.end(damageNote({ entry: 'e1', pid: 8 }));
    await heard;
    assert.equal(told.length, 2);
  });

  it('that a set was cut, and never its end', async () => {
    const whole = unsHello('u') + setStart(HEAD) + '<url curl="a"/>' + SET_END.trimEnd();
    const start = unsHello('u').length + setStart(HEAD).length;
    for (let length = start; length < whole.length; length++) {
      const told: unknown[] = [];
      const { ours, theirs } = ends();
      theirs.end(whole.slice(0, length));
      await assert.rejects(receiveFromUns(talkOver(ours), recorder(told), OPTIONS), { code: 'data.cut' });
      assert.ok(!told.some(event => Array.isArray(event) && event[0] === 'end'), `cut at ${length}`);
    }
  });

  it('a set that has always more to say, and everybody else between any two pieces of it', async () => {
    const { ours, theirs } = ends();
    let pieces = 0;
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    const heard = receiveFromUns(talkOver(ours), { ...recorder([]), urls: () => void pieces++ }, OPTIONS);
    turn();
    theirs.write(unsHello('u') + setStart(HEAD));
    for (let i = 0; i < 50; i++) theirs.write('<url curl="a"/>\n'.repeat(1000));
    theirs.end(SET_END);
    await heard;
    isOver = true;
    assert.ok(pieces > 10);
    assert.ok(turns >= pieces, `${turns} turns for ${pieces} pieces`);
  });

  it('breaches of the protocol as such', async () => {
    for (const document of [
      sessionNote({ pid: 1, seq: 1, ip: '', errseen: 0 }),
      `${unsHello('u')}<lococa:hello/>`,
      `${unsHello('u')}${setStart(HEAD)}<lococa:session pid="1" seq="1" errseen="0"/>`,
      `${unsHello('u')}<lococa:set entry="e" pid="x"/>`,
      // As many places in the queue would be set aside for it.
      unsHello('u') + setStart({ ...HEAD, received: 100_000_001 }),
      unsHello('u') + setStart({ ...HEAD, received: Number.MAX_SAFE_INTEGER }),
      '<lococa:uns/>',
    ]) {
      await assert.rejects(hear(document), { code: 'peer.protocol' }, document);
    }
  });
});

describe('the UNS hears', () => {
  const ANSWERS: QmAnswer[] = [
    { kind: 'qm' },
    { kind: 'absorbed', entry: 'e1', queued: 1, duplicate: 2, unchanged: 3, deleted: 4 },
    { kind: 'refused', entry: 'e2', code: 104, reason: 'a < b & "c"' },
    { kind: 'refused', entry: 'e3', code: 103, reason: '' },
    { kind: 'noted', pid: 7, seq: 19, entry: undefined },
    { kind: 'noted', pid: 7, seq: undefined, entry: 'e1' },
    { kind: 'busy' },
  ];

  it('every answer as it was given, whole and byte by byte', () => {
    const bytes = Buffer.from(ANSWERS.map(formatQmAnswer).join(''));
    for (const pieceBytes of [bytes.length, 1]) {
      const heard: QmAnswer[] = [];
      const reader = createAnswerReader(answer => void heard.push(answer), OPTIONS);
      for (let at = 0; at < bytes.length; at += pieceBytes) reader.write(bytes.subarray(at, at + pieceBytes));
      assert.deepEqual(heard, ANSWERS);
    }
  });

  it('why the Queue Manager does not want it', () => {
    const bytes = Buffer.from('<lococa:error code="106">too many (a &amp; b)</lococa:error>\n');
    for (const pieceBytes of [bytes.length, 1]) {
      const reader = createAnswerReader(() => assert.fail('no answer'), OPTIONS);
      const hear = () => {
        for (let at = 0; at < bytes.length; at += pieceBytes)
          reader.write(bytes.subarray(at, at + pieceBytes));
      };
      assert.throws(hear, { code: 'peer.rejected', message: 'uns: 106 too many (a & b)' });
    }
  });

  it('an answer it does not know as a breach', () => {
    const reader = createAnswerReader(() => undefined, OPTIONS);
    assert.throws(() => reader.write(Buffer.from('<lococa:absorbed entry="e"/>')), { code: 'peer.protocol' });
  });
});
