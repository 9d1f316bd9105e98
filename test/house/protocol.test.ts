import assert from 'node:assert/strict';
import { test } from 'node:test';
import { XmlReader } from '../../src/lib/xml/reader.js';
import type { Attributes } from '../../src/lib/xml/types.js';
import {
  CpReader,
  initAccepted,
  SET_RESULT_START,
  setAccepted,
  urlError,
} from '../../src/wire/cp-uns/server.js';
import {
  formatFetch,
  formatFetched,
  formatParts,
  formatRecall,
  readRobotFetch,
  readRobotFetched,
} from '../../src/wire/fetch-messages.js';
import { readProjectFile } from '../support/tree.js';
import { STATUS } from '../wire/cp-uns/status.js';

const LIMITS = { maxTokenBytes: 65536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 };
const page = readProjectFile('man/lcc-protocol.5');

/** What one side says in the page's transcripts, one string a line, without its label. */
const said = (label: string) =>
  [...page.matchAll(new RegExp(`^${label}: ?(.*)$`, 'gm'))].map(found =>
    (found[1] ?? '').replace(/^ +(?=<[fr])/, ''),
  );

function eventsOf(text: string) {
  const reader = new CpReader({ ...LIMITS, maxHelloBytes: 131_072 }, 'page');
  return [...reader.read(Buffer.from(text)), ...reader.end()];
}

test('the client’s part of the worked session is what a UNS understands', () => {
  const events = eventsOf(said('C').join('\n'));
  assert.deepEqual(
    events.map(event => event.kind),
    ['init', 'set', 'urls', 'setEnd'],
  );
  assert.deepEqual(events[0], { kind: 'init', id: '7', password: 'pw' });
  assert.deepEqual(events[1], { kind: 'set', set: 'partial', urlprefix: 'http://www.example.org/' });
});

test('the server’s part of the worked session is what a UNS writes', () => {
  const accepted = initAccepted({
    ...STATUS,
    fullset: { allowed: 3, wanted: undefined },
    errors: 1,
    shown: [{ code: 404, text: 'Not Found', attrs: ' curl="old.html" mimetype="text/html"' }],
  });
  const result =
    SET_RESULT_START +
    urlError({ curl: 'c.png', mimetype: 'image/png' }, 303, 'mimetype not accepted here') +
    setAccepted(2);
  assert.equal(`${said('S').join('\n')}\n`, accepted + result);
});

test('the one-shot dialect of the page is what a UNS understands', () => {
  const [notify = ''] = /<lococa:notify>[\s\S]*?<\/lococa:notify>/.exec(page) ?? [];
  assert.deepEqual(
    eventsOf(notify).map(event => event.kind),
    ['init', 'set', 'urls', 'setEnd'],
  );
});

test('the robot’s conversation of the page is what is spoken', () => {
  const element = (line: string) => {
    let attributes: Attributes = {};
    let text = '';
    const reader = new XmlReader(
      { open: (_name, found) => (attributes = found), close: () => undefined, text: more => (text += more) },
      LIMITS,
      { where: 'page' },
    );
    reader.write(Buffer.from(line));
    reader.end();
    return { attributes, text };
  };
  const requests = said('BM');
  assert.deepEqual(requests.splice(-1), [formatRecall('7').trim()]);
  assert.equal(requests.length, 6);
  for (const line of requests) {
    const request = readRobotFetch(element(line).attributes);
    assert.equal(
      formatFetch(request.id, request, request.file === '' ? undefined : request.file),
      `${line}\n`,
    );
  }
  const [hello, ...results] = said('BOT');
  assert.equal(hello, '<lococa:bot slots="64" unasked="yes"/>');
  assert.equal(results.length, 7);
  let part: string | undefined;
  for (const line of results) {
    const { attributes, text } = element(line);
    if (line.startsWith('<part')) {
      part = text;
      continue;
    }
    const content = part === undefined ? undefined : Buffer.from(part, 'base64');
    const wanted = content === undefined ? [] : [part];
    part = undefined;
    const result = readRobotFetched(attributes, text, content);
    const parts = result.status === 'inline' ? formatParts(result, 1000) : [];
    assert.equal(formatFetched(result), `${line}\n`);
    assert.deepEqual(
      parts.map(each => element(each).text),
      wanted,
    );
  }
});
