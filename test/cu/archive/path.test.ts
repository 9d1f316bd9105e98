import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { archivePath, EXTENSIONS } from '../../../src/cu/archive/path.js';
import { amount } from '../../support/long.js';

const html = (url: string) => archivePath(url, 'text/html');

describe('archivePath', () => {
  for (const [url, path] of [
    ['https://h/docs/a.html', 'h/docs/a.html'],
    ['http://h/docs/a.html', 'http~h/docs/a.html'],
    ['http://h:443/docs/a.html', 'http~h+443/docs/a.html'],
    ['https://h:80/docs/a.html', 'h+80/docs/a.html'],
    ['HTTPS://H:443/A.html', 'h/A.html'],
    ['https://h', 'h/index.html'],
    ['https://h/', 'h/index.html'],
    ['https://h/docs/', 'h/docs/index.html'],
    ['https://h/docs/index.html', 'h/docs/index.html~.html'],
    ['https://h/docs', 'h/docs~.html'],
    ['https://h/v1.2', 'h/v1.2~.html'],
    ['https://h/java.base/a.html', 'h/java.base/a.html'],
    ['https://h/java.base', 'h/java.base~.html'],
    ['https://h/jquery.js/a.html', 'h/jquery.js~/a.html'],
    ['https://h/JQUERY.JS/a.html', 'h/JQUERY.JS~/a.html'],
    ['https://h/.htaccess', 'h/.htaccess~.html'],
    ['https://h/a.html/b.html', 'h/a.html~/b.html'],
    ['https://h/a.html~/b.html', 'h/a.html~~/b.html'],
    ['https://h/p.php?id=1&b', 'h/p.php?id=1&b~.html'],
    ['https://h/?id=1', 'h/?id=1~.html'],
    ['https://h:8080/a.html', 'h+8080/a.html'],
    ['ftp://h/a.html', 'ftp~h/a.html'],
    ['https://[::1]:81/a.html', '[::1]+81/a.html'],
    ['https://bücher.example/%C3%A9/é.html', 'bücher.example/%C3%A9/é.html'],
  ] as const)
    it(`puts ${url} at ${path}`, () => assert.equal(html(url), path));

  it('shows by the extension what is in a file that has none', () => {
    assert.equal(archivePath('https://h/a', 'application/pdf'), 'h/a~.pdf');
    assert.equal(archivePath('https://h/a', 'x-y/z'), 'h/a~.bin');
  });

  for (const [what, url, path] of [
    [
      '`..`',
      'https://h/../../etc/passwd.txt',
      /^h\/%2E%2E~[0-9a-f]{16}\/%2E%2E~[0-9a-f]{16}\/etc\/passwd\.txt$/,
    ],
    ['`..` at the end', 'https://h/a/..', /^h\/a\/\.\.~\.html$/],
    ['an empty name', 'https://h//etc/passwd.txt', /^h\/~[0-9a-f]{16}\/etc\/passwd\.txt$/],
    ['control characters', 'https://h/a\n\0\x7fb.html', /^h\/a%0A%00%7Fb\.html~[0-9a-f]{16}\.html$/],
    ['a backslash', 'https://h/a\\b.html', /^h\/a%5Cb\.html~/],
    ['a path in the query', 'https://h/p?u=/../x', /^h\/p\?u=%2F\.\.%2Fx~\.html~[0-9a-f]{16}\.html$/],
    ['a host of dots', 'https://../etc/passwd', /^~other\/[0-9a-f]{32}\.html$/],
    ['no host', 'file:///etc/passwd', /^~other\//],
    ['no URL', '/etc/passwd', /^~other\//],
    ['a user', 'https://me:secret@h/', /^~other\//],
    ['a name over 255 bytes', `https://h/${'é'.repeat(200)}.html`, /^h\/é{116}~[0-9a-f]{16}\.html$/],
    ['a path over 4000 bytes', `https://h/${'abcdefghi/'.repeat(401)}`, /^~other\//],
  ] as const)
    it(`makes ${what} harmless`, () => assert.match(html(url), path));

  it('never leaves the directory, and never has a name no file system takes', () => {
    const text = fc.string({
      unit: fc.constantFrom('.', '/', '\\', '~', '\0', '\n', '?', '#', '%', 'é', 'a', 'html', 'index'),
    });
    fc.assert(
      fc.property(fc.constantFrom('https://h/', 'https://', '', '/', 'x:'), text, (start, rest) => {
        for (const name of html(start + rest).split('/')) {
          assert.ok(!['', '.', '..'].includes(name));
          // oxlint-disable-next-line no-control-regex
          assert.doesNotMatch(name, /[\0-\x1f\\]/);
          assert.ok(Buffer.byteLength(name) <= 255);
        }
      }),
    );
  });

  /** Names that are each other's with a mark, and ends of URLs. */
  const extensions = [...Object.values(EXTENSIONS), 'bin', 'php', 'base', 'foo'];
  const names = extensions
    .flatMap(extension => [`a.${extension}`, `a~.${extension}`])
    .concat('a', 'a~', 'A.HTML', 'a.html~', 'a.base~', 'a.base~.bin', 'index.html', 'index', '~.html', 'v1.2')
    .concat('', '.', '..', '.html', '.bin', 'a.html?x', 'a?x', 'a?', '?', '?x/a', 'a#b');
  const types = [...Object.keys(EXTENSIONS), 'x-y/z'];

  it('gives two URLs of a directory two paths, none of which is a directory of the other', () => {
    const files = new Map<string, string>();
    const directories = new Map<string, string>();
    for (const first of names)
      for (const second of [undefined, 'a', 'b.html', '']) {
        if (second !== undefined && /[?#]/.test(first)) continue;
        const url = `https://h/${second === undefined ? first : `${first}/${second}`}`;
        for (const type of types) {
          const path = archivePath(url, type);
          assert.equal(files.get(path) ?? url, url, path);
          files.set(path, url);
          for (let end = path.indexOf('/'); end > 0; end = path.indexOf('/', end + 1))
            directories.set(path.slice(0, end), url);
        }
      }
    for (const [directory, url] of directories)
      assert.equal(files.get(directory), undefined, `${url} makes ${directory} a directory`);
  });

  it('gives any two URLs two paths, none of which is a directory of the other', () => {
    const url = fc
      .tuple(
        fc.constantFrom('https://h', 'http://h', 'ftp://h', 'http://h:443', 'https://h:80', 'https://http.h'),
        fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }),
      )
      .map(([top, path]) => `${top}/${path.join('/')}`);
    const end = fc.array(fc.constantFrom(...names), { maxLength: 2 });
    // Of any two hardly any have to do with each other.
    const pair = fc.oneof(
      fc.tuple(url, url),
      fc.tuple(url, end).map(([one, more]) => [one, [one, ...more].join('/')] as const),
      fc
        .tuple(url, fc.constantFrom(...names), fc.constantFrom(...names))
        .map(([one, first, second]) => [`${one}/${first}`, `${one}/${second}`] as const),
    );
    const type = fc.constantFrom(...types);
    fc.assert(
      fc.property(pair, type, type, ([one, two], typeOfOne, typeOfTwo) => {
        if (one === two) return;
        const [first, second] = [archivePath(one, typeOfOne), archivePath(two, typeOfTwo)];
        assert.notEqual(first, second, `${one} ${two}`);
        assert.ok(!first.startsWith(`${second}/`) && !second.startsWith(`${first}/`), `${one} ${two}`);
      }),
      { numRuns: amount(2000, 20_000) },
    );
  });
});
