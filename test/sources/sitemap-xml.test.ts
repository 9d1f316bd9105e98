import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { test } from 'node:test';
import fc from 'fast-check';
import { NS, page, read, set, whole } from './documents.js';
import { amount } from '../support/long.js';

test('names count without their namespace, whatever it is, and with any prefix', async () => {
  for (const attributes of [
    NS,
    '',
    'xmlns="http://www.google.com/schemas/sitemap/0.84"',
    'xmlns="https://www.sitemaps.org/schemas/sitemap/0.9"',
    `${NS} xmlns:xsi="x" xsi:schemaLocation="y z"`,
  ])
    assert.deepEqual(await read(set(page(1), attributes)), whole(['http://e/1']));
  const prefixed = `<sm:urlset xmlns:sm="x"><sm:url><sm:loc>http://e/1</sm:loc><sm:lastmod> 2026 </sm:lastmod></sm:url></sm:urlset>`;
  assert.deepEqual(await read(prefixed), whole(['http://e/1 2026']));
  const index = `<sitemapindex ${NS}><sitemap><loc>http://e/s1</loc></sitemap><sitemap><lastmod>2026</lastmod><loc> http://e/s2\n</loc></sitemap></sitemapindex>`;
  assert.deepEqual(await read(index), whole([], ['http://e/s1', 'http://e/s2']));
});

test('the location of an image, a video or a news item is not that of the page', async () => {
  const rich = set(
    `<url><image:image><image:loc>http://e/i.png</image:loc><image:title>&amp; x</image:title></image:image>` +
      `<image:loc>http://e/odd</image:loc><loc>http://e/1</loc><news:news><news:loc>http://e/n</news:loc></news:news>` +
      `<video:video><video:content_loc>http://e/v.mp4</video:content_loc><video:player_loc>http://e/p</video:player_loc></video:video>` +
      `<xhtml:link rel="alternate" hreflang="de" href="http://e/de"/><xhtml:link rel="stylesheet" href="http://e/css"/></url>`,
  );
  const found = (...locations: string[]) => ({ ...whole(locations), isWindow: true });
  assert.deepEqual(await read(rich), found('http://e/1'));
  assert.deepEqual(await read(rich, { images: true }), found('http://e/1', 'http://e/i.png'));
  assert.deepEqual(await read(rich, { videos: true }), found('http://e/1', 'http://e/v.mp4'));
  assert.deepEqual(await read(rich, { alternates: true }), found('http://e/1', 'http://e/de'));
});

test('CDATA is text, DOCTYPE is skipped, no entity is expanded, a byte order mark and blanks in front do no harm', async () => {
  const cdata = set(
    '<url><loc><![CDATA[http://e/?a=1&b=2]]></loc></url><!-- <url><loc>http://e/no</loc></url> -->',
  );
  assert.deepEqual(await read(cdata), whole(['http://e/?a=1&b=2']));
  for (const front of ['\ufeff', '\n \t', '\ufeff\n'])
    assert.deepEqual(await read(`${front}${set(page(1))}`), whole(['http://e/1']));
  for (const encoding of ['utf16le', 'utf16be'] as const) {
    const bytes = Buffer.from(
      `\ufeff<?xml version="1.0" encoding="UTF-16"?>${set(page('ä')).slice(21)}`,
      'utf16le',
    );
    assert.deepEqual(await read(encoding === 'utf16be' ? bytes.swap16() : bytes), whole(['http://e/ä']));
  }
  const latin1 = Buffer.from(
    `<?xml version="1.0" encoding="ISO-8859-1"?><urlset>${page('\xe4')}</urlset>`,
    'latin1',
  );
  assert.deepEqual(await read(latin1), whole(['http://e/ä']));
  const bomb =
    '<!DOCTYPE urlset [<!ENTITY a "http://e/aaaa"><!ENTITY b "&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>';
  const expanded = await read(
    `${bomb}<urlset><url><loc>&b;</loc></url><url><loc>&c;</loc></url>${page(2)}</urlset>`,
  );
  assert.deepEqual(expanded.locations, ['http://e/2']);
  assert.equal(expanded.left.length, 2);
  // A title is not read: what is wrong in it does no harm.
  const title = set(
    '<url><loc>http://e/1</loc><image:image><image:title>caf&eacute;</image:title></image:image></url>',
  );
  assert.deepEqual(await read(title), whole(['http://e/1']));
});

test('a url without location leaves nothing behind for the next', async () => {
  const done = await read(set(`<url><lastmod>2026</lastmod></url>${page(2)}<url/>${page(3)}`));
  assert.deepEqual(done.locations, ['http://e/2', 'http://e/3']);
  assert.equal(done.left.length, 2);
});

test('both kinds of entries are read wherever they stand; what else may be one is left out with a word', async () => {
  const list = '<sitemap><loc>http://e/s</loc></sitemap>';
  const both = whole(['http://e/1'], ['http://e/s']);
  for (const text of [
    set(page(1) + list),
    set(list + page(1)),
    `<sitemapindex>${list}${page(1)}</sitemapindex>`,
    `<sitemapindex><group>${list}</group><x:g>${page(1)}</x:g></sitemapindex>`,
  ])
    assert.deepEqual(await read(text), both, text);
  const left: [string, number, RegExp][] = [
    [set('<URL><loc>http://e/2</loc></URL>'), 0, /a location in <URL>/],
    [set(`${page(1)}<entry><LOC>http://e/2</LOC></entry>`), 1, /a location in <entry>/],
    [set('<loc>http://e/2</loc>'), 0, /a location in <urlset>/],
    [set('<page href="http://e/2"/>'), 0, /it has <page>, and no entry that is known/],
    [`<sitemapindex><Sitemap>x</Sitemap></sitemapindex>`, 0, /text where|it has <Sitemap>/],
    [set(`${page(1)} http://e/2 `), 1, /text where entries stand/],
    [set(`<![CDATA[${page(1)}]]>`), 0, /text where entries stand/],
    [set(`${page(1)}&more;`), 1, /an entity that XML does not know/],
    [set('<url><loc>http://e/1</loc><loc>http://e/2</loc></url>'), 1, /a second location .*e\/2/],
    [set('<url><loc>http://e/1</loc><url><loc>http://e/2</loc></url></url>'), 1, /an entry inside another/],
    [set('<url><LOC>http://e/1</LOC></url>'), 0, /a url without location/],
    [`${set(page(1))}${set(page(2)).slice(21)}`, 1, /more of a list after the end of its root/],
    [`<urlset/>${page(2)}`, 0, /more of a list after/],
  ];
  for (const [text, locations, what] of left)
    for (const pieces of [text, [...Buffer.from(text)].map(byte => Uint8Array.of(byte))]) {
      const done = await read(pieces);
      assert.deepEqual(
        [done.failure, done.locations.length, done.left.length],
        [undefined, locations, 1],
        text,
      );
      assert.match(done.left.join(), what, text);
    }
});

test('what follows the root is passed over, whatever it is', async () => {
  for (const after of [
    '<x/>',
    '<script>if (a && b < c) "<"</script>',
    '&',
    '<!-- cached',
    'text',
    ']]>',
    '\0',
    '</x>',
  ])
    for (const root of [set(page(1)), '<urlset/>', `<a:urlset>${page(1)}</a:urlset>`]) {
      const found = whole(root === '<urlset/>' ? [] : ['http://e/1']);
      assert.deepEqual(await read(root + after), found, after);
      assert.deepEqual(
        await read([...Buffer.from(root + after)].map(byte => Uint8Array.of(byte))),
        found,
        after,
      );
    }
});

test('news are a window, also on a day without any', async () => {
  const schema = 'xmlns:n="http://www.google.com/schemas/sitemap-news/0.9"';
  const news = page(1, '<n:news><n:title>t</n:title></n:news>');
  const isWindow = async (text: string) => (await read(text)).isWindow;
  assert.equal(await isWindow(set(news, schema)), true);
  assert.equal(await isWindow(set(page(2) + news + page(3), schema)), true);
  assert.equal(await isWindow(set('', schema)), true);
  // Many declare all schemas, whatever they list.
  assert.equal(await isWindow(set(page(2), schema)), false);
  assert.equal(
    await isWindow(set(page(2, '<v:video><v:expiration_date>2027-01-01</v:expiration_date></v:video>'))),
    false,
  );
});

test('what is no sitemap has failed and is not empty', async () => {
  const failures: [string, RegExp][] = [
    ['', /^data\.malformed: it is empty/],
    [' \n', /it is empty/],
    ['<html><body>Sorry</body></html>', /its root is <html>; is it a sitemap/],
    ['<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><p>a & b', /its root is <html>|it is no XML/],
    ['Not found', /neither XML nor a list of urls/],
    ['{"a": 1}', /neither XML nor a list/],
    ['<urlset>', /^data\.cut: it is cut off/],
    [set(page(1)).slice(0, -4), /^data\.cut/],
    ['<?xml version="1.0"?>', /it is no XML|no element/],
    [set('<url><loc>http://e/?a=1&b=2</loc></url>'), /an & stands for itself/],
    [set('<url></urlset>'), /it is no XML/],
    [`<?xml version="1.0" encoding="x-none"?><urlset/>`, /its encoding x-none is not known/],
    [`<urlset>${'<a>'.repeat(100)}`, /elements of more than 64 levels/],
  ];
  for (const [text, failure] of failures) {
    const done = await read(text);
    assert.match(done.failure ?? 'none', failure, text);
  }
  // One that has no urls is a sitemap all the same.
  assert.deepEqual(await read(set('')), whole([]));
  assert.deepEqual(await read('<urlset/>'), whole([]));
});

test('what came before a document turned out to be malformed has been found', async () => {
  const done = await read(set(`${page(1)}${page(2)}<url><loc>http://e/3</x></url>${page(4)}`));
  assert.match(done.failure ?? '', /^data\.malformed/);
  assert.deepEqual(done.locations, ['http://e/1', 'http://e/2']);
});

test('a text is a list of urls, a line each', async () => {
  assert.deepEqual(
    await read('\ufeffhttp://e/1\r\n\r\n http://e/2 \nhttps://e/3'),
    whole(['http://e/1', 'http://e/2', 'https://e/3']),
  );
  assert.deepEqual((await read('http://e/1\rhttp://e/2\r')).locations, ['http://e/1', 'http://e/2']);
  assert.deepEqual((await read('http://e/1\nnonsense\n')).locations, ['http://e/1', 'nonsense']);
  const columns = [
    'http://e/1\t2024-01-08',
    'http://e/2 2024-01-08 0.5 daily',
    'http://e/3\t\tx y',
    'http://e/4  weekly',
    'http://e/5 2024-01-08T10:00:00+01:00',
    'http://e/6 http://e/7 http://e/8',
  ];
  assert.deepEqual(await read(columns.join('\n')), whole([1, 2, 3, 4, 5, 6, 7, 8].map(n => `http://e/${n}`)));
  // A blank alone is the url's own.
  const blanks = ['http://e/my file.html', 'http://e/report 2024-01-08.pdf', 'http://e/never ending'];
  assert.deepEqual((await read(blanks.join('\n'))).locations, blanks);
  const long = `http://e/${'x '.repeat(300_000)}`;
  assert.deepEqual((await read(long)).locations, [long.trim()]);
});

const tricky = fc.constantFrom(
  page(1),
  page(2, '<lastmod>2026-01-01</lastmod>'),
  page(3, '\n<lastmod> x </lastmod>\n<changefreq>daily</changefreq><priority>0.5</priority>'),
  page(4, '<priority>1</priority><lastmod>2026</lastmod>'),
  '<url><loc>\nhttp://e/5\n</loc></url>\n',
  '<url ><loc>http://e/6</loc></url>',
  '<url><loc>http://e/?a&amp;b</loc></url>',
  '<url><loc><![CDATA[http://e/7]]></loc></url>',
  '<!-- <url><loc>http://e/x</loc></url> -->',
  '<?pi <url><loc>http://e/y</loc></url>?>',
  '<url></url>',
  '<other><url><loc>http://e/z</loc></url></other>',
  '<url><loc>http://e/ü</loc></url>',
  '<url><loc></loc></url>',
  '<url><loc>a</loc><loc>b</loc></url>',
  '\n  ',
  page(8, '<image:image><image:loc>http://e/i</image:loc></image:image>'),
);

test('entries that are read without the parser are read as it reads them, wherever the document is cut in pieces', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(tricky, { maxLength: 30 }),
      fc.array(fc.nat(2000), { maxLength: 4 }),
      async (parts, cuts) => {
        const text = set(parts.join(''));
        // A comment after the root has the parser read everything.
        const parsed = await read(set(`<!-- -->${parts.join('')}`), { images: true });
        const bytes = Buffer.from(text);
        const places = [
          ...new Set([0, ...cuts.map(cut => Math.min(cut + 1024, bytes.length)), bytes.length]),
        ].sort((a, b) => a - b);
        const pieces = places.slice(1).map((end, i) => bytes.subarray(places[i], end));
        assert.deepEqual(await read(pieces, { images: true }), parsed);
        assert.deepEqual(await read(bytes, { images: true }), parsed);
      },
    ),
    { numRuns: amount(60, 300) },
  );
});

test('no damage of a document makes it throw anything but a failure, or lists less without one', async () => {
  const pages = Array.from({ length: 40 }, (_, n) =>
    page(n, n % 2 === 0 ? '<lastmod>2026-01-01</lastmod>' : ''),
  );
  const documents = [
    Buffer.from(set(pages.join('\n'))),
    gzipSync(set(pages.join(''))),
    Buffer.from(
      `<rss version="2.0"><channel><title>t</title>${pages.map((_, n) => `<item><link>http://e/${n}</link></item>`).join('')}</channel></rss>`,
    ),
  ];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...documents),
      fc.nat(),
      fc.nat(255),
      fc.constantFrom('cut', 'flip', 'drop'),
      async (document, where, byte, how) => {
        const at = where % document.length;
        const damaged =
          how === 'cut'
            ? document.subarray(0, at)
            : how === 'drop'
              ? Buffer.concat([document.subarray(0, at), document.subarray(at + 1)])
              : Buffer.concat([document.subarray(0, at), Buffer.of(byte), document.subarray(at + 1)]);
        const done = await read(damaged);
        // A cut is always noticed; otherwise an entry is there, was left out with a word, or is another one.
        if (how === 'cut') assert.ok(done.failure !== undefined || at === document.length, `cut at ${at}`);
        else if (done.failure === undefined && !done.isWindow)
          assert.ok(done.locations.length + done.left.length >= pages.length, `${how} at ${at} with ${byte}`);
      },
    ),
    { numRuns: amount(100, 600) },
  );
});
