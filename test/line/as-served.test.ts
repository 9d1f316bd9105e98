/** Urls announced without a type, from a provider to a content user: real daemons and a real site. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Lcc, startLcc } from '../support/lcc.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

interface Change {
  op: string;
  curl: string;
  mimetype: string;
}

describe('urls announced as served, from a provider to a content user', () => {
  /** What the site has: type (none: it says none) and content. */
  const pages = new Map<string, [type: string | undefined, content: string]>();
  const asked: string[] = [];
  let filmBytes = 0;
  let isFilmCut = false;
  let site: TestSite;
  let lcc: Lcc;

  before(async () => {
    site = await TestSite.listen((request, response) => {
      const path = request.url ?? '';
      asked.push(path);
      if (path === '/film') {
        response.writeHead(200, { 'content-type': 'video/mp4' });
        const piece = Buffer.alloc(65_536);
        const more = () => {
          filmBytes += piece.length;
          response.write(piece, error => {
            if (error === null || error === undefined) more();
          });
        };
        response.on('close', () => (isFilmCut = true));
        return more();
      }
      const [type, content] = pages.get(path) ?? [];
      const headers = type === undefined ? {} : { 'content-type': type };
      response.writeHead(content === undefined ? 404 : 200, headers).end(content);
    });
    lcc = await startLcc(`${site.url}/`, '[uns]\nmime = ["text/*", "application/pdf"]\n');
  });
  after(async () => {
    await lcc?.remove();
    site?.close();
  });

  const tag = (name: string, more = '') => `<url curl="${name}" mimetype="*/*"${more}/>`;

  /** Delivers a set and waits for the end. @returns what content users see of it, and what the site was asked for */
  async function seen(
    set: 'full' | 'partial',
    urls: string[],
  ): Promise<{ changes: string[]; asked: string[] }> {
    asked.length = 0;
    await lcc.deliver(set, urls);
    await lcc.idle();
    const lines = (await lcc.run('lccq --cursor=seen --format=jsonl -- cat')).split('\n').filter(Boolean);
    const changes = lines
      .map(line => JSON.parse(line) as Change)
      .map(({ op, curl, mimetype }) => `${op} ${curl.replace(lcc.root, '')} ${mimetype}`);
    return { changes, asked: [...asked] };
  }

  it('stores each with the type that the site gives it, and reads nothing of one that is not taken here', async () => {
    pages.set('/a', ['Text/HTML; charset=utf-8', 'page']).set('/b', ['application/pdf', '%PDF-']);
    pages.set('/none', [undefined, 'x']);
    const { changes } = await seen(
      'partial',
      ['a', 'b', 'none', 'film'].map(name => tag(name)),
    );
    assert.deepEqual(changes, ['upsert a text/html', 'upsert b application/pdf']);
    await until('the site is not read from any more', () => isFilmCut);
    assert.ok(filmBytes < 32 * 1024 * 1024, `${filmBytes} bytes`);
    await lcc.look();
    assert.deepEqual([...lcc.reported].sort(), ['303 film', '303 none']);
  });

  it('asks for nothing that is announced as it was, and sees in the same bytes no change', async () => {
    const said = ' mtime="2026-11-20T10:13:01Z"';
    await seen('partial', [tag('a', said), tag('b', said)]);
    assert.deepEqual(await seen('partial', [tag('a', said), tag('b', said)]), { changes: [], asked: [] });
    assert.deepEqual(await seen('partial', [tag('a')]), { changes: [], asked: ['/a'] });
    assert.deepEqual(await seen('partial', [tag('a', ' ifabsent="yes"')]), { changes: [], asked: [] });
  });

  it('lets another type take the place of the one before', async () => {
    pages.set('/a', ['application/pdf', '%PDF-']);
    const { changes } = await seen('partial', [tag('a')]);
    assert.deepEqual(changes, ['delete a text/html', 'upsert a application/pdf']);
  });

  it('keeps what a full set names as served, and removes the rest; a delete takes the row that was served', async () => {
    const full = await seen('full', [tag('a', ' mtime="2026-11-22T00:00:00Z"')]);
    assert.deepEqual(full, { changes: ['delete b application/pdf'], asked: ['/a'] });
    const deleted = await seen('partial', [tag('a', ' op="delete"')]);
    assert.deepEqual(deleted, { changes: ['delete a application/pdf'], asked: [] });
  });

  it('is taken over by its provider that names the type: one row, and no further request when it is the same', async () => {
    pages.set('/a', ['text/html', 'page']);
    await seen('partial', [tag('a')]);
    const md5 = 'md5="71860c77c6745379b0d44304d66b6a13"';
    const taken = await seen('partial', [`<url curl="a" mimetype="text/html" ${md5}/>`]);
    assert.deepEqual(taken, { changes: [], asked: [] });
    assert.deepEqual((await seen('partial', [tag('a', ' op="delete"')])).changes, []);
    const deleted = await seen('partial', ['<url curl="a" mimetype="text/html" op="delete"/>']);
    assert.deepEqual(deleted.changes, ['delete a text/html']);
  });
});
