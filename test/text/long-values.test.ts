/** Values of attributes that are longer than the limit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageLinks } from '../../src/text/page-links.js';

function read(page: string, maxValueLength: number) {
  const options = {
    isXml: false,
    assets: true,
    robotName: 'bot',
    maxLinks: 100,
    timeoutMs: 60_000,
    nowMs: () => 0,
  };
  const { links, long } = pageLinks(page, { ...options, maxValueLength });
  return [links.map(link => link.href), long];
}

test('the beginning of a srcset or a style that is longer counts, but for a url that is cut', () => {
  const tail = 'z'.repeat(40);
  const of = (page: string) => read(page, 30);
  assert.deepEqual(of(`<img srcset="a&amp;b 1x, b.png 2x, c${tail} 3x">`), [['a&b', 'b.png'], 1]);
  assert.deepEqual(of(`<p style="background:url(a.png) url(b${tail})">`), [['a.png'], 1]);
  assert.deepEqual(of(`<p style="background:url(a.png) url('b${tail}')">`), [['a.png'], 1]);
  assert.deepEqual(of(`<p style="background:url(a.png);color:red;${tail}">`), [['a.png'], 1]);
});

test('a picture that stands in the page is no link that is too long', () => {
  const data = `data:image/png;base64,${'A'.repeat(100)}`;
  const page = `<img src="${data}"><img src=" DATA:image/png,${'A'.repeat(100)}"><img src=a srcset="b, ${data} 2x">
    <p style="background:url(${data})"><p style="background:url(&quot;c&quot;) url('${data}')">`;
  assert.deepEqual(read(page, 60), [['a', 'b', 'c'], 0]);
});
