/** Pages that somebody pushes, from a plugin's request to what is held: real daemons and a real site. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { freePort } from '../support/free-port.js';
import { Lcc } from '../support/lcc.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

const KEY = 'a1b2c3d4e5f6';
/** When the pages have changed that have no other validator. */
const MODIFIED = 'Sun, 29 Nov 2026 07:00:00 GMT';
const NEXT_SECOND = 'Sun, 29 Nov 2026 07:00:01 GMT';

describe('a site that pushes by IndexNow', () => {
  const asked: string[] = [];
  /** Path → what the site says the time is. */
  const clocks = new Map<string, string>();
  let site: TestSite;
  let lcc: Lcc;
  let server: string;
  let host: string;

  before(async () => {
    site = await TestSite.listen((request, response) => {
      const path = request.url ?? '';
      const page = site.pages.get(path);
      const date = clocks.get(path);
      if (page !== undefined && date !== undefined) {
        // As nginx makes it.
        const etag = `"${Date.parse(MODIFIED).toString(16)}-${page.length}"`;
        const { 'if-none-match': none, 'if-modified-since': since } = request.headers;
        const isSame = none === undefined ? since === MODIFIED : none === etag;
        asked.push(`${path} ${isSame ? 304 : 200}`);
        const head = { 'content-type': 'text/html', date, 'last-modified': MODIFIED, etag };
        response.writeHead(isSame ? 304 : 200, head);
        return void response.end(isSame ? undefined : page);
      }
      const etag = `"${createHash('md5')
        .update(page ?? '')
        .digest('hex')}"`;
      const isSame = page !== undefined && request.headers['if-none-match'] === etag;
      asked.push(`${path} ${page === undefined ? 404 : isSame ? 304 : 200}`);
      const type = path.endsWith('.txt')
        ? 'text/plain'
        : path.includes('pdf')
          ? 'application/pdf'
          : 'text/html';
      response.writeHead(page === undefined ? 404 : isSame ? 304 : 200, { 'content-type': type, etag });
      response.end(isSame ? undefined : page);
    });
    host = new URL(site.url).host;
    const port = await freePort();
    server = `http://127.0.0.1:${port}`;
    lcc = new Lcc(
      `${site.url}/`,
      `[rs]
listen = ["127.0.0.1:${port}"]
url = "${server}/lcc/"
ports = ["${new URL(site.url).port}"]
retry_ms = 50
proxies = ["127.0.0.1"]
[push]
url_interval_ms = 0
`,
    );
    await lcc.start();
    await lcc.addProvider();
    site.pages.set(`/${KEY}.txt`, `\ufeff${KEY}\r\n`);
  });
  after(async () => {
    await lcc?.remove();
    site?.close();
  });
  beforeEach(() => void (asked.length = 0));

  /** Each from a network of its own: one sender may ask ten times a second. */
  let senders = 0;
  const ask = (
    path: string,
    init: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ) => {
    const from = `192.0.${++senders % 256}.1`;
    return fetch(server + path, { ...init, headers: { ...init.headers, 'x-forwarded-for': from } });
  };

  async function post(body: object | string, path = '/indexnow') {
    const answer = await ask(path, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: answer.status, headers: answer.headers, ...((await answer.json()) as Answer) };
  }
  interface Answer {
    errorCode: string;
    message: string;
    accepted: number;
    refused: number;
  }
  const push = (paths: readonly string[], more: object = {}) =>
    post({ host, key: KEY, urlList: paths.map(path => site.urlOf(path)), ...more });
  const held = async () => (await lcc.holdings()).rows;
  const md5 = (text: string) => createHash('md5').update(text).digest('hex');

  it('has a page that is new held, one that has changed fetched, one that is as it was asked for conditionally, and one that is gone removed', async () => {
    site.pages.set('/new.html', 'first');
    const { status, accepted, refused, errorCode } = await push(['/new.html?utm_source=feed#top']);
    assert.deepEqual([status, accepted, refused, errorCode], [200, 1, 0, 'Ok']);
    const isHeld = (text: string) => async () => (await held()).includes(`new.html ${md5(text)}`);
    await until('the page is held', isHeld('first'));
    site.pages.set('/new.html', 'second');
    assert.equal((await push(['/new.html'])).status, 200);
    await until('the change is held', isHeld('second'));
    await push(['/new.html']);
    await until('it is asked for conditionally', () => asked.includes('/new.html 304'));
    site.pages.delete('/new.html');
    await push(['/new.html']);
    await until('it is gone', async () => !(await held()).some(row => row.startsWith('new.html')));
    assert.equal(
      asked.filter(one => one.includes(KEY)).length,
      1,
      'a key that was seen is not asked for again',
    );
  });

  it('has a page that changes twice in a second, both times', async () => {
    const isHeld = (text: string) => async () => (await held()).includes(`twice.html ${md5(text)}`);
    clocks.set('/twice.html', MODIFIED);
    for (const text of ['one text', 'another!']) {
      site.pages.set('/twice.html', text);
      await push(['/twice.html']);
      await until(`${text} is held`, isHeld(text));
    }
    clocks.set('/twice.html', NEXT_SECOND);
    for (const answer of ['/twice.html 200', '/twice.html 304']) {
      asked.length = 0;
      await push(['/twice.html']);
      await until(answer, () => asked.includes(answer));
      await lcc.idle();
    }
  });

  it('takes what plugins send: GET, any case and slash, a type that is none, a BOM, more members, a url for a host', async () => {
    site.pages.set('/p', 'p');
    const query = `url=${encodeURIComponent(site.urlOf('/p'))}&key=${KEY}`;
    for (const path of ['/indexnow', '/IndexNow/', '/lcc/indexnow', '/lcc/INDEXNOW/'])
      assert.equal((await ask(`${path}?${query}`)).status, 200, path);
    const sent = {
      host: `${site.url}/some/page`,
      key: KEY,
      urlList: [site.urlOf('/p')],
      source: 'plugin',
      n: 3,
    };
    const answer = await ask('/indexnow', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `\ufeff${JSON.stringify(sent)}`,
    });
    assert.deepEqual(
      [answer.status, await answer.json()],
      [200, { errorCode: 'Ok', message: '', accepted: 1, refused: 0 }],
    );
    assert.equal((await ask('/indexnow', { method: 'DELETE' })).status, 405);
  });

  it('refuses what is malformed, of another host, outside, without a key file, and says what to do', async () => {
    const of = async (body: object | string) => {
      const { status, errorCode, accepted } = await post(body);
      assert.equal(accepted, 0);
      return `${status} ${errorCode}`;
    };
    const good = { host, key: KEY, urlList: [site.urlOf('/p')] };
    for (const [body, expected] of [
      ['{', '400 InvalidRequest'],
      ['[]', '400 InvalidRequest'],
      [{ ...good, key: 7 }, '400 InvalidRequest'],
      [{ ...good, host: undefined }, '400 InvalidRequest'],
      [{ ...good, urlList: [] }, '400 InvalidRequest'],
      [{ ...good, urlList: site.urlOf('/p') }, '400 InvalidRequest'],
      [{ ...good, urlList: [3] }, '400 InvalidRequest'],
      [{ ...good, key: 'short' }, '422 InvalidKey'],
      [{ ...good, key: 'with_underscore_1' }, '422 InvalidKey'],
      [{ ...good, urlList: [site.urlOf('/p'), 'http://elsewhere.example/'] }, '422 InvalidUrls'],
      [{ ...good, urlList: ['javascript:alert(1)'] }, '422 InvalidUrls'],
      [{ ...good, keyLocation: 'http://elsewhere.example/key.txt' }, '422 InvalidKeyLocation'],
      [{ ...good, keyLocation: site.urlOf(`/${KEY}.txt?x=1`) }, '422 InvalidKeyLocation'],
      [{ ...good, keyLocation: site.urlOf(`/blog/${KEY}.txt`) }, '422 InvalidUrls'],
      [{ ...good, urlList: Array.from({ length: 10_001 }, () => site.urlOf('/p')) }, '413 TooLarge'],
      [{ ...good, key: 'no-such-key-here' }, '403 InvalidKey'],
      [{ ...good, host: 'elsewhere.example', urlList: ['http://elsewhere.example/'] }, '403 UnknownHost'],
    ] as const)
      assert.equal(await of(body), expected, JSON.stringify(body).slice(0, 200));
    const { message } = await post({
      ...good,
      host: 'elsewhere.example',
      urlList: ['http://elsewhere.example/'],
    });
    assert.match(message, /\/lcc\/register/);
    assert.doesNotMatch(asked.join(), /blog/);
    assert.equal(lcc.log.includes(KEY) || lcc.log.includes('no-such-key-here'), false, 'no key in a log');
  });

  it('bounds what a sender sends: ten requests a second, eight megabytes, and takes ten thousand urls at once', async () => {
    const query = `url=${encodeURIComponent(site.urlOf('/p'))}&key=${KEY}`;
    const from = { headers: { 'x-forwarded-for': '198.51.100.7' } };
    const answers = await Promise.all(
      Array.from({ length: 15 }, () => fetch(`${server}/indexnow?${query}`, from)),
    );
    const limited = answers.filter(({ status }) => status === 429);
    assert.ok(limited.length >= 5 - 1, `${limited.length}`);
    assert.ok(Number(limited[0]?.headers.get('retry-after')) >= 1);
    // However its length is said.
    const bytes = 9 * 1024 * 1024;
    for (const framing of ['content-length', 'chunked']) {
      const answer = await lcc.sh(
        `head -c ${bytes} /dev/zero | curl -sS -w ' %{http_code}' -H 'Transfer-Encoding: ${framing === 'chunked' ? framing : ''}' -H 'Expect:' --data-binary @- ${server}/indexnow`,
      );
      assert.match(answer.stdout, /^{"errorCode":"TooLarge".* 413$/, `${framing}: ${answer.stderr}`);
    }
    const many = Array.from({ length: 10_000 }, (_, i) => `http://elsewhere.example/${i}`);
    assert.equal((await post({ host, key: KEY, urlList: many })).status, 422);
    const some = Array.from({ length: 3000 }, () => site.urlOf(`/p?padding=${'x'.repeat(100)}`));
    assert.equal((await post({ host, key: KEY, urlList: some })).status, 200);
  });

  it('believes a key for what lies beside its file', async () => {
    site.pages.set('/blog/key.txt', 'key-of-the-blog').set('/blog/post', 'post');
    const keyLocation = site.urlOf('/blog/key.txt');
    const { status } = await push(['/blog/post'], { key: 'key-of-the-blog', keyLocation });
    assert.equal(status, 200);
    assert.equal((await push(['/p'], { key: 'key-of-the-blog', keyLocation })).status, 422);
    assert.equal((await push(['/p'], { key: 'key-of-the-blog' })).status, 403);
  });

  it('looks at each of two views of a page by its own fetch URL', async () => {
    site.pages.set('/cms/1', 'text').set('/cms/1.pdf', 'pdf');
    await lcc.deliver('partial', [
      `<url curl="${site.urlOf('/views')}" mimetype="text/html" furl="${site.urlOf('/cms/1')}"/>`,
      `<url curl="${site.urlOf('/views')}" mimetype="application/pdf" furl="${site.urlOf('/cms/1.pdf')}"/>`,
    ]);
    await until(
      'both are held',
      async () => (await held()).filter(row => row.startsWith('views ')).length === 2,
    );
    site.pages.set('/cms/1', 'newer text').delete('/cms/1.pdf');
    assert.equal((await push(['/views'])).status, 200);
    await until('one has changed, and the other is gone', async () => {
      const rows = (await held()).filter(row => row.startsWith('views '));
      return rows.length === 1 && rows[0] === `views ${md5('newer text')}`;
    });
    assert.equal(
      asked.some(one => one.startsWith('/views')),
      false,
    );
  });

  it('shows by door and day what came, and what was refused and why', async () => {
    const shown = await until('what was refused is written', async () => {
      const told = JSON.parse(await lcc.run('lccrs show --pid=1 --json')) as {
        pushes: {
          doors: string;
          days: Record<string, unknown>[];
          refusals: { reason: string; url: string }[];
        };
      };
      return told.pushes.refusals.length > 0 && told;
    });
    const { doors, days, refusals } = shown.pushes;
    assert.equal(doors, 'indexnow,ping,feed');
    const [today = {}] = days;
    assert.equal(today['door'], 'indexnow');
    assert.ok(Number(today['sent']) >= 10 && Number(today['refused']) >= 1, JSON.stringify(today));
    assert.ok(Number(today['changed']) >= 2 && Number(today['gone']) >= 2, JSON.stringify(today));
    assert.ok(
      refusals.some(({ reason }) => reason.includes('key file')),
      JSON.stringify(refusals),
    );
    assert.doesNotMatch(JSON.stringify(shown), /a1b2c3d4e5f6|no-such-key-here/);
    assert.match(
      await lcc.run('lccrs show --pid=1'),
      /^pushes +by indexnow, ping, feed; too few for a score$/m,
    );
    assert.match(
      await lcc.run('lccpidb show --pid=1'),
      /^pushes: +too few for a score; \d+ looked at in 30 days/m,
    );
  });

  it('has its door closed by lccpidb', async () => {
    await lcc.run('lccpidb set --pid=1 --push=ping,feed');
    await until('the door is closed', async () => (await push(['/p'])).status === 403);
    assert.match((await push(['/p'])).message, /takes no urls by IndexNow/);
    await lcc.run('lccpidb set --pid=1 --push=indexnow');
    await until('it is open again', async () => (await push(['/p'])).status === 200);
    const wrong = await lcc.sh('lccpidb set --pid=1 --push=index');
    assert.equal(wrong.status, 64);
    assert.match(wrong.stderr, /give some of indexnow,ping,feed, or none/);
  });
});
