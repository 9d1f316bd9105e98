/**
 * Script in all that applicants, providers and sites can write, in Chromium, on the pages of providers and of operators: nothing of it runs,
 * neither under the policy of our answers nor without it.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { chromium, type Browser } from 'playwright-core';
import type { RsOverview } from '../../src/wire/rs-looks.js';
import { url } from '../qm/support.js';
import { MeScene, PASSWORD, PID, ROOT } from '../rs/me-scene.js';
import { serveOperators, type ServedOperators } from '../rs/operator-pages.js';
import { overviewAt, ROW } from '../rs/overviews.js';
import { formTokenIn } from '../rs/pages-support.js';
import { freePort } from '../support/free-port.js';
import { ground } from '../web/support.js';

const CHROMIUM = '/usr/bin/chromium';
const skip = !existsSync(CHROMIUM) && process.env['CI'] !== 'true' && 'no chromium';
const on = ground({ after });

/** Ends what it may stand in, and runs in four ways. */
const ATTACK = `'"></textarea></title></script><script>ran=1</script><img src=x onerror=ran=1><svg onload=ran=1></svg><a href="javascript:ran=1">x</a>`;
/** The same as a path. */
const PATH = encodeURIComponent(ATTACK).replaceAll('%2F', '/');
const LINK = 'javascript:ran=1';
const FORMULA = '=HYPERLINK("http://evil.example.org/","x")';

interface Answer {
  html: string;
  /** Content-Security-Policy. */
  policy: string;
}

describe('script that others wrote', { skip }, () => {
  let browser: Browser;
  let scene: MeScene;
  let operators: ServedOperators;
  /** Pairs of applicants: one waits for an operator, one was refused, one has a file that is wrong. */
  const began: { capability: string; name: string }[] = [];
  before(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    scene = await MeScene.start(on, {
      'rs.smtp': `smtp://127.0.0.1:${await freePort()}`,
      'rs.mail_from': 'lcc@lcc.example.org',
      'rs.pairs_per_network': '100',
    });
    const { rs } = scene.accounts;
    operators = await serveOperators(rs, on, {
      looks: {
        overview: hostileOverview(),
        problem: ATTACK,
        providers: () => Promise.resolve({ providers: [SITE], next: null }),
      },
      ask: question => Promise.resolve(rs.ask(question)),
      mailTrouble: () => ATTACK,
    });
    await writeEverywhere();
  });
  after(async () => {
    await browser?.close();
    await operators?.server.close();
    await scene?.accounts.rs.mail.stop();
    await scene?.close();
  });

  /** All that others can write, where it is kept. */
  async function writeEverywhere(): Promise<void> {
    const { accounts, qm } = scene;
    const { rs } = accounts;
    const insert = qm.db.prepare('INSERT INTO pierr(pid, code, text, attrs) VALUES (?, ?, ?, ?)');
    for (const text of [ATTACK, LINK, FORMULA, '+1', '-1', '@x', '\t=1'])
      insert.run(PID, 404, text, ` curl="${xml(text)}" mimetype="${xml(text)}"`);
    qm.db
      .prepare('UPDATE pidb SET nurlerrs = (SELECT count(*) FROM pierr), fullsetwanted = ? WHERE pid = ?')
      .run(ATTACK, PID);
    await qm.send(PID, [url(ROOT + PATH)]);
    rs.options.mode = 'approve';
    for (const name of ['waits', 'refused', 'wrong']) {
      const pair = rs.issue(`/${name}${PATH}/`);
      began.push({ ...pair, name });
      const { answer } = rs.site;
      if (name === 'wrong') rs.site.answer = wrongFile;
      await accounts.prove(pair);
      rs.site.answer = answer;
      if (name === 'refused') rs.transitions.refuse(rs.standing(pair).id, ATTACK);
    }
    rs.db.write(() =>
      rs.db.audit.add({ event: ATTACK, registration: 1, pid: PID, by: 'provider', detail: ATTACK }, 1),
    );
    await scene.post('/me/mail', { email: 'ann@example.org' });
  }

  /** What Chromium makes of pages as they were answered. @returns what has run, and what could run */
  async function ranIn(
    where: string,
    seen: ReadonlyMap<string, Answer>,
    { underPolicy }: { underPolicy: boolean },
  ): Promise<string[]> {
    const page = await browser.newPage();
    const found: string[] = [];
    let name = '';
    page.on('console', message => void found.push(`${name} says: ${message.text()}`));
    page.on('pageerror', error => void found.push(`${name} throws: ${error.message}`));
    page.on('request', request => {
      // What our pages load themselves has another name.
      if (!request.url().startsWith(new URL('/', where).href) || request.url().endsWith('/x'))
        found.push(`${name} asks for ${request.url()}`);
    });
    let answer: Answer = { html: '', policy: '' };
    await page.route(where, route =>
      route.fulfill({
        body: answer.html,
        contentType: 'text/html',
        ...(underPolicy && { headers: { 'content-security-policy': answer.policy } }),
      }),
    );
    for ([name, answer] of seen) {
      await page.goto(where);
      for (const what of await page.evaluate<string[]>(DANGERS)) found.push(`${name}: ${what}`);
    }
    await page.close();
    return found;
  }

  async function assertHarmless(where: string, seen: ReadonlyMap<string, Answer>): Promise<void> {
    assert.deepEqual(await ranIn(where, seen, { underPolicy: true }), []);
    assert.deepEqual(await ranIn(where, seen, { underPolicy: false }), [], 'without a policy');
  }

  it('runs where a page lets it in, but under the policy of our answers, and is noticed either way', async () => {
    const [endpoint] = scene.pages.server.endpoints;
    assert.ok(endpoint?.kind === 'tcp');
    const { headers } = await scene.pages.ask('/base/');
    const policy = String(headers['content-security-policy']);
    const open = new Map([['open', { html: `<!doctype html><p title="${ATTACK}">`, policy }]]);
    const where = `http://127.0.0.1:${endpoint.port}/base/looked-at`;
    const free = (await ranIn(where, open, { underPolicy: false })).join('\n');
    for (const part of [/has run/, /onerror of IMG/, /onload of svg/, /link to javascript:/])
      assert.match(free, part);
    const held = (await ranIn(where, open, { underPolicy: true })).join('\n');
    assert.match(held, /says: .*Content Security Policy/);
    assert.doesNotMatch(held, /has run/);
  });

  it('is text on the pages of applicants and providers, in each field, address and error', async () => {
    const { pages } = scene;
    const seen = new Map<string, Answer>();
    const keep = (name: string, { html, headers }: Awaited<ReturnType<typeof pages.ask>>) => {
      assert.match(html, /&lt;script&gt;|%3Cscript%3E|javascript:/, name);
      seen.set(name, { html, policy: String(headers['content-security-policy']) });
    };
    const encoded = encodeURIComponent(ATTACK);
    const fields = { url: scene.accounts.rs.site.urlOf('/x/') };
    for (const name of ['url', 'email', 'bandwidth', 'hours', 'zone'])
      keep(`register ${name}`, await pages.ask('/base/register', { ...fields, [name]: ATTACK }));
    keep('login', await pages.ask('/base/login', { number: ATTACK, password: ATTACK, next: ATTACK }));
    keep('forgot', await pages.ask('/base/forgot', { who: ATTACK }));
    keep('forgot file', await pages.ask('/base/forgot/file', { number: ATTACK, url: ATTACK }));
    for (const { capability, name } of began)
      keep(`pair ${name}`, await pages.ask(`/base/pair/${capability}`));

    keep('overview', await scene.get('/me'));
    keep('errors', await scene.get('/me/errors'));
    for (const [path, query] of [
      ['errors', 'prefix'],
      ['receipts', 'urls'],
    ])
      keep(`${path} ${query}`, await scene.get(`/me/${path}?${query}=${encoded}`));
    const urls = encodeURIComponent([LINK, ROOT + PATH].join('\n'));
    keep('receipts', await scene.get(`/me/receipts?urls=${urls}`));
    for (const [path, name] of [
      ['roots', 'url'],
      ['terms', 'bandwidth'],
      ['terms', 'hours'],
      ['terms', 'zone'],
      ['mail', 'email'],
      ['leave', 'urls'],
    ] as const) {
      const form = { bandwidth: '', hours: '', zone: '', password: PASSWORD, [name]: ATTACK };
      keep(`${path} ${name}`, await scene.post(`/me/${path}`, form));
    }
    const removal = { root: ROOT, password: PASSWORD, urls: ATTACK };
    const path = `/me/roots/remove?root=${encodeURIComponent(ROOT)}`;
    keep('removal', await scene.post('/me/roots/remove', removal, path));
    const [endpoint] = pages.server.endpoints;
    assert.ok(endpoint?.kind === 'tcp');
    await assertHarmless(`http://127.0.0.1:${endpoint.port}/base/looked-at`, seen);
  });

  it('is no formula in a list of errors, which no browser shows as a page', async () => {
    const { html, headers } = await scene.get('/me/errors.csv');
    assert.match(String(headers['content-disposition']), /^attachment; /);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    const cells = [...html.matchAll(/(?:^|,|\r\n)(?:"((?:[^"]|"")*)"|([^",\r\n]*))/g)].map(
      ([, quoted, plain]) => quoted ?? plain ?? '',
    );
    assert.equal(cells.filter(cell => cell.includes('HYPERLINK')).length, 3);
    assert.deepEqual(
      cells.filter(cell => /^[=+\-@\t\r]/.test(cell)),
      [],
    );
  });

  it('is text on the pages of operators, be it of applicants, providers or sites', async () => {
    const { port, password } = operators;
    const seen = new Map<string, Answer>();
    let cookie = '';
    const ask = async (path: string, form?: Record<string, string>) => {
      const answer = await fetch(`http://127.0.0.1:${port}/op${path}`, {
        redirect: 'manual',
        headers: { cookie },
        ...(form !== undefined && { method: 'POST', body: new URLSearchParams(form) }),
      });
      const policy = answer.headers.get('content-security-policy') ?? '';
      return { html: await answer.text(), policy, cookie: answer.headers.get('set-cookie') };
    };
    const keep = async (path: string, form?: Record<string, string>) => {
      const answer = await ask(path, form);
      assert.match(answer.html, /&lt;script&gt;|%3Cscript%3E/, path);
      seen.set(form === undefined ? path : `${path} refused`, answer);
      return answer;
    };
    await keep('/login', { name: ATTACK, password: ATTACK });
    cookie = (await ask('/login', { name: 'ada', password })).cookie?.split(';')[0] ?? '';
    const [first] = began;
    const { id } = scene.accounts.rs.registrar.find(first?.capability ?? '');
    for (const path of ['', '/applications', '/queue', '/providers', '/daemons', '/refusals', '/audit'])
      await keep(path);
    await keep(`/providers?search=${encodeURIComponent(ATTACK)}`);
    const provider = await keep(`/providers/${PID}`);
    const form_token = formTokenIn({ ...provider, status: 200, headers: {}, location: '', cookie });
    await keep(`/applications/${id}`);
    await keep(`/applications/${id}/approve`, { form_token, filesmax: ATTACK });
    const noReason = { form_token, reason: ATTACK.repeat(8) };
    await keep(`/applications/${id}/refuse`, noReason);
    await keep(`/providers/${PID}/pause`, noReason);
    assert.deepEqual(operators.failed, []);
    await assertHarmless(`http://127.0.0.1:${port}/op/looked-at`, seen);
  });
});

/** A site that says it in each place of an answer. */
function wrongFile(request: IncomingMessage, response: ServerResponse): void {
  if (request.url === '/robots.txt') response.writeHead(404).end();
  else response.writeHead(200, ATTACK, { 'content-type': ATTACK, server: ATTACK }).end(ATTACK);
}

function xml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\t', '&#9;');
}

const SITE = { ...ROW, pid: PID, root: ATTACK, errors: 1, full_set_wanted: ATTACK };

/** With script in each text that a Queue Manager may have from others. */
function hostileOverview(): RsOverview {
  const overview = overviewAt(Date.now());
  const [daemon] = overview.daemons;
  return {
    ...overview,
    summary: ATTACK,
    reasons: [ATTACK, LINK],
    machines: [{ name: ATTACK, isHere: true, slots: 1, note: ATTACK }],
    daemons: [
      ...(daemon === undefined ? [] : [{ ...daemon, name: ATTACK, doing: ATTACK }]),
      { name: ATTACK, problem: ATTACK },
    ],
    queue: {
      ...overview.queue,
      providers: [{ pid: PID, waiting: 1, ages: [1], exact: true, state: ATTACK }],
    },
  };
}

/** What has run of the attack in a page, and what of it would if somebody clicked or loaded something. */
const DANGERS = `(() => {
  const found = 'ran' in window ? ['it has run'] : [];
  for (const element of document.querySelectorAll('*')) {
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name)) found.push(name + ' of ' + element.tagName);
      if (/^(?:href|src|action|formaction)$/i.test(name)) {
        const { protocol } = new URL(value, location);
        if (!['http:', 'https:', 'mailto:'].includes(protocol)) found.push('a link to ' + protocol);
      }
    }
  }
  return found;
})()`;
