import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plain } from '../support/mdoc.js';
import { readProjectFile } from '../support/tree.js';
import {
  httpByte,
  httpText,
  readReasonByte,
  reasonByte,
  SPIDER_REASONS,
  type SpiderReason,
} from '../../src/wire/spider-codes.js';

test('every status has the byte that the formula gives it, and the byte its status or its hundred', () => {
  const known: [number, number][] = [
    [100, 1],
    [103, 4],
    [104, 9],
    [200, 20],
    [203, 23],
    [208, 28],
    [209, 19],
    [226, 29],
    [299, 19],
    [300, 30],
    [301, 31],
    [302, 32],
    [308, 38],
    [309, 39],
    [400, 40],
    [404, 44],
    [451, 91],
    [452, 92],
    [500, 100],
    [503, 103],
    [511, 111],
    [512, 119],
    [999, 254],
    [99, 254],
  ];
  for (const [status, byte] of known) assert.equal(httpByte(status), byte, String(status));
  assert.equal(httpByte(undefined), 0);
  assert.equal(httpByte('HTTP/0.9'), 253);
  for (let status = 0; status < 1000; status++) {
    const text = httpText(httpByte(status));
    const isOwn = text === String(status);
    assert.ok(isOwn || text === 'other' || text === `${Math.floor(status / 100)}xx`, `${status}: ${text}`);
    assert.equal(text === 'other', status < 100 || status >= 600, String(status));
  }
});

test('no byte stands for two statuses, and what stands for none is shown as it is', () => {
  const texts = Array.from({ length: 256 }, (_, byte) => httpText(byte));
  assert.equal(new Set(texts).size, 256);
  assert.deepEqual([0, 9, 77, 112, 253, 254, 255].map(httpText), [
    '-',
    '1xx',
    '437',
    '#112',
    '0.9',
    'other',
    '#255',
  ]);
});

test('reason bytes are read as they are written, and a reserved number is not read', () => {
  const numbers = new Set<number>();
  for (const [name, [number]] of Object.entries(SPIDER_REASONS)) {
    numbers.add(number);
    for (const redirected of [false, true])
      for (const cut of [false, true]) {
        const end = { reason: name as SpiderReason, redirected, cut };
        assert.equal(reasonByte(end), number + (redirected ? 128 : 0) + (cut ? 64 : 0));
        assert.deepEqual(readReasonByte(reasonByte(end)), end);
      }
  }
  assert.equal(numbers.size, Object.keys(SPIDER_REASONS).length);
  for (let byte = 0; byte < 256; byte++)
    assert.equal(readReasonByte(byte) !== undefined, numbers.has(byte % 64), String(byte));
});

test('lcc-spider(5) has every reason with its number and meaning, and no other', () => {
  const listed = [...readProjectFile('man/lcc-spider.5').matchAll(/^\.It Er (\d+) No (.*)$/gm)].map(
    m => `${m[1]} ${plain(m[2] ?? '')}`,
  );
  assert.deepEqual(
    listed,
    Object.entries(SPIDER_REASONS).map(([name, [number, says]]) => `${number} ${name} : ${says}`),
  );
});
