import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';

/** "Привет, мир" in KOI8-R: nothing in it says so. */
const KOI8 = Buffer.concat([
  Buffer.from('<title>x</title><p>'),
  Buffer.from('f0d2c9d7c5d42c20cdc9d2', 'hex'),
]);

describe('the encoding that a server names in its Content-Type header', () => {
  let site: TestSite;
  let lcc: Lcc;
  let type = 'text/html; charset=KOI8-R';

  before(async () => {
    site = await TestSite.listen((_, response) => void response.setHeader('Content-Type', type).end(KOI8));
    lcc = await startLcc(site.urlOf('/'));
  });
  after(async () => {
    await lcc?.remove();
    site.close();
  });

  const send = async (attributes = '') => {
    await lcc.announce([urlTag('a', ` ${attributes}`)]);
    await lcc.idle();
  };

  it('is kept with the row, by its name in the standard, and in every list of rows', async () => {
    await send();
    assert.equal(await lcc.run('lccq --format=tsv --fields=mimetype,http_charset'), 'text/html\tkoi8-r\n');
    assert.match(await lcc.run('lccq'), / http_charset="koi8-r" /);
    assert.match(await lcc.run('lccq --format=jsonl'), /"http_charset":"koi8-r"/);
    assert.match(await lcc.run('lccq --format=csv --fields=http_charset'), /koi8-r/);
  });

  for (const format of ['fts5-sql', 'scriptindex', 'ntvml', 'jsonl --text', 'jsonl --content'])
    it(`is that of the words in ${format}`, async () => {
      assert.match(await lcc.run(`lccq --format=${format}`), /Привет, мир/);
    });

  it('is that of the words in swish-e, and of the content in a web archive', async () => {
    assert.match(await lcc.run('lccq --format=swish-e'), /&#1055;&#1088;&#1080;/);
    assert.match(await lcc.run('lccq --format=warc | zcat'), /^Content-Type: text\/html; charset=koi8-r\r$/m);
  });

  it('is what the server says last', async () => {
    type = 'text/html; charset=windows-1251';
    await send('mtime="2026-11-20T10:13:01Z"');
    assert.equal(await lcc.run('lccq --format=tsv --fields=http_charset'), 'windows-1251\n');
    type = 'text/html';
    await send('mtime="2026-11-20T10:13:02Z"');
    assert.equal(await lcc.run('lccq --format=tsv --fields=http_charset'), '\n');
  });
});
