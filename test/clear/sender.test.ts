/** One rail over real sockets: what it is asked, and what is made of every way in which it answers, or does not. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { SenderLimits } from '../../src/clear/options.js';
import { readSecrets, type Secrets } from '../../src/clear/rails/secrets.js';
import { requireSafeUrl } from '../../src/clear/rails/rail-requests.js';
import { senderFor, type RailAnswer } from '../../src/clear/rails/sender.js';
import type { PageTask } from '../../src/clear/rails/unit.js';
import type { RailSetup } from '../../src/db/clear/rails.js';
import { systemClock } from '../../src/lib/clock.js';
import { newHome, railOf } from '../db/clear/support.js';
import { Authority } from '../fetch/authority.js';
import { rawServer, type Behaviour } from '../fetch/support.js';
import { noRails, startRail, type TestRail } from '../support/rails.js';

const LIMITS: SenderLimits = {
  connectTimeoutMs: 20_000,
  answerTimeoutMs: 20_000,
  totalTimeoutMs: 60_000,
  keepAliveMs: 4000,
  allowPlain: false,
};
/** Where no answer comes. */
const IMPATIENT: SenderLimits = { ...LIMITS, answerTimeoutMs: 300 };
const NO_SECRETS: Secrets = new Map();

const clear = (url: string): PageTask => ({ url, contentId: url.slice(1), op: 'D' });
function put(url: string, text: string): PageTask {
  return { url, contentId: '', op: 'P', body: { bytes: { bytes: Buffer.from(text) }, sha: text, seq: 1 } };
}

/** What comes of one request to a rail. */
function send(
  rail: Partial<RailSetup>,
  task: PageTask,
  secrets = NO_SECRETS,
  limits = LIMITS,
): Promise<RailAnswer> {
  return new Promise(resolve => {
    const sender = senderFor(railOf('r1', 'us', rail), secrets, limits, systemClock);
    sender.send([task], answer => {
      sender.close();
      resolve(answer);
    });
  });
}

/** … and the head of what a rail was asked that behaves so. */
async function sendTo(
  behave: Behaviour,
  task = clear('/a.html'),
  rail: Partial<RailSetup> = {},
  secrets = NO_SECRETS,
  limits = LIMITS,
) {
  const server = await rawServer(behave);
  const answer = await send({ url: server.url, ...rail }, task, secrets, limits);
  return { answer, requests: server.requests };
}

const saying =
  (status: string, headers = '') =>
  (socket: { write(text: string): unknown }) =>
    void socket.write(`HTTP/1.1 ${status}\r\n${headers}Content-Length: 0\r\n\r\n`);

describe('a rail is asked', () => {
  it('to remove a page, with its login and host, and nothing as a body', async () => {
    const secrets: Secrets = new Map([['fleet', { basic: 'bot:word', headers: ['x-key', 'k'] }]]);
    const rail = { authRef: 'fleet', host: 'www.example.org' };
    const { answer, requests } = await sendTo(saying('204 No Content'), clear('/a/b.html'), rail, secrets);
    assert.deepEqual([answer.outcome, answer.isAnswered], [{ kind: 'done' }, true]);
    const lines = requests[0]?.toLowerCase().split('\r\n') ?? [];
    assert.equal(lines[0], 'delete /a/b.html http/1.1');
    for (const line of [
      'host: www.example.org',
      `authorization: basic ${btoa('bot:word').toLowerCase()}`,
      'x-key: k',
    ])
      assert.ok(lines.includes(line), `${line} in ${lines.join(', ')}`);
    assert.ok(!lines.some(line => /^(content-length|transfer-encoding)/.test(line)));
  });

  it('below the path of its url, and with a token if that is its login', async () => {
    const secrets: Secrets = new Map([['cdn', { bearer: 'token', headers: [] }]]);
    const server = await rawServer(saying('200 OK'));
    await send({ url: `${server.url}dav/`, authRef: 'cdn' }, clear('/a.html'), secrets);
    assert.match(server.requests[0] ?? '', /^DELETE \/dav\/a\.html /);
    assert.match(server.requests[0] ?? '', /^authorization: Bearer token\r?$/im);
  });

  it('to put a page whole, with its length', async () => {
    const { answer, requests } = await sendTo(saying('201 Created'), put('/a.html', 'twelve bytes'));
    assert.equal(answer.outcome.kind, 'done');
    assert.match(requests[0] ?? '', /^PUT \/a\.html [^]*^content-length: 12\r?$/im);
    assert.doesNotMatch(requests[0] ?? '', /range|chunked|if-match/i);
  });
});

describe('what a rail does means', () => {
  const cases: [what: string, behave: Behaviour, kind: string, error: RegExp][] = [
    [
      '200 with garbage',
      socket => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\0\0\0\0\0'),
      'done',
      /^$/,
    ],
    ['no HTTP', socket => socket.write('220 mail.example.org ESMTP\r\n\r\n'), 'retry', /malformed/],
    ['a reset', socket => void socket.resetAndDestroy(), 'retry', /reset/],
    ['an end without an answer', socket => void socket.end(), 'retry', /reset/],
    ['silence', () => undefined, 'unanswered', /headers-timeout/],
    [
      'half an answer',
      socket => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'),
      'unanswered',
      /idle-timeout/,
    ],
    [
      'half an answer that ends',
      socket => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'),
      'done',
      /^$/,
    ],
    [
      'half a refusal that ends',
      socket => socket.end('HTTP/1.1 403 No\r\nContent-Length: 9\r\n\r\nx'),
      'config',
      /403/,
    ],
    ['text that is called gzip', saying('200 OK', 'Content-Encoding: gzip\r\n'), 'done', /^$/],
    ['a coding of nobody', saying('200 OK', 'Content-Encoding: exi\r\n'), 'done', /^$/],
    ['a folded header', saying('200 OK', 'X: a\r\n b\r\n'), 'done', /^$/],
    ['401', saying('401 Unauthorized'), 'config', /status 401/],
    ['405', saying('405 Method Not Allowed'), 'config', /status 405/],
    ['409', saying('409 Conflict'), 'dead', /status 409: a folder is in its place/],
    ['413', saying('413 Content Too Large'), 'dead', /status 413/],
    ['429', saying('429 Too Many Requests', 'Retry-After: 7\r\n'), 'retry', /status 429/],
    ['507', saying('507 Insufficient Storage'), 'retry', /status 507/],
    ['a redirect', saying('301 Moved', 'Location: http://127.0.0.1:1/\r\n'), 'config', /status 301/],
    [
      'a redirect to the same over TLS',
      saying('308 X', 'Location: https://h/a.html\r\n'),
      'config',
      /status 308/,
    ],
    [
      'a redirect to its folder',
      saying('301 Moved', 'Location: /a.html/\r\n'),
      'dead',
      /status 301: a folder/,
    ],
    [
      'a page that never ends',
      socket => socket.write(`HTTP/1.1 404 Not Found\r\n\r\n${'x'.repeat(100_000)}`),
      'done',
      /^$/,
    ],
  ];
  for (const [what, behave, kind, error] of cases)
    it(`${kind}: ${what}`, async () => {
      const limits = kind === 'unanswered' ? IMPATIENT : LIMITS;
      const { answer } = await sendTo(behave, clear('/a.html'), {}, NO_SECRETS, limits);
      assert.equal(answer.outcome.kind, kind);
      assert.match('error' in answer.outcome ? answer.outcome.error : '', error);
      if (what === '429')
        assert.deepEqual(answer.outcome, { kind: 'retry', error: 'status 429', afterMs: 7000 });
    });

  it('dead: a page with a folder in its place, for which folders were made in vain', async () => {
    const asked: string[] = [];
    const { answer } = await sendTo(
      (socket, head) => {
        asked.push(/(?:PUT|MKCOL) \S+/.exec(head)?.[0] ?? '');
        socket.write(
          `HTTP/1.1 ${/PUT/.test(head) ? '409 Conflict' : '405 Not Allowed'}\r\nContent-Length: 0\r\n\r\n`,
        );
      },
      put('/x/folder', 'text'),
    );
    assert.deepEqual(asked, ['PUT /x/folder', 'MKCOL /x/', 'PUT /x/folder']);
    assert.equal(answer.outcome.kind, 'dead');
  });

  it('of a cache that gets a page again: what is no page has taken its place where readers get it, too', async () => {
    const refresh = (site: string, readers: string, task = clear('/a.html')) =>
      sendTo(
        (socket, head) => {
          const status = /^x-lcc-refresh: 1/im.test(head) ? site : readers;
          socket.write(
            `HTTP/1.1 ${status} X\r\nLocation: http://www.example.org/b\r\nContent-Length: 0\r\n\r\n`,
          );
        },
        task,
        { driver: 'nginx-refresh', host: 'www.example.org', authRef: 'caches' },
        new Map([['caches', { bearer: 'TOKEN', headers: [] }]]),
      );
    const renewed = { ...put('/a.html', ''), body: { bytes: { bytes: Buffer.alloc(0) }, sha: '', seq: 1 } };
    for (const status of ['301', '302', '308', '401', '403']) {
      for (const task of [clear('/a.html'), renewed])
        assert.equal((await refresh(status, status, task)).answer.outcome.kind, 'done', status);
      const kept = await refresh(status, '200');
      assert.deepEqual(kept.answer.outcome, {
        kind: 'config',
        error: `status ${status}, and readers get 200: the cache keeps the page (proxy_cache_valid ${status})`,
      });
      assert.match(kept.requests[0] ?? '', /^authorization: Bearer TOKEN/im);
      assert.doesNotMatch(kept.requests[1] ?? '', /TOKEN|x-lcc-refresh/i);
      assert.match(kept.requests[1] ?? '', /^GET \/a\.html [^]*^host: www\.example\.org/im);
    }
    assert.equal((await refresh('404', '404')).answer.outcome.kind, 'done');
    assert.equal((await refresh('404', '200')).answer.outcome.kind, 'config');
    assert.equal((await refresh('404', '404', renewed)).answer.outcome.kind, 'config', 'it was published');
    assert.equal((await refresh('301', '503')).answer.outcome.kind, 'config');
    const once = await refresh('200', '500');
    assert.deepEqual([once.answer.outcome.kind, once.requests.length], ['done', 1]);
  });

  it('unreachable: nothing listens, the name is unknown, TLS with a certificate of nobody', async () => {
    const { cert, key } = new Authority().issue();
    const port = await tlsServer({ cert, key });
    for (const url of ['http://127.0.0.1:1/', `https://localhost:${port}/`, `https://nowhere.invalid/`]) {
      const { outcome, isAnswered } = await send({ url }, clear('/a'));
      assert.deepEqual([outcome.kind, isAnswered], ['unreachable', false], url);
    }
  });

  it('config: what it is set up with cannot be used', async () => {
    const wrong: [Partial<RailSetup>, RegExp][] = [
      [{ driver: 'mod_put' }, /no driver mod_put/],
      [{ opts: '{"x":1}' }, /no option x/],
      [{ authRef: 'none' }, /the file of secrets has no \[none\]/],
      [{ url: 'http://192.0.2.1/' }, /is plain text; use https/],
    ];
    for (const [rail, error] of wrong) {
      const { outcome } = await send(rail, clear('/a'));
      assert.ok(outcome.kind === 'config' && error.test(outcome.error), JSON.stringify(outcome));
    }
    requireSafeUrl({ name: 'r1', url: 'http://192.0.2.1/' }, true);
  });
});

function tlsServer(options: ServerOptions): Promise<number> {
  const server = createTlsServer(options, (_request, response) => void response.writeHead(204).end());
  after(() => server.close());
  server.unref();
  return new Promise(
    resolve => void server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  );
}

it('a rail over TLS is shown a certificate, and its own is checked', async () => {
  const authority = new Authority();
  const [own, client] = [authority.issue(), authority.issue()];
  const port = await tlsServer({ ...own, ca: authority.ca, requestCert: true, rejectUnauthorized: true });
  const rail = { url: `https://localhost:${port}/`, authRef: 'fleet' };
  const { ca } = authority;
  const known: Secrets = new Map([
    ['fleet', { ca, identity: { cert: String(client.cert), key: String(client.key) }, headers: [] }],
  ]);
  assert.equal((await send(rail, clear('/a'), known)).outcome.kind, 'done');
  const unknown: Secrets = new Map([['fleet', { ca, headers: [] }]]);
  assert.notEqual((await send(rail, clear('/a'), unknown)).outcome.kind, 'done');
});

it('a rail over TLS that is asked for another host has a certificate for that one, not for the name in its url', async () => {
  const authority = new Authority();
  const port = await tlsServer(authority.issue());
  const logins: Secrets = new Map([['fleet', { ca: authority.ca, headers: [] }]]);
  const askedFor = (host: string) =>
    send({ url: `https://localhost:${port}/`, authRef: 'fleet', host }, clear('/a'), logins);
  assert.equal((await askedFor('localhost')).outcome.kind, 'done');
  const { outcome } = await askedFor('www.example.org');
  assert.ok(
    outcome.kind === 'unreachable' && /www\.example\.org/.test(outcome.error),
    JSON.stringify(outcome),
  );
});

describe('a page that a cache is made to get again', () => {
  const refresh = (behave: Behaviour, limits = LIMITS) =>
    rawServer(behave).then(({ url }) =>
      send({ url, driver: 'nginx-refresh' }, clear('/a'), NO_SECRETS, limits),
    );
  const piece = Buffer.alloc(1024 * 1024, 'x');

  it('is read to its end, however long it is', async () => {
    const { outcome } = await refresh(socket => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${9 * piece.length}\r\n\r\n`);
      for (let i = 0; i < 9; i++) socket.write(piece);
    });
    assert.deepEqual(outcome, { kind: 'done' });
  });

  it('has an end when the total time is over', async () => {
    const goOn = (socket: Socket): void =>
      void socket.write(piece, error => {
        if (!error && !socket.destroyed) goOn(socket);
      });
    const { outcome } = await refresh(
      socket => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff0\r\n');
        goOn(socket);
      },
      { ...LIMITS, totalTimeoutMs: 500 },
    );
    // The rail answers: it must not be DOWN for a page that is long.
    assert.ok(outcome.kind === 'retry' && /total-timeout/.test(outcome.error), JSON.stringify(outcome));
  });
});

describe('a real rail', { skip: noRails }, () => {
  const rails: TestRail[] = [];
  after(() => Promise.all(rails.map(rail => rail.stop())));

  for (const kind of ['apache', 'nginx'] as const)
    it(`of ${kind} has a page put into folders that were not there, and removed`, async () => {
      const rail = await startRail(kind, join(newHome(), 'r1'));
      rails.push(rail);
      const setup = { url: rail.url, driver: `${kind}-dav` };
      const page = join(rail.docroot, 'a/b/c.html');
      assert.deepEqual((await send(setup, put('/a/b/c.html', 'first'))).outcome, { kind: 'done' });
      assert.deepEqual((await send(setup, put('/a/b/c.html', 'second'))).outcome, { kind: 'done' });
      assert.equal(readFileSync(page, 'utf8'), 'second');
      for (let times = 0; times < 2; times++)
        assert.deepEqual((await send(setup, clear('/a/b/c.html'))).outcome, { kind: 'done' });
      assert.ok(!existsSync(page) && existsSync(join(rail.docroot, 'a/b')));
    });

  for (const kind of ['apache', 'nginx'] as const)
    it(`of ${kind}, for which a page has a folder in its place or a file above it, names it dead, but for a 500`, async () => {
      const rail = await startRail(kind, join(newHome(), 'r2'));
      rails.push(rail);
      rail.write(['/file', '/folder/in/it']);
      const setup = { url: rail.url, driver: `${kind}-dav` };
      for (const url of ['/file/below', '/file/b/c', '/folder', '/folder/in'])
        for (const task of [put(url, 'x'), clear(url)]) {
          const { outcome } = await send(setup, task);
          const isUnclear = kind === 'nginx' && task.op === 'P' && url.startsWith('/file/');
          if (isUnclear) assert.deepEqual(outcome, { kind: 'retry', error: 'status 500' });
          else assert.equal(outcome.kind, 'dead', `${task.op} ${url}: ${JSON.stringify(outcome)}`);
        }
      assert.deepEqual(rail.pages(), ['/file', '/folder/in/it']);
    });
});

describe('the file of secrets', () => {
  const file = join(newHome(), 'secrets.toml');
  const write = (text: string, mode = 0o600) => {
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text, { mode });
    return file;
  };

  it('has a login for each name', () => {
    assert.equal(readSecrets(join(newHome(), 'none')).size, 0);
    const found = readSecrets(
      write('[a]\nbasic = "u:p:q"\n[b]\nbearer = "t"\nheaders = { X-Key = "k", y = "z" }\n'),
    );
    assert.deepEqual(
      [...found],
      [
        ['a', { basic: 'u:p:q', headers: [] }],
        ['b', { bearer: 't', headers: ['x-key', 'k', 'y', 'z'] }],
      ],
    );
  });

  it('is refused with what is wrong, and never with what it holds', () => {
    const wrong: [text: string, why: RegExp][] = [
      ['[a\nbasic = "hidden"', /no TOML/],
      ['a = "hidden"', /\[a\]: write a table/],
      ['[a]\nuser = "hidden"', /unknown key user; there are basic, /],
      ['[a]\nbasic = "hidden"', /basic: write user:password/],
      ['[a]\nbearer = "hidden\\nx"', /bearer: give a text on one line/],
      ['[a]\nheaders = { "a b" = "hidden" }', /headers: write/],
      ['[a]\ncert = "/nowhere/hidden"', /cert: ENOENT/],
      ['[a]\nkey = 7', /key: give a text/],
    ];
    for (const [text, why] of wrong)
      assert.throws(
        () => readSecrets(write(text)),
        (error: { code?: string; message?: string }) => {
          assert.equal(error.code, 'config');
          assert.match(String(error.message), why);
          if (!text.includes('/nowhere')) assert.doesNotMatch(String(error.message), /hidden/);
          return true;
        },
      );
  });
});
