import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jsonFeedLinks, textListLinks, xmlListLinks } from '../../src/text/list-links.js';

const xml = (document: string) => xmlListLinks(document, 100)?.hrefs;

describe('links of lists', () => {
  it('of sitemaps are the locations of pages and of other sitemaps', () => {
    assert.deepEqual(
      xml(`<?xml version="1.0"?><!DOCTYPE urlset><urlset xmlns:image="i"><url><loc> http://x/1?a&amp;b </loc><image:image>
        <image:loc>http://x/no</image:loc></image:image></url><!-- <url><loc>no</loc></url> -->
        <url><loc><![CDATA[http://x/2]]></loc></url><url><lastmod>no</lastmod></url></urlset>`),
      ['http://x/1?a&b', 'http://x/2'],
    );
    assert.deepEqual(xml('<s:sitemapindex><s:sitemap><s:loc>http://x/a.xml</s:loc></s:sitemap>'), [
      'http://x/a.xml',
    ]);
  });

  it('of feeds are those of their items', () => {
    assert.deepEqual(
      xml(`<rss><channel><link>http://x/</link><image><link>no</link></image><item><link>http://x/1</link>
        <guid isPermaLink="FALSE">no</guid></item><item><guid>http://x/2</guid></item></channel></rss>`),
      ['http://x/', 'http://x/1', 'http://x/2'],
    );
    const atom = xmlListLinks(
      `<feed xml:base="/b/"><link rel="self" href="no"/><link href="."/><entry><link rel="alternate" href="1"/>
        <link rel="enclosure" href="no"/></entry></feed>`,
      100,
    );
    assert.deepEqual([atom?.hrefs, atom?.base], [['.', '1'], '/b/']);
    assert.deepEqual(xml('<rdf:RDF><item><link>http://x/1</link></item></rdf:RDF>'), ['http://x/1']);
    const json = {
      version: 'https://jsonfeed.org/version/1.1',
      items: [{ url: '/1' }, { id: 'x' }, { url: '/2' }],
    };
    assert.deepEqual(jsonFeedLinks(JSON.stringify(json), 100)?.hrefs, ['/1', '/2']);
  });

  it('of an item are one: its link, else its guid that is one, else what it is about', () => {
    const item = (content: string) => xml(`<rss><channel><item>${content}</item></channel></rss>`);
    assert.deepEqual(item('<link>http://x/1</link><guid>post-4711</guid>'), ['http://x/1']);
    assert.deepEqual(item('<guid>http://x/2</guid><link>http://x/1</link>'), ['http://x/1']);
    assert.deepEqual(item('<guid isPermaLink=" False ">http://x/2</guid>'), []);
    assert.deepEqual(item('<link/><guid>http://x/2</guid>'), ['http://x/2']);
    assert.deepEqual(item('<link>http://x/1</link><source><link>no</link></source>'), ['http://x/1']);
    assert.deepEqual(xml('<rss><channel><item><link>http://x/1</link><guid>cut'), ['http://x/1']);
    assert.deepEqual(xml('<rss><item><guid>http://x/1</guid><item><link>http://x/2</link></item>'), [
      'http://x/1',
      'http://x/2',
    ]);
    assert.deepEqual(
      xml(`<rdf:RDF><channel rdf:about="no"/><item rdf:about="http://x/1?a&amp;b"><title>t</title></item>
        <item rdf:about="no"><link>http://x/2</link></item></rdf:RDF>`),
      ['http://x/1?a&b', 'http://x/2'],
    );
  });

  it('of an entry of Atom are one: the page, of several the one in HTML', () => {
    const entry = (...links: string[]) =>
      xml(`<feed><entry>${links.map(link => `<link ${link}/>`).join('')}</entry></feed>`);
    assert.deepEqual(entry('rel="self" href="s"', 'type="application/json" href="j"', 'href="h"'), ['h']);
    assert.deepEqual(
      entry('rel="alternate" type="application/pdf" href="p"', 'rel="Alternate" type="text/HTML" href="h"'),
      ['h'],
    );
    assert.deepEqual(entry('type="application/pdf" href="p"', 'type="text/plain" href="t"'), ['p']);
    assert.deepEqual(xml('<feed><link rel="next" href="2"/><entry><link href="1"/>'), ['2', '1']);
  });

  it('of a text are its lines, if the first is a url', () => {
    const text = '\ufeff\n http://x/1 \r\nHTTPS://x/2\nno url\n\nhttp://x/3';
    assert.deepEqual(textListLinks(text, 100)?.hrefs, ['http://x/1', 'HTTPS://x/2', 'http://x/3']);
    assert.equal(textListLinks(text, 2)?.isCut, true);
    for (const none of ['', 'read http://x/1', 'http://x/1 is a page\nhttp://x/2', 'ftp://x/'])
      assert.equal(textListLinks(none, 100), undefined);
  });

  it('are none of other documents', () => {
    assert.equal(xml('<html><a href="x"/></html>'), undefined);
    assert.equal(xml(''), undefined);
    assert.equal(jsonFeedLinks('{"items":[{"url":"/1"}]}', 100), undefined);
    assert.equal(jsonFeedLinks('{', 100), undefined);
    assert.equal(jsonFeedLinks('null', 100), undefined);
  });

  it('count up to a limit, and are read of a list that is damaged', () => {
    const list = `<urlset>${'<url><loc>http://x/1</loc></url>'.repeat(5)}`;
    assert.deepEqual([xmlListLinks(list, 5)?.isCut, xmlListLinks(list, 4)?.isCut], [false, true]);
    assert.deepEqual(xml('<urlset><url><loc>http://x/1</loc></url><url><loc>http://x/2'), ['http://x/1']);
    assert.deepEqual(xml('<urlset><url><loc>http://x/?a&b</url></loc><x'), ['http://x/?a&b']);
  });

  it('take time in proportion to the list, however deep it is', () => {
    for (const piece of ['<url>', '<loc>', '<![CDATA[', '&amp', '<url loc="'])
      xmlListLinks(`<urlset>${piece.repeat(200_000)}`, 100);
  });
});
