import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { updateState } from '../../src/cp/lcccpstate.js';
import { Output } from '../../src/lib/stdio.js';
import { longIt } from '../support/long.js';
import { freshDir, index, Lists, page, urlset, type SiteAnswer } from './lists.js';
import { list } from './support.js';

/** Urls that lcccpstate would have deleted for what was read. */
function deletedBy(dir: string, stream: string): string[] {
  const path = join(dir, 'out');
  const fd = openSync(path, 'w');
  try {
    updateState(
      [Buffer.from(stream, 'latin1')],
      new Output(fd, { encoding: 'latin1' }),
      {
        statefile: join(dir, 'state'),
        full: false,
        commitNow: true,
        allowEmpty: true,
        isShare: false,
        maxDelete: { percent: 100 },
        nowMs: 0,
        maxDoubtfulUrls: 1000,
        limits: { maxTokenBytes: 65_536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 },
      },
      () => undefined,
    );
  } catch (error) {
    // A stream that is cut, for nothing could be read.
    assert.match(String(error), /the stream was cut/);
  } finally {
    closeSync(fd);
  }
  return readFileSync(path, 'latin1')
    .split('\n')
    .filter(line => line.includes('op="delete"'))
    .map(line => /curl="([^"]*)"/.exec(line)?.[1] ?? '');
}

const feed = (...names: string[]) =>
  `<rss version="2.0"><channel><title>t</title>${names
    .map(name => `<item><title>${name}</title><link>http://pages.example/${name}</link></item>`)
    .join('')}</channel></rss>`;

/** A tree of lists, and what each of its documents names. */
function treeAt(url: string) {
  const documents: Record<string, string | Buffer> = {
    '/robots.txt': `User-agent: *\nDisallow:\nSitemap: ${url}/i.xml\nSitemap: ${url}/top.txt\n`,
    '/i.xml': index(`${url}/a.xml`, `${url}/deep.xml`, `${url}/t.txt`).replace(
      '</sitemapindex>',
      `${page('home')}</sitemapindex>`,
    ),
    '/deep.xml': gzipSync(index(`${url}/b.xml`, `${url}/c.txt`)),
    '/a.xml': urlset(
      page('a1', '2026-01-01'),
      '<url ><loc>http://pages.example/a2?x&amp;y</loc></url>',
      page('a3'),
    ),
    '/b.xml': gzipSync(urlset(page('b1'), page('b2'))),
    '/c.txt': gzipSync('http://pages.example/c1\nhttp://pages.example/c2\n'),
    '/t.txt': 'http://pages.example/t1\nhttp://pages.example/t2\nhttp://pages.example/t3',
    '/top.txt': 'http://pages.example/top1\r\nhttp://pages.example/top2\r\n',
  };
  return documents;
}

type Fault = { at: number; how: 'length' | 'reset' | 'end' | 'cut' | 'status' | 'entry'; with: string };

/** How an entry is spoilt so that nobody can say what it was. */
const SPOILT = ['ftp://x/', '\ufffd', '&nbsp;', '', 'http://[', '<x>', '/relative', '&', '\0'];

function answerOf(body: Buffer, { at, how, with: what }: Fault): string | Buffer | SiteAnswer | undefined {
  const cut = body.subarray(0, at % body.length);
  const raw =
    (head: string, end: 'end' | 'resetAndDestroy'): SiteAnswer =>
    (_, response) => {
      const socket = response.socket!;
      const bytes = Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${head}\r\n`), cut]);
      if (end === 'end') socket.end(bytes);
      else socket.write(bytes, () => void socket.resetAndDestroy());
    };
  switch (how) {
    case 'length':
      return raw(`Content-Length: ${body.length}\r\n`, 'end');
    case 'reset':
      return raw('', 'resetAndDestroy');
    case 'end':
      // Where a line ends nobody can see that more was to come.
      return isText(body) && cut.length > 0 && cut.at(-1) === 0x0a ? body : raw('', 'end');
    case 'cut':
      return isText(body) || cut.length === 0 ? body : cut;
    case 'status':
      return (_, response) => void response.writeHead(at % 2 === 0 ? 500 : 429).end();
    case 'entry': {
      const text = body.toString('latin1');
      const places = [...text.matchAll(/http:\/\/[^<\s]+/g)];
      const place = places[at % Math.max(1, places.length)];
      // An empty line of a text says that there is none.
      if (place === undefined || (what === '' && isText(body) && !text.startsWith('User'))) return body;
      return Buffer.from(
        text.slice(0, place.index) + what + text.slice(place.index + place[0].length),
        'latin1',
      );
    }
  }
}

function isText(body: Buffer): boolean {
  return body[0] !== 0x3c && body[0] !== 0x1f;
}

async function neverDeletes(numRuns: number): Promise<void> {
  const lists = await Lists.listen();
  const tree = treeAt(lists.url);
  const put = () => {
    for (const [path, document] of Object.entries(tree)) lists.documents.set(path, document);
  };
  const site = new URL(lists.url);
  const fault = fc.record({
    at: fc.nat(2000),
    how: fc.constantFrom<Fault['how'][]>('length', 'reset', 'end', 'cut', 'status', 'entry', 'entry'),
    with: fc.constantFrom(...SPOILT),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...Object.keys(tree)), fault), { minLength: 1, maxLength: 2 }),
      fc.boolean(),
      fc.boolean(),
      async (faults, keeps, moves) => {
        const dir = freshDir();
        const stateDir = keeps ? join(dir, 'sm') : undefined;
        put();
        const good = await list([], { site, stateDir });
        assert.deepEqual([good.result?.coverage, good.urls.length], ['all', 13]);
        assert.deepEqual(deletedBy(dir, good.stream), []);
        // Nothing is gone: a page is in another list than before.
        if (moves) {
          lists.documents.set('/a.xml', urlset(page('a1'), page('a3'), page('b1')));
          lists.documents.set(
            '/b.xml',
            urlset(page('b2'), '<url><loc>http://pages.example/a2?x&amp;y</loc></url>'),
          );
        }
        for (const [path, one] of faults) {
          const body = Buffer.from(lists.documents.get(path) as string | Buffer);
          const answer = answerOf(body, one);
          if (answer !== undefined) lists.documents.set(path, answer);
          // A second fault of a document replaces the first.
          if (typeof answer === 'function') break;
        }
        for (let run = 0; run < 2; run++) {
          const done = await list([], { site, stateDir });
          assert.deepEqual(deletedBy(dir, done.stream), [], done.said.join('\n'));
        }
        // What the site does mean is done once all can be read again.
        put();
        lists.documents.set('/t.txt', 'http://pages.example/t1\nhttp://pages.example/t3\n');
        const healed = await list([], { site, stateDir });
        const deleted = deletedBy(dir, healed.stream).filter(curl =>
          /^http:\/\/pages\.example\/\w+(?:\?|$)/.test(curl),
        );
        assert.deepEqual(deleted, ['http://pages.example/t2']);
      },
    ),
    { numRuns },
  );
}

test('whatever is cut, spoilt or torn in a tree of lists, no page is deleted that the site still has', () =>
  neverDeletes(15));

longIt(
  'whatever is cut, spoilt or torn in a tree of lists, no page is deleted that the site still has, often',
  () => neverDeletes(500),
);

test('what leaves a window is not deleted, whatever comes of the other lists', async () => {
  const lists = await Lists.listen();
  const dir = freshDir();
  const news = (...names: string[]) =>
    urlset(...names.map(name => page(name).replace('</url>', '<n:news><n:title>t</n:title></n:news></url>')));
  const windows = [news, feed];
  for (const [n, of] of windows.entries()) {
    lists.documents.set('/s.xml', urlset(page('s1'), page('s2')));
    lists.documents.set('/i.xml', index(`${lists.url}/s.xml`, `${lists.url}/w`));
    lists.documents.set('/w', of('w1', 'w2'));
    const state = join(dir, String(n));
    const first = await list([`${lists.url}/i.xml`], { stateDir: state });
    assert.equal(first.result?.coverage, 'window', first.said.join());
    assert.deepEqual(deletedBy(state, first.stream), []);
    lists.documents.set('/w', of('w2', 'w3'));
    assert.deepEqual(deletedBy(state, (await list([`${lists.url}/i.xml`], { stateDir: state })).stream), []);
  }
});
