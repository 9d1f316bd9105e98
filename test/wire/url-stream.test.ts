import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LccError } from '../../src/lib/errors.js';
import { PARTIAL_END, STREAM_END, streamHead, UrlStreamReader } from '../../src/wire/url-stream.js';
import { formatUrl, type UrlRecord } from '../../src/wire/url.js';
import { cut, goldenFiles, LIMITS } from '../lib/xml/events.js';

interface Seen {
  urls: UrlRecord[];
  raws: string[];
  heads: Record<string, string>[];
  inits: Record<string, string>[];
  sets: Record<string, string>[];
  sawEnd: boolean;
  endsPartial: boolean;
}

function read(chunks: Iterable<Uint8Array>): Seen {
  const seen: Seen = {
    urls: [],
    raws: [],
    heads: [],
    inits: [],
    sets: [],
    sawEnd: false,
    endsPartial: false,
  };
  const reader = new UrlStreamReader(
    {
      url: (record, raw) => {
        seen.urls.push(record);
        seen.raws.push(raw);
      },
      head: attributes => void seen.heads.push(attributes),
      init: attributes => void seen.inits.push(attributes),
      set: attributes => void seen.sets.push(attributes),
    },
    LIMITS,
    { where: 'stdin' },
  );
  for (const chunk of chunks) reader.write(chunk);
  reader.end();
  seen.sawEnd = reader.sawEnd;
  seen.endsPartial = reader.endsPartial;
  return seen;
}

function readText(text: string): Seen {
  const bytes = Buffer.from(text);
  const whole = read([bytes]);
  assert.deepEqual(read(cut(bytes, [1])), whole);
  return whole;
}

const URL_A = '<url curl="a" mimetype="text/html"/>';
const A = { curl: 'a', mimetype: 'text/html' };

test('an end may say that the stream names a part of the site only', () => {
  for (const end of [PARTIAL_END, "<?lcc end  set='partial' since='x' ?>"]) {
    const seen = readText(`<?lcc?>${URL_A}${end}`);
    assert.deepEqual([seen.urls, seen.heads, seen.sawEnd, seen.endsPartial], [[A], [{}], true, true]);
  }
  for (const end of [STREAM_END, '<?lcc end set="full"?>', '<?lcc end more="x"?>']) {
    const seen = readText(`<?lcc?>${URL_A}${end}`);
    assert.deepEqual([seen.sawEnd, seen.endsPartial], [true, false]);
  }
  assert.throws(() => readText(`<?lcc?><?lcc end set="?>`), { code: 'data.malformed' });
  assert.deepEqual(readText('<?lcc ending="1"?><?lcc end?>').heads, [{ ending: '1' }]);
});

test('reads back what a filter writes', () => {
  const record: UrlRecord = { curl: 'a&b"<', mimetype: 'text/html', len: '3', extra: { x: 'y' } };
  const failed: UrlRecord = { curl: 'c', mimetype: 'text/html', code: '404', text: 'Not <Found>' };
  const head = { state: 'a "b" & <c>?>\n', urls: 12, nothing: undefined };
  const seen = readText(streamHead(head) + formatUrl(record) + formatUrl(failed) + STREAM_END);
  assert.deepEqual(seen.heads, [{ state: 'a "b" & <c>?>\n', urls: '12' }]);
  assert.deepEqual(seen.urls, [record, failed]);
  assert.deepEqual(
    seen.raws.map(raw => `${raw}\n`),
    [formatUrl(record), formatUrl(failed)],
  );
  assert.equal(seen.sawEnd, true);
});

test('takes streams without head as they are', () => {
  assert.deepEqual(readText('').urls, []);
  assert.deepEqual(readText(URL_A + URL_A).urls, [A, A]);
  assert.equal(readText(URL_A).sawEnd, false);
});

test('takes one root around the urls, whatever its name', () => {
  assert.deepEqual(readText(`<?xml version="1.0"?><x:y a="b">\n${URL_A}\n</x:y>`).urls, [A]);
  const { urls, sets } = readText(`<lococa:set set="full" urlprefix="http://h/">${URL_A}</lococa:set>`);
  assert.deepEqual(urls, [A]);
  assert.deepEqual(sets, [{ set: 'full', urlprefix: 'http://h/' }]);
});

test('a filter stream may stand inside a root', () => {
  const { heads, urls, sawEnd } = readText(`<r><?lcc a="1"?>${URL_A}<?lcc end?></r>`);
  assert.deepEqual([heads, urls, sawEnd], [[{ a: '1' }], [A], true]);
});

test('reads the one-shot dialect', () => {
  const [, bytes] = goldenFiles().find(([name]) => name === 'cp-one-shot.xml') ?? [];
  assert.ok(bytes !== undefined);
  const { inits, sets, urls } = read([bytes]);
  assert.deepEqual(inits, [{ id: 'name', password: 'secret' }]);
  assert.deepEqual(sets, [{ set: 'partial' }]);
  assert.deepEqual(urls, [
    {
      curl: 'http://h/a.html',
      burl: '',
      furl: 'http://h/a.raw',
      mtime: '2002-06-03T12:00:00Z',
      len: '10',
      md5: '0123456789abcdef0123456789abcdef',
      mimetype: 'text/html',
      subtype: 'dtd:article',
    },
    { curl: 'http://h/b.html', burl: 'http://h/b', furl: '', mimetype: 'text/plain' },
  ]);
});

function failure(text: string): LccError {
  try {
    read([Buffer.from(text)]);
  } catch (error) {
    assert.ok(error instanceof LccError);
    return error;
  }
  throw new assert.AssertionError({ message: `accepted: ${text}` });
}

test('a stream cut at any byte is found out', () => {
  const text = streamHead({ state: 'f' }) + URL_A + STREAM_END.trimEnd();
  const headEnd = streamHead({ state: 'f' }).length - 1;
  assert.equal(readText(text).sawEnd, true);
  for (let length = 1; length < text.length; length++) {
    if (length < 2) continue;
    assert.equal(failure(text.slice(0, length)).code, 'data.cut', `${length} bytes, head ends at ${headEnd}`);
  }
});

test('refuses what does not belong there, with line and column', () => {
  const cases: [string, RegExp][] = [
    [`<r>\n<x/></r>`, /^stdin:2:4: <x> is not accepted here$/],
    [`<r>\n${URL_A}\n text</r>`, /text between urls$/],
    [`<url curl="a" mimetype="b/c"><b/></url>`, /<b> is not accepted here$/],
    [`<url curl="a" mimetype="b/c">${URL_A}</url>`, /<url> is not accepted here$/],
    [`<n><init>${URL_A}</init></n>`, /<url> is not accepted here$/],
    [`<?lcc a="1"?><?lcc b="2"?>`, /a second <\?lcc …\?>; were two streams joined\?$/],
    [`<?lcc?><?lcc end?>\n${URL_A}`, /^stdin:2:36: <url> after <\?lcc end\?>; were two streams joined\?$/],
    [`<?lcc?><?lcc end?><?lcc end?>`, /a second <\?lcc end\?>; were two streams joined\?$/],
    [`<?lcc end?>`, /<\?lcc end\?> without a beginning/],
    [`<?lcc a=1?>`, /^stdin:1:11: malformed <\?lcc …\?>$/],
    [`<?lcc a="1"/><x b="2"?>`, /malformed <\?lcc …\?>$/],
  ];
  for (const [text, message] of cases) {
    const error = failure(text);
    assert.equal(error.code, 'data.malformed', text);
    assert.match(error.message, message, text);
  }
});

test('other processing instructions are passed over', () => {
  assert.deepEqual(readText(`<?xml-stylesheet href="x"?>${URL_A}`).urls, [A]);
});
