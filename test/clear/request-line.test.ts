import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LINE_FORMATS, requestOf, type RequestDefaults } from '../../src/clear/intake/request-line.js';

const DEFAULTS: RequestDefaults = {
  target: 'www',
  type: undefined,
  force: false,
  source: '',
  utf8: false,
  hasTarget: () => true,
  rules: undefined,
};

test('a site that is named without a slash is its first page, as an argument and in each format of lines', () => {
  const idOf = (found: ReturnType<typeof requestOf>) =>
    'request' in found ? found.request.contentId : 'problem' in found ? found.problem : found.nothing;
  for (const [url, id] of [
    ['http://www.example.org', '/'],
    ['HTTPS://www.example.org:8443', '/'],
    ['http://www.example.org/', '/'],
    ['http://www.example.org/a', '/a'],
  ] as const) {
    assert.equal(idOf(requestOf(url, DEFAULTS)), id, url);
    assert.equal(idOf(LINE_FORMATS['urls']?.(url, DEFAULTS) ?? assert.fail()), id, url);
    assert.equal(idOf(LINE_FORMATS['tsv']?.(url, DEFAULTS) ?? assert.fail()), id, url);
    assert.equal(
      idOf(LINE_FORMATS['jsonl']?.(JSON.stringify({ id: url }), DEFAULTS) ?? assert.fail()),
      id,
      url,
    );
  }
  for (const url of ['http://www.example.org?x', 'http://www.example.org#x'])
    assert.match(idOf(requestOf(url, DEFAULTS)), /character that the path of a page does not have/);
  for (const text of ['http://', 'http:///a', 'www.example.org'])
    assert.match(idOf(requestOf(text, DEFAULTS)), /no path of a page/, text);
});
