/** What a front end reads of both sides, however the bytes are cut. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { UnsAnswer } from '../../src/fe/uns-answer.js';
import { CpWords } from '../../src/fe/words.js';
import { UnsReader, type UnsEvent } from '../../src/wire/cp-uns/client.js';
import {
  CpReader,
  initAccepted,
  initRejected,
  SET_RESULT_START,
  setAccepted,
  setRejected,
  urlError,
} from '../../src/wire/cp-uns/server.js';
import { init, set } from '../support/uns.js';
import { ROOT } from '../support/tree.js';
import { STATUS } from '../wire/cp-uns/status.js';

const XML = {
  maxTokenBytes: 65_536,
  maxDepth: 8,
  maxAttributes: 32,
  maxNameBytes: 256,
  maxHelloBytes: 65_536,
};
const golden = (name: string) => readFileSync(join(ROOT, `test/golden/${name}.xml`));

const DOCUMENTS: Record<string, Buffer> = {
  'a set': Buffer.from(init(7, 'x') + set('partial', 'a', 'b')),
  'a set by hand': golden('cp-init-set'),
  'another coding': golden('cp-latin1-crlf'),
  'one document': golden('cp-one-shot'),
  'an empty set': Buffer.from(
    `${init(7, 'x')}<p:set xmlns:p="http://www.lococa.org/1.0" set="partial" urlprefix="/>"/>`,
  ),
  'an end with white space': Buffer.from(`${init(7, 'x')}<set set="full"><url curl="a"></url ></set \n>`),
};

describe('what a CP says', () => {
  for (const [name, document] of Object.entries(DOCUMENTS))
    it(`is known to have ended wherever it may have, and not before its last tag: ${name}`, () => {
      const last = document.toString('latin1').search(/<\/?[\w:]*set\b[^<]*(?:<\/lococa:notify>\s*)?$/);
      assert.ok(last > 0);
      for (let cut = 0; cut <= document.length; cut++) {
        const words = new CpWords(XML);
        const reader = new CpReader(XML, 'CP');
        let isWhole = false;
        for (const [n, piece] of [document.subarray(0, cut), document.subarray(cut)].entries()) {
          words.hear(piece);
          isWhole ||= reader.read(piece).some(({ kind }) => kind === 'setEnd');
          assert.ok(words.mayHaveEnded || !isWhole, `cut at ${cut}`);
          if (n === 0 && cut <= last) assert.equal(words.mayHaveEnded, false);
        }
        assert.ok(words.mayHaveEnded);
        assert.notEqual(words.id, undefined);
      }
    });

  it('is whose it says, or nobody’s once it can say nothing any more', () => {
    const idOf = (text: string) => {
      const words = new CpWords(XML);
      for (const byte of Buffer.from(text)) words.hear(Buffer.of(byte));
      return words.id;
    };
    assert.equal(idOf(init('name', 'x')), 'name');
    assert.equal(idOf(init(7, 'x').slice(0, -20)), undefined);
    assert.equal(idOf('<lococa:set>'), '');
    assert.equal(idOf('GET / HTTP/1.1\r\n'), '');
  });
});

const ERROR = urlError({ curl: 'a\nb', mimetype: 'text/html' }, 304, 'outside\n of "all" roots > x');
const shown = [{ code: 404, text: 'Not\nFound', attrs: ' curl="e" mimetype="text/html"' }];
const ANSWERS: Record<string, string> = {
  accepted: initAccepted({ ...STATUS, shown }) + SET_RESULT_START + setAccepted(2),
  'accepted with errors': initAccepted(STATUS) + SET_RESULT_START + ERROR + ERROR + setAccepted(0),
  'refused after errors': initAccepted(STATUS) + SET_RESULT_START + ERROR + setRejected(204, 'cut\n', true),
  'refused at once': initAccepted(STATUS) + setRejected(201, 'none', false),
  'not let in': initRejected(104, 'text inside <init>: "a\nb"'),
  'a probe after the end': `${initAccepted(STATUS)}${SET_RESULT_START}${setAccepted(2)}\n`,
};

describe('what a UNS answers', () => {
  for (const [name, answer] of Object.entries(ANSWERS)) {
    const bytes = Buffer.from(answer);

    it(`is passed on whole, however it is cut: ${name}`, () => {
      for (const size of [1, 2, 7, 64, bytes.length]) {
        const gate = new UnsAnswer();
        const passed: Buffer[] = [];
        for (let i = 0; i < bytes.length; i += size) passed.push(gate.pass(bytes.subarray(i, i + size)));
        assert.equal(Buffer.concat(passed).toString(), answer);
        assert.ok(gate.isOver);
        assert.equal(gate.lastWord(102, 'x'), undefined);
      }
    });

    it(`can be ended in good order after each of its bytes: ${name}`, () => {
      for (let cut = 0; cut < bytes.length; cut++) {
        const gate = new UnsAnswer();
        const passed = gate.pass(bytes.subarray(0, cut)).toString();
        const word = gate.lastWord(102, 'later');
        if (word === undefined) {
          assert.ok(gate.isOver);
          continue;
        }
        const events: UnsEvent[] = [];
        new UnsReader(event => events.push(event), XML, 'uns').write(Buffer.from(passed + word));
        const last = events.at(-1);
        assert.deepEqual(
          [last?.kind, last?.kind === 'rejected' && last.code],
          ['rejected', 102],
          `cut at ${cut}`,
        );
      }
    });
  }

  it('is not kept back where one word is too long to be held', () => {
    const gate = new UnsAnswer();
    const passed = gate.pass(Buffer.from(`<lococa:init_accepted>\n${'x'.repeat(2 << 20)}`));
    assert.ok(passed.length > 2 << 20);
    assert.equal(gate.lastWord(102, 'x'), undefined);
  });
});
