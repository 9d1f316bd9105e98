import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { initMessage, SET_END, setStart, UnsReader, type UnsEvent } from '../../../src/wire/cp-uns/client.js';
import {
  CpReader,
  initAccepted,
  initRejected,
  SET_RESULT_START,
  setAccepted,
  setRejected,
  urlError,
} from '../../../src/wire/cp-uns/server.js';
import { statusLines } from '../../../src/cp/status.js';
import { ROOT } from '../../support/tree.js';
import { STATUS as EXAMPLE } from './status.js';

const LIMITS = { maxTokenBytes: 65_536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 };
const golden = (name: string) => readFileSync(join(ROOT, 'test/golden', `${name}.xml`));
const STATUS = {
  ...EXAMPLE,
  shown: [{ code: 404, text: 'Not <Found>', attrs: ' curl="a&amp;b" mimetype="text/html" len="5"' }],
};
const ACCEPTED = initAccepted(STATUS);

function read(document: string | Buffer, pieceBytes = Infinity): UnsEvent[] {
  const events: UnsEvent[] = [];
  const reader = new UnsReader(event => events.push(event), LIMITS, 'uns');
  const bytes = Buffer.from(document);
  for (let at = 0; at < bytes.length; at += pieceBytes)
    reader.write(bytes.subarray(at, Math.min(bytes.length, at + pieceBytes)));
  return events;
}

describe('what a UNS says', () => {
  it('tells a provider of which it never accepted a set', () => {
    const isNew = (reply: string) =>
      read(reply).map(event => event.kind === 'initAccepted' && event.status.isNew);
    const reply = initAccepted({ ...STATUS, isNew: true, shown: [] });
    assert.match(reply, /<connect_info seq="18" lastConnectIP="192.0.2.7" sets="0"\/>/);
    assert.deepEqual(isNew(reply), [true]);
  });

  it('tells a provider what its announcements are worth, where anything is known of that', () => {
    const truth = {
      score: 87,
      changed: 12,
      same: 1,
      failed: 0,
      audited: 59,
      silent: 2,
      late: 1,
      dead: 0,
      noisy: 3,
    };
    const [event] = read(initAccepted({ ...STATUS, shown: [], truth }));
    assert.ok(event?.kind === 'initAccepted');
    assert.deepEqual(event.status.truth, truth);
    assert.equal(
      statusLines(event.status).at(-1),
      'truthfulness: 87 of 100; announced as changed: 12 were, 1 were not, 0 were not to be had; of 59 audited 2 changed or went without being announced, 1 were announced late',
    );
  });

  it('is understood as our own UNS writes it', () => {
    assert.deepEqual(read(ACCEPTED), [
      {
        kind: 'error',
        record: { curl: 'a&b', mimetype: 'text/html', len: '5', code: '404', text: 'Not <Found>' },
      },
      {
        kind: 'initAccepted',
        status: {
          seq: 18,
          numbering: undefined,
          lastIp: '192.0.2.7',
          isNew: false,
          mimes: ['text/*', 'application/pdf'],
          files: { used: 812, free: 9188 },
          space: { used: 70_231_040, free: 929_768_960 },
          fullset: { allowed: 3, wanted: true, reason: 'old files' },
          errors: 2,
          processing: 40,
        },
      },
    ]);
    assert.deepEqual(read(initRejected(101, 'no & such')), [
      { kind: 'rejected', what: 'init', code: 101, text: 'no & such' },
    ]);
    const error = urlError({ curl: 'x', mimetype: 'y' }, 302, 'bad');
    const told = { kind: 'error', record: { curl: 'x', mimetype: 'y', code: '302', text: 'bad' } };
    assert.deepEqual(read(ACCEPTED + SET_RESULT_START + error + setAccepted(7)).slice(2), [
      told,
      { kind: 'setAccepted', received: 7 },
    ]);
    for (const begun of [true, false])
      assert.deepEqual(
        read(ACCEPTED + (begun ? SET_RESULT_START : '') + setRejected(201, 'none left', begun)).at(-1),
        {
          kind: 'rejected',
          what: 'set',
          code: 201,
          text: 'none left',
        },
      );
  });

  it('is the same whole and byte by byte, with white space, comments and things to come', () => {
    const document = Buffer.concat([Buffer.from(`\n<!-- hello -->\n${ACCEPTED}`), golden('uns-set-result')]);
    const events = read(document);
    assert.deepEqual(
      events.map(event => event.kind).filter(kind => kind !== 'error'),
      ['initAccepted', 'setAccepted'],
    );
    assert.deepEqual(events.at(-1), { kind: 'setAccepted', received: 17 });
    assert.deepEqual(events.at(-2), {
      kind: 'error',
      record: { curl: 'a & b', mimetype: 'html', code: '302', extra: { note: '<odd>' } },
    });
    for (const pieceBytes of [1, 2, 7, 64]) assert.deepEqual(read(document, pieceBytes), events);
    const conversation = golden('uns-init-accepted');
    assert.deepEqual(read(conversation).at(-1), { kind: 'setAccepted', received: 40 });
    assert.deepEqual(read(conversation, 1), read(conversation));
  });

  it('tells a rejection of the set before its container is closed', () => {
    const reply = `${ACCEPTED}<lococa:set_result><set_rejected code="203">too large</set_rejected>`;
    assert.deepEqual(read(reply).at(-1), { kind: 'rejected', what: 'set', code: 203, text: 'too large' });
  });

  it('is a breach of protocol when it is not what was agreed', () => {
    for (const [document, message] of [
      ['<html><body/></html>', /<html> is not expected/],
      ['<lococa:set_result/>', /<set_result> is not expected/],
      [ACCEPTED + ACCEPTED, /<init_accepted> is not expected/],
      [`${ACCEPTED}<lococa:set_result></lococa:set_result>`, /neither acceptance nor rejection/],
      [`${ACCEPTED}<lococa:set_result><set_accepted/></lococa:set_result>`, /received.*required/],
      ['<lococa:init_rejected/>', /without <reason>/],
      ['<lococa:init_rejected><reason>x</reason></lococa:init_rejected>', /code.*required/],
      [
        '<lococa:init_accepted><connect_info seq="x"/></lococa:init_accepted>',
        /seq="x": give a whole number/,
      ],
      [initRejected(101, 'x') + ACCEPTED, /not expected/],
    ] as const)
      assert.throws(() => read(document), { code: 'peer.protocol', message });
    assert.throws(() => read('HTTP/1.1 400 Bad Request\r\n\r\n'), { code: 'data.malformed' });
    assert.throws(() => read(`<lococa:init_accepted x="${'y'.repeat(70_000)}`), { code: 'limit' });
    assert.throws(() => read(`<lococa:init_accepted>${'<mime>a/b</mime>'.repeat(10_001)}`), {
      code: 'peer.protocol',
    });
  });
});

describe('what a CP says', () => {
  it('is understood by our own UNS, whatever the password and the prefix hold', () => {
    const url = '<url curl="a" mimetype="text/html"/>\n';
    const said = initMessage('7', 'p"&<w') + setStart('full', 'http://h/?a&b"') + url + SET_END;
    const events = new CpReader({ ...LIMITS, maxHelloBytes: 131_072 }, 'cp').read(Buffer.from(said));
    assert.deepEqual(events, [
      { kind: 'init', id: '7', password: 'p"&<w' },
      { kind: 'set', set: 'full', urlprefix: 'http://h/?a&b"' },
      { kind: 'urls', urls: [{ record: { curl: 'a', mimetype: 'text/html' }, raw: url.trim() }] },
      { kind: 'setEnd' },
    ]);
    assert.ok(!setStart('partial', '').includes('urlprefix'));
  });
});
