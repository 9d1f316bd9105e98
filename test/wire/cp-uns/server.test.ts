import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CpReader,
  initAccepted,
  initRejected,
  setAccepted,
  setRejected,
  SET_RESULT_START,
  urlError,
  type CpEvent,
} from '../../../src/wire/cp-uns/server.js';
import { NAMESPACE } from '../../../src/wire/xml-prefix.js';
import { readProjectFile } from '../../support/tree.js';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/tree.js';
import { STATUS } from './status.js';

const LIMITS = {
  maxTokenBytes: 65_536,
  maxDepth: 8,
  maxAttributes: 32,
  maxNameBytes: 256,
  maxHelloBytes: 128 * 1024,
};

/** All events of a document fed in pieces; urls of neighbouring events put together. */
function read(document: Buffer | string, pieceBytes = Infinity): CpEvent[] {
  const bytes = Buffer.from(document);
  const reader = new CpReader(LIMITS, 'peer');
  const events: CpEvent[] = [];
  const add = (event: CpEvent) => {
    const last = events.at(-1);
    if (event.kind === 'urls' && last?.kind === 'urls') last.urls.push(...event.urls);
    else events.push(event);
  };
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    for (const event of reader.read(bytes.subarray(at, Math.min(bytes.length, at + pieceBytes)))) add(event);
  }
  for (const event of reader.end()) add(event);
  return events;
}

const kinds = (events: CpEvent[]) => events.map(({ kind }) => kind);
const golden = (name: string) => readFileSync(join(ROOT, 'test/golden', `${name}.xml`));
const problem = (document: string) => {
  const last = read(document).at(-1);
  return last?.kind === 'problem' ? [last.code, last.text] : undefined;
};

describe('what a CP says', () => {
  for (const name of ['cp-init-set', 'cp-one-shot', 'cp-latin1-crlf']) {
    it(`is the same whole and byte by byte: ${name}`, () => {
      const events = read(golden(name));
      assert.deepEqual(kinds(events), ['init', 'set', 'urls', 'setEnd']);
      assert.deepEqual(read(golden(name), 1), events);
      assert.deepEqual(read(golden(name), 7), events);
    });
  }

  it('is read with all its spellings', () => {
    const [init, set, urls] = read(golden('cp-init-set'));
    assert.deepEqual(init, { kind: 'init', id: '7', password: 'k&y!' });
    assert.deepEqual(set, { kind: 'set', set: 'full', urlprefix: 'http://www.example.org/' });
    assert.ok(urls?.kind === 'urls');
    assert.deepEqual(
      urls.urls.map(({ record }) => record.curl),
      ['guide/index.html', 'guide/a&b.html', 'guide/übersicht.html', "guide/it's.html", 'guide/last.html'],
    );
  });

  it('keeps the tags of urls as they came, but always empty', () => {
    const [, , urls] = read(golden('cp-init-set'));
    assert.ok(urls?.kind === 'urls');
    assert.equal(
      urls.urls[1]?.raw,
      '<url curl="guide/a&amp;b.html" mimetype="text/html" len="17" mtime="1795169581"/>',
    );
    assert.equal(urls.urls[4]?.raw, '<url mimetype="text/html" curl="guide/last.html" op="delete"/>');
  });

  it('is understood in ISO-8859-1 and with the short names of the older protocol', () => {
    const [init, , urls] = read(golden('cp-latin1-crlf'));
    assert.deepEqual(init, { kind: 'init', id: '9', password: 'grün' });
    assert.ok(urls?.kind === 'urls');
    assert.equal(urls.urls[0]?.record.curl, 'café.html');
    assert.equal(urls.urls[0]?.raw, '<url c="café.html" mimetype="text/html"/>');
  });

  for (const [what, document] of [
    [
      'each container its own',
      `<x:init xmlns:x="${NAMESPACE}"><x:provider id="7" passwd="p"/></x:init>
       <y:set xmlns:y="${NAMESPACE}" set="full"><y:url curl="a"/><z:url xmlns:z="${NAMESPACE}" curl="b"></z:url></y:set>`,
    ],
    [
      'one for the whole document',
      `<l:notify xmlns:l='${NAMESPACE}'><l:init><l:provider id="7" passwd="p"/></l:init>
       <l:set set="full"><l:url curl="a"/><url curl="b"/></l:set></l:notify>`,
    ],
    [
      'none, the namespace being the default one',
      `<notify xmlns="${NAMESPACE}"><init><provider id="7" passwd="p"/></init>
       <set set="full"><url curl="a"/><url curl="b"/></set></notify>`,
    ],
  ] as const)
    it(`is understood with a prefix of its own: ${what}`, () => {
      const [first, second, third, last] = read(document);
      assert.deepEqual(first, { kind: 'init', id: '7', password: 'p' });
      assert.deepEqual(second, { kind: 'set', set: 'full', urlprefix: '' });
      assert.ok(third?.kind === 'urls');
      assert.deepEqual(
        third.urls.map(({ record }) => record.curl),
        ['a', 'b'],
      );
      // As a Queue Manager reads it, which has not seen the declaration.
      for (const { raw } of third.urls) assert.match(raw, /^<url [^>]*\/>$/);
      assert.equal(last?.kind, 'setEnd');
    });

  it('is refused with another namespace, and outside the element that declares the prefix', () => {
    const init = `<x:init xmlns:x="${NAMESPACE}"><provider id="1"/></x:init>`;
    for (const document of [
      '<x:init xmlns:x="http://www.example.org/"><provider id="1"/></x:init>',
      '<x:init><provider id="1"/></x:init>',
      `${init}<x:set set="full"/>`,
      `${init}<set set="full" xmlns:y="http://www.example.org/"><y:url curl="a"/></set>`,
    ]) {
      const [code, text] = problem(document) ?? [];
      assert.equal(code, 104, document);
      assert.match(String(text), /declare the prefix with xmlns:[xy]="http:\/\/www\.lococa\.org\/1\.0"/);
    }
  });

  it('reads set="complete" as full', () => {
    const [, set] = read('<init><provider id="1"/></init><set set="complete"></set>');
    assert.deepEqual(set, { kind: 'set', set: 'full', urlprefix: '' });
  });

  it('ends with the set; nothing after it is looked at', () => {
    const document = '<init><provider id="1"/></init><set set="full"/>';
    assert.deepEqual(kinds(read(document)), ['init', 'set', 'setEnd']);
    assert.deepEqual(kinds(read(`${document}<<<`)), ['init', 'set', 'setEnd']);
  });

  it('is complete in the one-shot form only with the end of the document', () => {
    const document = '<notify><init><provider id="1"/></init><set set="full"></set>';
    assert.deepEqual(kinds(read(document)), ['init', 'set', 'problem']);
    assert.deepEqual(kinds(read(`${document}</notify>`)), ['init', 'set', 'setEnd']);
  });

  it('never ends by itself when it is cut, wherever', () => {
    const bytes = golden('cp-one-shot');
    const whole = bytes.toString().trimEnd().length;
    for (let length = 0; length < whole; length++) {
      assert.ok(!kinds(read(bytes.subarray(0, length))).includes('setEnd'), `cut at ${length}`);
    }
  });

  it('is refused with line and column when it is malformed', () => {
    const [code, text] = problem('<init>\n  <provider id="1" id="2"/></init>') ?? [];
    assert.equal(code, 103);
    assert.match(String(text), /^line 2, column \d+: /);
  });

  it('is refused as a whole when ampersands were not escaped', () => {
    const [code, text] =
      problem(
        '<notify><init><provider id="1"/></init>\n<set set="partial"><url curl="/x?a=1&b=2" mimetype="text/html"/></set></notify>',
      ) ?? [];
    assert.equal(code, 103);
    assert.match(String(text), /^line 2, column 3\d: /);
  });

  it('delivers what came in front of the error', () => {
    const events = read('<init><provider id="1"/></init><set set="full"><url curl="a"/><url curl=<');
    assert.deepEqual(kinds(events), ['init', 'set', 'urls', 'problem']);
  });

  for (const [where, head] of [
    ['in front of its init', ''],
    ['inside its init', '<init>'],
    ['inside a document of 2002', '<lococa:notify>'],
    ['between its init and its set', '<init><provider id="1"/></init>'],
  ] as const)
    it(`is refused with 106 when it has nothing but comments and white space ${where}, after 128 KB`, () => {
      const reader = new CpReader(LIMITS, 'peer');
      const noise = Buffer.from('<!-- x --> \n'.repeat(100));
      let events = reader.read(Buffer.from(head));
      let bytes = head.length;
      for (; events.at(-1)?.kind !== 'problem'; bytes += noise.length) {
        assert.ok(bytes < 256 * 1024, 'nothing refused it');
        events = reader.read(noise);
      }
      const problem = events.at(-1);
      assert.ok(problem?.kind === 'problem' && problem.code === 106);
      assert.match(problem.text, /no message in 128 KB \(wire\.max_hello_bytes\)/);
      assert.ok(bytes >= 128 * 1024 && bytes <= 132 * 1024, String(bytes));
    });

  it('may have as many comments among its urls as a set may be long', () => {
    const comments = '<!-- <url curl="old"/> -->\n'.repeat(10_000);
    const set = `<set set="partial">${comments}<url curl="a"/>${comments}</set>`;
    assert.deepEqual(kinds(read(`<init><provider id="1"/></init>${set}`, 4096)), [
      'init',
      'set',
      'urls',
      'setEnd',
    ]);
  });

  it('is refused when it comes in the wrong order or place', () => {
    const init = '<init><provider id="1"/></init>';
    for (const document of [
      '<set set="full"/>',
      '<init/>',
      '<hello/>',
      `${init}${init}`,
      `${init}<set/>`,
      `${init}<set set="some"/>`,
      `${init}<set set="partial" origin="links"/>`,
      `${init}<set set="full"><url curl="a"><url curl="b"/></url></set>`,
      `${init}<set set="full"><provider id="1"/></set>`,
      `${init}<set set="full">http://a/</set>`,
      '<init><provider id="1"/><provider id="2"/></init>',
      `<notify>${init}</notify>`,
      `<notify><set set="full"/></notify>`,
      `${init}<notify/>`,
    ]) {
      assert.equal(problem(document)?.[0], 104, document);
    }
  });

  it('is refused with 106 when a limit is exceeded, naming its key', () => {
    const [code, text] = problem(`<init><provider id="${'x'.repeat(70_000)}"/></init>`) ?? [];
    assert.equal(code, 106);
    assert.match(String(text), /xml\.token_bytes/);
  });
});

describe('what the UNS answers', () => {
  it('is the reply of the protocol, escaped where it must be', () => {
    const reply = initAccepted({
      ...STATUS,
      shown: [
        { code: 404, text: 'Not Found', attrs: ' curl="a.html" mimetype="text/html" len="7"' },
        {
          code: 601,
          text: 'name not resolved: h <x> ]] & 日本 😀',
          attrs: ' curl="b.html" mimetype="text/html"',
        },
      ],
    });
    // The golden file is the conversation as the CP's side is tested with; it differs in white space only.
    const expected =
      readProjectFile('test/golden/uns-init-accepted.xml').split('<lococa:set_result>')[0] ?? '';
    const bare = (text: string) => text.replace(/>\s+</g, '><').trim();
    assert.equal(bare(reply), bare(expected.replace('&#128512;', '😀').replace(']] &amp;', ']] &amp;')));
  });

  it('refuses and accepts as the protocol says', () => {
    assert.equal(
      initRejected(101, 'a < b'),
      '<lococa:init_rejected><reason code="101">a &lt; b</reason></lococa:init_rejected>\n',
    );
    assert.equal(
      SET_RESULT_START + urlError({ curl: 'a"b', mimetype: '' }, 302, 'no <mimetype>') + setAccepted(3),
      '<lococa:set_result>\n<errors>\n<url curl="a&quot;b" code="302">no &lt;mimetype&gt;</url>\n</errors>\n' +
        '<set_accepted received="3"/>\n</lococa:set_result>\n',
    );
    assert.equal(
      setRejected(201, 'none left', false),
      '<lococa:set_result>\n<set_rejected code="201">none left</set_rejected>\n</lococa:set_result>\n',
    );
    assert.equal(
      SET_RESULT_START + setRejected(106, 'x', true),
      '<lococa:set_result>\n<errors>\n</errors>\n<set_rejected code="106">x</set_rejected>\n</lococa:set_result>\n',
    );
  });
});
