import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { archivePath } from '../../../src/cu/archive/path.js';

const html = (url: string) => archivePath(url, 'text/html');

describe('archivePath', () => {
  for (const [url, path] of [
    ['http://h/docs/a.html', 'h/docs/a.html'],
    ['https://h/docs/a.html', 'h/docs/a.html'],
    ['HTTP://H:80/A.html', 'h/A.html'],
    ['http://h', 'h/index.html'],
    ['http://h/', 'h/index.html'],
    ['http://h/docs/', 'h/docs/index.html'],
    ['http://h/docs/index.html', 'h/docs/index.html~.html'],
    ['http://h/docs', 'h/docs~.html'],
    ['http://h/v1.2', 'h/v1.2~.html'],
    ['http://h/.htaccess', 'h/.htaccess~.html'],
    ['http://h/a.html/b.html', 'h/a.html~/b.html'],
    ['http://h/a.html~/b.html', 'h/a.html~~/b.html'],
    ['http://h/p.php?id=1&b', 'h/p.php?id=1&b~.html'],
    ['http://h/?id=1', 'h/?id=1~.html'],
    ['http://h:8080/a.html', 'h+8080/a.html'],
    ['ftp://h/a.html', 'ftp~h/a.html'],
    ['http://[::1]:81/a.html', '[::1]+81/a.html'],
    ['http://bücher.example/%C3%A9/é.html', 'bücher.example/%C3%A9/é.html'],
  ] as const)
    it(`puts ${url} at ${path}`, () => assert.equal(html(url), path));

  it('shows by the extension what is in a file that has none', () => {
    assert.equal(archivePath('http://h/a', 'application/pdf'), 'h/a~.pdf');
    assert.equal(archivePath('http://h/a', 'x-y/z'), 'h/a~.bin');
  });

  for (const [what, url, path] of [
    [
      '`..`',
      'http://h/../../etc/passwd.txt',
      /^h\/%2E%2E~[0-9a-f]{16}\/%2E%2E~[0-9a-f]{16}\/etc\/passwd\.txt$/,
    ],
    ['`..` at the end', 'http://h/a/..', /^h\/a\/\.\.~\.html$/],
    ['an empty name', 'http://h//etc/passwd.txt', /^h\/~[0-9a-f]{16}\/etc\/passwd\.txt$/],
    ['control characters', 'http://h/a\n\0\x7fb.html', /^h\/a%0A%00%7Fb\.html~[0-9a-f]{16}\.html$/],
    ['a backslash', 'http://h/a\\b.html', /^h\/a%5Cb\.html~/],
    ['a path in the query', 'http://h/p?u=/../x', /^h\/p\?u=%2F\.\.%2Fx~\.html~[0-9a-f]{16}\.html$/],
    ['a host of dots', 'http://../etc/passwd', /^~other\/[0-9a-f]{32}\.html$/],
    ['no host', 'file:///etc/passwd', /^~other\//],
    ['no URL', '/etc/passwd', /^~other\//],
    ['a user', 'http://me:secret@h/', /^~other\//],
    ['a name over 255 bytes', `http://h/${'é'.repeat(200)}.html`, /^h\/é{116}~[0-9a-f]{16}\.html$/],
    ['a path over 4000 bytes', `http://h/${'abcdefghi/'.repeat(401)}`, /^~other\//],
  ] as const)
    it(`makes ${what} harmless`, () => assert.match(html(url), path));

  it('never leaves the directory, and never has a name no file system takes', () => {
    const text = fc.string({
      unit: fc.constantFrom('.', '/', '\\', '~', '\0', '\n', '?', '#', '%', 'é', 'a', 'html', 'index'),
    });
    fc.assert(
      fc.property(fc.constantFrom('http://h/', 'http://', '', '/', 'x:'), text, (start, rest) => {
        for (const name of html(start + rest).split('/')) {
          assert.ok(!['', '.', '..'].includes(name));
          // oxlint-disable-next-line no-control-regex
          assert.doesNotMatch(name, /[\0-\x1f\\]/);
          assert.ok(Buffer.byteLength(name) <= 255);
        }
      }),
    );
  });

  it('gives two URLs of a site two paths, none of which is a directory of the other', () => {
    const name = fc.constantFrom(
      'a',
      'b.html',
      'index.html',
      'index',
      '~.html',
      'a~.html',
      'a~',
      'b.html~',
      '',
      '.',
      '..',
      'v1.2',
    );
    const url = fc
      .tuple(fc.array(name, { minLength: 1, maxLength: 4 }), fc.constantFrom('', '?', '?x', '?x/a', '#b'))
      .map(([names, query]) => `http://h/${names.join('/')}${query}`);
    fc.assert(
      fc.property(url, url, (one, two) => {
        if (one === two) return;
        const [first, second] = [html(one), html(two)];
        assert.notEqual(first, second, `${one} ${two}`);
        assert.ok(!`${first}/`.startsWith(`${second}/`), `${one} ${two}`);
      }),
      { numRuns: 20_000 },
    );
  });
});
