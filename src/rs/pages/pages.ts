/** Pages for applicants, complete without JavaScript: what is taken, a form, the page of a pair. */
import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { html } from 'hono/html';
import { formatAmount } from '../../config/amounts.js';
import type { Clock } from '../../lib/clock.js';
import { clientAddress } from '../../web/client.js';
import { networkOf, requireOwn, type NodeBindings } from '../api.js';
import type { RsOptions } from '../options.js';
import { RsRequestRefused } from '../refusal.js';
import type { Registrar } from '../registrar.js';
import { wishesOf } from '../wishes.js';
import { capital, errorSummary, pageOf, type Markup } from './layout.js';
import { pairBody } from './pair.js';
import { ShownOnce } from './shown-once.js';
import { STYLE } from './style.js';

const CHECK_WAIT_MS = 3000;
const REFRESH_S = 3;

export interface PagesOptions {
  registrar: Pick<Registrar, 'issue' | 'find' | 'check' | 'cancel'>;
  options: Pick<RsOptions, 'url' | 'uns' | 'contact' | 'mode' | 'proxies' | 'limits' | 'first' | 'slots'>;
  clock: Clock;
  maxBodyBytes: number;
  within: (over: Promise<void>, delayMs: number) => Promise<void>;
  failed: (path: string, error: unknown) => void;
}

type Ask = Context<{ Bindings: NodeBindings }>;
type Fields = Readonly<Record<'url' | 'bandwidth' | 'hours' | 'zone', string>>;

const EMPTY: Fields = { url: '', bandwidth: '', hours: '', zone: '' };

export function pagesOf({ registrar, options, clock, maxBodyBytes, within, failed }: PagesOptions) {
  const { contact, mode, limits, uns, first } = options;
  const { origin, pathname, protocol } = new URL(options.url);
  const base = pathname.replace(/\/$/, '');
  const shownOnce = new ShownOnce(clock);
  const pages = new Hono<{ Bindings: NodeBindings }>({ strict: false });
  const page = (title: string, body: Markup, refreshS?: number) =>
    pageOf({ title, base, contact, body, ...(refreshS !== undefined && { refreshS }) });

  pages.use(async (c, next) => {
    if (protocol === 'https:') c.header('strict-transport-security', 'max-age=31536000');
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') requireOwn(c, origin);
    await next();
  });

  pages.use(
    bodyLimit({
      maxSize: maxBodyBytes,
      onError: () => {
        throw new RsRequestRefused(413, 'too-large', 'that is too much', 'send less (web.max_body_bytes)');
      },
    }),
  );

  pages.get('/static/style.css', c =>
    c.body(STYLE, 200, { 'content-type': 'text/css; charset=utf-8', 'cache-control': 'max-age=3600' }),
  );
  pages.get('/', c => c.html(page('Welcome', welcome(base, options, first))));
  pages.get('/register', c => c.html(page('Register a site', form(base, mode, EMPTY, []))));
  pages.post('/register', async c => {
    const fields = await fieldsOf(c);
    try {
      const wishes = wishesOf(fields, options.slots, clock.nowMs());
      const network = networkOf(clientAddress(c.env.incoming, options.proxies));
      const { capability, secret, password } = registrar.issue(fields.url.trim(), wishes, network);
      shownOnce.keep(capability, { secret, password });
      return c.redirect(`${base}/pair/${capability}`, 303);
    } catch (error) {
      if (!(error instanceof RsRequestRefused)) throw error;
      retryHeader(c, error);
      return c.html(page('Register a site', form(base, mode, fields, [error])), error.status);
    }
  });
  pages.get('/pair/:id', c => showPair(c, c.req.param('id')));
  pages.post('/pair/:id/check', async c => {
    const id = c.req.param('id');
    try {
      await within(registrar.check(id), CHECK_WAIT_MS);
    } catch (error) {
      if (!(error instanceof RsRequestRefused) || ![409, 429].includes(error.status)) throw error;
      retryHeader(c, error);
      return showPair(c, id, error);
    }
    return c.redirect(`${base}/pair/${id}`, 303);
  });
  pages.post('/pair/:id/cancel', c => {
    registrar.cancel(c.req.param('id'));
    return c.html(
      page(
        'Cancelled',
        html`<h1>The registration is cancelled</h1>
          <p>Nothing is left of it. <a href="${base}/register">Begin again</a></p>`,
      ),
    );
  });
  pages.all('*', () => {
    throw new RsRequestRefused(404, 'unknown', 'there is nothing here', 'check the address');
  });
  pages.onError((error, c) => {
    const shown =
      error instanceof RsRequestRefused
        ? error
        : new RsRequestRefused(503, 'failed', 'this failed', 'try again later');
    if (shown !== error) failed(c.req.path.replace(/\/pair\/[^/]+/, '/pair/ID'), error);
    const body = html`<h1>Sorry</h1>
      ${errorSummary([shown])}
      <p><a href="${base}/">To the first page</a></p>`;
    return c.html(page('Sorry', body), shown.status);
  });
  return pages;

  function showPair(c: Ask, id: string, refused?: RsRequestRefused) {
    const registration = registrar.find(id);
    const { state, prefix } = registration;
    const body = pairBody({
      registration,
      secrets: shownOnce.take(id),
      here: `${base}/pair/${id}`,
      uns,
      checksLeft: Math.max(0, limits.checks.most - registration.tries),
      nowMs: clock.nowMs(),
    });
    const whole = html`${refused === undefined ? '' : errorSummary([refused])} ${body}`;
    const refreshS = state === 'checking' || state === 'applying' ? REFRESH_S : undefined;
    return c.html(page(prefix, whole, refreshS), refused?.status ?? 200);
  }
}

function retryHeader(c: Ask, { retryAfterS }: RsRequestRefused): void {
  if (retryAfterS !== undefined) c.header('retry-after', String(retryAfterS));
}

async function fieldsOf(c: Ask): Promise<Fields> {
  const given = await c.req.parseBody();
  const text = (name: keyof Fields) => {
    const value = given[name];
    return typeof value === 'string' ? value : '';
  };
  return { url: text('url'), bandwidth: text('bandwidth'), hours: text('hours'), zone: text('zone') };
}

function welcome(base: string, { mode }: Pick<RsOptions, 'mode'>, first: RsOptions['first']): Markup {
  return html`<h1>Your site says what changed. This cache fetches exactly that.</h1>
    <p class="lead">
      No crawler that comes again and again: a line in your crontab announces the pages that are new, changed
      or gone, and only those are fetched, one at a time, at a rate and in hours that you choose.
    </p>
    <div class="card">
      <h2>What a new site may have</h2>
      <dl class="facts">
        <dt>Pages and files</dt>
        <dd>${first.filesmax.toLocaleString('en')}</dd>
        <dt>Altogether</dt>
        <dd>${formatAmount(first.spacemax, 'bytes')}</dd>
        <dt>Fetched at most at</dt>
        <dd>${first.bandwidth === 0 ? 'any rate' : formatAmount(first.bandwidth, 'bytes_per_s')}</dd>
      </dl>
    </div>
    ${
      mode === 'closed'
        ? html`<div class="note wait"><p>New sites are not taken at the moment.</p></div>`
        : html`<p>
              You prove that the site is yours with a small file, as you may know it from certificates.
              ${mode === 'approve' ? 'Then the operator looks at it.' : 'Then you can begin at once.'}
            </p>
            <p><a class="button" href="${base}/register">Register a site</a></p>`
    }`;
}

function form(base: string, mode: string, fields: Fields, errors: readonly RsRequestRefused[]): Markup {
  const wrong = new Set(errors.map(({ code }) => (code === 'address' ? 'url' : code)));
  const field = (name: keyof Fields, label: string, hint: string, isRequired: boolean, mode_ = 'text') => {
    const isWrong = wrong.has(name);
    return html`<div class="field${isWrong ? ' wrong' : ''}">
      <label for="${name}">${label}${isRequired ? '' : ' (optional)'}</label>
      <span class="hint" id="${name}-hint">${hint}</span>
      ${isWrong ? html`<span class="wrong-text" id="${name}-wrong">${capital(errors[0]?.what ?? '')}</span>` : ''}
      <input
        id="${name}"
        name="${name}"
        type="${mode_}"
        value="${fields[name]}"
        autocomplete="${name === 'url' ? 'url' : 'off'}"
        spellcheck="false"
        aria-describedby="${name}-hint${isWrong ? ` ${name}-wrong` : ''}"
        ${isRequired ? 'required' : ''}
        ${isWrong ? 'aria-invalid=true' : ''}
      />
    </div>`;
  };
  const summary = errors.map(({ what, advice, code }) => {
    const of = code === 'address' ? 'url' : code;
    return { what, advice, ...(of in fields && { field: of }) };
  });
  if (mode === 'closed' && errors.length === 0)
    return html`<h1>Register a site</h1>
      <div class="note wait"><p>New sites are not taken at the moment.</p></div>`;
  return html`<h1>Register a site</h1>
    ${errorSummary(summary)}
    <form method="post" action="${base}/register" novalidate>
      ${field('url', 'Address of the directory', 'As high as possible on your site, with a slash at its end: http://www.example.org/', true, 'url')}
      ${field('bandwidth', 'Fetch at most', 'Bytes a second, such as 500KB', false)}
      ${field('hours', 'Fetch in these hours only', 'Hours of the day such as 0-7,22-23, or of the week, Monday 0 h first', false)}
      ${field('zone', 'Time zone of these hours', 'A name such as Europe/Berlin; without one, that of the cache', false)}
      <button>Get a secret and a password</button>
    </form>`;
}
