import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LccError } from '../../src/lib/errors.js';
import { readFeed } from '../../src/wire/feed.js';
import type { Found, LocationFacts } from '../../src/sources/found.js';
import { pageUrl } from '../../src/sources/reading.js';
import { LIMITS } from '../sources/support.js';

function read(text: string, where: string | null = 'http://e/feeds/all.xml', withEnclosures = false) {
  const urls: string[] = [];
  const marks: string[] = [];
  const left: string[] = [];
  const found: Found = {
    bytes: 0,
    isWindow: false,
    location(text: string, { base, mark = '' }: LocationFacts) {
      const page = pageUrl(text, LIMITS.urlBytes, base);
      urls.push('curl' in page ? page.curl : page.problem);
      marks.push(mark);
    },
    child: () => assert.fail('a feed lists no documents'),
    leave: what => void left.push(what),
  };
  readFeed(text, where ?? undefined, withEnclosures, found);
  assert.ok(marks.every(mark => /^[0-9a-f]{32}$/.test(mark)));
  return { urls, marks, left };
}

const rss = (items: string, attributes = '') =>
  `<?xml version="1.0"?><rss version="2.0" ${attributes}><channel><title>t</title><link>http://e/</link>${items}</channel></rss>`;
const atom = (entries: string, attributes = '') =>
  `<feed xmlns="http://www.w3.org/2005/Atom" ${attributes}><id>i</id><title>t</title>${entries}</feed>`;

test('RSS: the link, else the guid unless it says that it is none, in any case', () => {
  const items = `<item><link> http://e/1 </link><guid>http://e/not</guid></item>
    <item><guid>http://e/2</guid></item><item><guid isPermaLink="true">http://e/3</guid></item>
    <item><guid isPermaLink="False">http://e/no</guid></item><item><guid isPermaLink="false">x</guid></item>
    <item><title>none</title></item><item><link><![CDATA[http://e/?a=1&b=2]]></link></item><item><link>http://e/?a=1&b=3</link></item>`;
  const { urls, left } = read(rss(items));
  assert.deepEqual(urls, [
    'http://e/1',
    'http://e/2',
    'http://e/3',
    'http://e/?a=1&b=2',
    'http://e/?a=1&b=3',
  ]);
  assert.equal(left.length, 3);
});

test('Atom: the alternate link or one that says nothing, HTML first, whatever stands before', () => {
  const entries = `<entry><id>1</id><link rel="self" href="http://e/self"/><link href="http://e/1"/></entry>
    <entry><id>2</id><link rel="alternate" type="application/pdf" href="http://e/2.pdf"/><link rel="Alternate" type="text/html" href="2"/></entry>
    <entry><id>3</id><link rel="alternate" type="application/pdf" href="/3.pdf"/><link rel="enclosure" href="http://e/3.mp3"/></entry>
    <entry><id>http://e/4</id><link rel="edit" href="http://e/edit"/></entry>`;
  const { urls, left } = read(atom(entries));
  assert.deepEqual(urls, ['http://e/1', 'http://e/feeds/2', 'http://e/3.pdf']);
  assert.equal(left.length, 1);
  assert.deepEqual(read(atom(entries), null, true).urls.at(-1), 'http://e/3.mp3');
});

test('relative links are resolved by xml:base of the root, then by where the feed is', () => {
  const entry = '<entry><id>1</id><link href="a"/></entry>';
  assert.deepEqual(read(atom(entry)).urls, ['http://e/feeds/a']);
  assert.deepEqual(read(atom(entry, 'xml:base="http://b/x/"')).urls, ['http://b/x/a']);
  assert.deepEqual(read(atom(entry, 'xml:base="sub/"')).urls, ['http://e/feeds/sub/a']);
  assert.deepEqual(read(atom(entry), null).urls, ['is no http or https url']);
});

test('xml:base of the root, a channel, an entry and a link, each by what is around it', () => {
  const entry = (base: string, link: string) => `<entry xml:base="${base}"><id>1</id><link ${link}/></entry>`;
  const blog = 'xml:base="http://h/blog/"';
  assert.deepEqual(read(atom(entry('2024/01/08/', 'href="First"'), blog)).urls, [
    'http://h/blog/2024/01/08/First',
  ]);
  assert.deepEqual(read(atom(entry('2024/', 'xml:base="x/" href="First"'), blog)).urls, [
    'http://h/blog/2024/x/First',
  ]);
  assert.deepEqual(read(atom(entry('../2024/', `href='First' xml:base='/x/'`))).urls, ['http://e/x/First']);
  assert.deepEqual(read(atom(entry('http://o/', 'href="First"'), blog), null).urls, ['http://o/First']);
  const item = '<item xml:base="i/"><link xml:base="l/">a.html</link></item><item><link>b.html</link></item>';
  assert.deepEqual(read(rss(item, 'xml:base="r/"')).urls, [
    'http://e/feeds/r/i/l/a.html',
    'http://e/feeds/r/b.html',
  ]);
  const channel = rss(item).replace('<channel>', "<channel xml:base='http://c/'>");
  assert.deepEqual(read(channel).urls, ['http://c/i/l/a.html', 'http://c/b.html']);
  const attached =
    '<entry xml:base="m/"><id>1</id><link href="p"/><link rel="enclosure" href="s.mp3"/></entry>';
  assert.deepEqual(read(atom(attached, blog), null, true).urls, [
    'http://h/blog/m/p',
    'http://h/blog/m/s.mp3',
  ]);
});

test('a guid is absolute, and a word for nothing is no link: said, and left out', () => {
  const none = [
    '<guid>12345</guid>',
    '<guid isPermaLink="true">/x</guid>',
    '<link>N/A</link>',
    '<link>none</link>',
  ];
  none.push(
    '<link>no link yet</link>',
    '<link>-</link>',
    '<guid>urn:uuid:1</guid>',
    '<guid>tag:e,2024:1</guid>',
  );
  for (const inside of none) {
    const { urls, left } = read(rss(`<item><title>t</title>${inside}</item>`));
    assert.deepEqual([urls, left.length], [[], 1], inside);
  }
  assert.deepEqual(read(rss('<item><link>N/A</link><guid>http://e/1</guid></item>')).urls, ['http://e/1']);
  const relative = ['/new', '2024/a.html', 'a?b', '../x', '4'].map(
    link => `<item><link>${link}</link></item>`,
  );
  assert.equal(read(rss(relative.join(''))).urls.length, 5);
});

test('what a cache or a plugin writes behind the root does no harm; an end inside of something else is none', () => {
  const feed = rss('<item><title>a</title><link>http://e/a</link></item>');
  const behind = [
    '\n<!-- cached by <b>X</b> -->',
    '<a href="x"></a><script>1</script>',
    '[]',
    ']]>',
    '\0',
    '</div>',
    '<!-- the copy of </rss> and its <item> ends here -->',
    '<!-- cached',
  ];
  for (const after of behind) assert.deepEqual(read(feed + after).urls, ['http://e/a'], after);
  const quoted =
    '<item><link>http://e/a</link><description><![CDATA[</channel></rss><!-- ]]></description></item>';
  assert.deepEqual(read(rss(quoted)).urls, ['http://e/a']);
  const json = JSON.stringify({
    version: 'https://jsonfeed.org/version/1',
    title: 't',
    items: [{ id: '1', url: '/1' }],
  });
  assert.deepEqual(read(`${json}\n<!-- cached -->`).urls, ['http://e/1']);
  const cut = '<item><link>http://e/a</link></item><item><link>http://e/b</link><description>';
  for (const inside of ['<![CDATA[ends with </rss>', '<!-- ends with </rss> -', 'x</rss></item>'])
    assert.throws(() => read(rss(cut + inside).replace('</channel></rss>', '')), LccError, inside);
});

test('RDF and JSON feeds, and what is attached', () => {
  const rdf = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel rdf:about="http://e/"><title>t</title><link>http://e/</link></channel>
    <item rdf:about="http://e/1"><title>x</title><link>http://e/1</link></item></rdf:RDF>`;
  assert.deepEqual(read(rdf).urls, ['http://e/1']);
  const json = {
    version: 'https://jsonfeed.org/version/1.1',
    title: 't',
    items: [
      { id: '1', url: '/1', attachments: [{ url: 'http://e/1.mp3', mime_type: 'audio/mpeg' }] },
      { id: '2' },
    ],
  };
  assert.deepEqual(read(JSON.stringify(json), 'http://e/feed.json', true).urls, [
    'http://e/1',
    'http://e/1.mp3',
  ]);
  const item =
    '<item><link>http://e/1</link><enclosure url="http://e/1.ogg" length="5" type="audio/ogg"/></item>';
  assert.deepEqual(read(rss(item), null, true).urls, ['http://e/1', 'http://e/1.ogg']);
  assert.deepEqual(read(rss(item)).urls, ['http://e/1']);
});

test('an edit without a new date makes another mark; what does not belong to the item does not', () => {
  const item = (title: string, text: string) =>
    `<item><link>http://e/1</link><guid>g</guid><pubDate>Mon, 23 Nov 2026 10:00:00 GMT</pubDate><title>${title}</title><description>${text}</description></item>`;
  const [mark] = read(rss(item('a', 'b'))).marks;
  assert.deepEqual(
    read(rss(`${item('a', 'b')}<item><link>http://e/2</link></item>`, 'xmlns:x="y"')).marks[0],
    mark,
  );
  for (const other of [item('a', 'c'), item('z', 'b'), item('a', 'b').replace('10:00', '10:01')])
    assert.notEqual(read(rss(other)).marks[0], mark);
});

test('what is no feed, or one that is cut, is refused; entities are not expanded', () => {
  const cut = rss('<item><link>http://e/1</link></item><item><link>http://e/2</link></item>');
  const refused = [
    '',
    '{}',
    '[]',
    'text',
    '<html><p>x</p></html>',
    '<urlset></urlset>',
    cut.slice(0, cut.lastIndexOf('<item>')),
    cut.slice(0, -1),
    '{"version":"https://jsonfeed.org/version/1","items":[',
  ];
  for (const text of refused) assert.throws(() => read(text), LccError, text);
  const bomb = `<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>`;
  assert.ok(
    read(`${bomb}${rss('<item><link>http://e/1</link><title>&c;</title></item>').slice(21)}`).urls.length ===
      1,
  );
});

test('the feed itself: its hub, its own address, by whatever element; items that it declares deleted, with id and link', () => {
  const head = (text: string) =>
    readFeed(text, 'http://e/', false, { location: () => undefined, leave: () => undefined });
  const links = '<atom:link rel="self" href="http://e/self"/><atom:link REL="hub" href="http://h/"/>';
  const ns = 'xmlns:atom="http://www.w3.org/2005/Atom"';
  assert.deepEqual(head(rss(links, ns)), { hub: 'http://h/', self: 'http://e/self', gone: [] });
  const inside = `<item><link>http://e/1</link>${links}</item>`;
  assert.equal(head(rss(inside, ns)).hub, undefined, 'that of an item is not that of the feed');
  const deleted = `<link rel="hub" xml:base="http://b/" href="hub"/><at:deleted-entry ref="tag:e,1&amp;2" when="w"/>
    <deleted-entry when='w' ref='tag:e,2'><link href="/a?b&amp;c"/></deleted-entry><at:deleted-entry when="w"/><link href="/not"/>`;
  const { hub, gone } = head(atom(deleted));
  assert.equal(hub, 'hub');
  assert.deepEqual(
    gone.map(({ id, link }) => [id, link]),
    [
      ['tag:e,1&2', undefined],
      ['tag:e,2', '/a?b&c'],
    ],
  );
  const json = {
    version: 'https://jsonfeed.org/version/1.1',
    title: 't',
    feed_url: 'http://e/j',
    hubs: [{ type: 'WebSub', url: 'http://h/j' }],
    items: [],
  };
  assert.deepEqual(head(JSON.stringify(json)), { hub: 'http://h/j', self: 'http://e/j', gone: [] });
});
