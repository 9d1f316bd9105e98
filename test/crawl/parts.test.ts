import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LinkOwners } from '../../src/crawl/owners.js';
import { PathQueries, SentLinks } from '../../src/crawl/expander.js';
import { baseOf, resolveLink, spellings } from '../../src/crawl/resolve.js';
import { robotsSaid } from '../../src/robots/page-words.js';

describe('what a page says to robots', () => {
  const said = (header: string | undefined, ...metas: string[]) => {
    const { noindex, nofollow } = robotsSaid(header, metas, 'examplebot');
    return `${noindex ? 'noindex ' : ''}${nofollow ? 'nofollow' : ''}`.trim();
  };

  it('stands in meta elements and in the header', () => {
    assert.equal(said(undefined), '');
    assert.equal(said('noindex'), 'noindex');
    assert.equal(said('NoFollow, noarchive'), 'nofollow');
    assert.equal(said('none'), 'noindex nofollow');
    assert.equal(said(undefined, 'noindex,nofollow'), 'noindex nofollow');
    assert.equal(said('nofollow', 'noarchive', 'noindex'), 'noindex nofollow');
    assert.equal(said(undefined, 'xnoindex', 'no index'), '');
  });

  it('counts where it names all robots, or ours', () => {
    assert.equal(said('otherbot: noindex, nofollow'), '');
    assert.equal(said('ExampleBot: noindex'), 'noindex');
    assert.equal(said('nofollow, otherbot: noindex'), 'nofollow');
    assert.equal(said('otherbot: noindex, examplebot: nofollow'), 'nofollow');
    assert.equal(said('max-snippet:20, unavailable_after: 25 Jun 2010 15:00:00 PST, noindex'), 'noindex');
  });
});

describe('where a link leads', () => {
  const curl = (href: string, charset = 'utf-8') =>
    resolveLink(href, 'http://example.org/a/b?c', charset)?.curl;

  it('has letters of the path in UTF-8, those of the query in the encoding of the page', () => {
    assert.equal(curl('é?é#é'), 'http://example.org/a/%C3%A9?%C3%A9');
    assert.equal(curl('é?é#é', 'windows-1252'), 'http://example.org/a/%C3%A9?%E9');
    assert.equal(curl('?日本 "x"', 'shift_jis'), 'http://example.org/a/b?%93%FA%96{%20%22x%22');
    assert.equal(curl('?é', 'utf-16le'), 'http://example.org/a/b?%C3%A9');
    assert.equal(curl('?ж', 'windows-1252'), 'http://example.org/a/b?%26%231078%3B');
    assert.equal(curl('é', 'windows-1252'), 'http://example.org/a/%C3%A9');
  });

  it('is relative to the base', () => {
    assert.equal(curl('//x.org/y'), 'http://x.org/y');
    assert.equal(curl('?q'), 'http://example.org/a/b?q');
    assert.equal(curl('mailto:a@b'), undefined);
    assert.equal(baseOf('/x/', 'http://example.org/a/b'), 'http://example.org/x/');
    for (const none of [undefined, 'javascript:1', 'http://', 'data:text/html,x'])
      assert.equal(baseOf(none, 'http://example.org/a/b'), 'http://example.org/a/b');
  });
});

describe('how a link is written', () => {
  const spelled = (href: string, base = 'http://example.org/a/b?c/d', charset = 'utf-8') =>
    spellings(base, charset)(href);

  it('says where it leads from each page of a folder', () => {
    const same = ['http://example.org/a/', 'http://example.org/a/x#y', 'http://EXAMPLE.org/b/../a/'];
    for (const href of ['x', '../x', '/x', '//x.org/y', 'https://x.org/?y', '%41', 'x?y=http://z', 'x?'])
      for (const base of same) {
        assert.notEqual(spelled(href), undefined);
        assert.equal(spelled(href, base), spelled(href));
        assert.equal(
          resolveLink(href, base, 'utf-8')?.curl,
          resolveLink(href, 'http://example.org/a/b?c/d', 'utf-8')?.curl,
        );
      }
  });

  it('is another from another folder, host or encoding', () => {
    const others = [
      'http://example.org/a',
      'http://example.com',
      'http://example.org/a/b/c',
      'http://u@example.org/a/',
    ];
    for (const base of others) assert.notEqual(spelled('x', base), spelled('x'));
    assert.notEqual(spelled('x', undefined, 'big5'), spelled('x'));
    assert.equal(spelled('x', 'http://'), undefined);
  });

  it('says nothing where it leads to the page itself, or is odd', () => {
    for (const href of ['', '?x', 'http:', 'http:?x', ' ?x', '\\x', 'http:?x=://y', 'mailto:a'])
      assert.equal(spelled(href), undefined);
  });
});

describe('whose a link is', () => {
  const owners = new LinkOwners([
    { pid: 1, roots: ['http://example.org/', 'https://example.org/'] },
    { pid: 2, roots: ['http://example.org/blog/'] },
    { pid: 3, roots: ['http://other.example/'] },
    { pid: 4, roots: ['http://other.example/', 'no root'] },
  ]);

  it('is that of the provider with the longest root around it', () => {
    assert.equal(owners.ownerOf('http://example.org/x'), 1);
    assert.equal(owners.ownerOf('https://example.org/'), 1);
    assert.equal(owners.ownerOf('http://example.org/blog/1'), 2);
    assert.equal(owners.ownerOf('http://example.org/blog'), 1);
    assert.equal(owners.ownerOf('http://other.example/'), 3);
    assert.equal(owners.ownerOf('http://example.org:81/'), undefined);
    assert.equal(owners.ownerOf('http://example.com/'), undefined);
  });

  it('is nobody’s where a server may read it as another', () => {
    assert.equal(owners.ownerOf('http://example.org/blog/%2e%2e%2fx'), undefined);
  });
});

describe('links that were sent', () => {
  it('are known until their place is needed', () => {
    const sent = new SentLinks(4096);
    const urls = Array.from({ length: 500 }, (_, i) => `http://example.org/page-${i}.html`);
    assert.deepEqual(new Set(urls.map(url => sent.wasSent(url))), new Set([false]));
    const known = urls.filter(url => sent.wasSent(url));
    assert.ok(known.length > 400, String(known.length));
  });

  it('are no others: of 200,000 urls that differ in a character or two none is taken for another', () => {
    const sent = new SentLinks(1 << 20);
    let wrong = 0;
    for (let i = 0; i < 200_000; i++) if (sent.wasSent(`http://example.org/?page=${i}`)) wrong++;
    assert.equal(wrong, 0);
  });
});

it('a path has so many queries, those that are held or wait counted once', () => {
  let asked = 0;
  const queries = new PathQueries({ queriesOf: () => (asked++, 2) }, 4);
  const take = (url: string) => queries.take(1, `http://example.org/${url}`);
  assert.deepEqual(
    [take('a?1'), take('a?2'), take('a?3'), take('a'), take('b?1')],
    [true, true, false, true, true],
  );
  assert.equal(asked, 2);
});
