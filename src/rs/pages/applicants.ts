/** Pages for applicants, complete without JavaScript: what is taken, a form, the page of a pair. */
import { Hono, type Context } from 'hono';
import { html } from 'hono/html';
import { formatAmount } from '../../config/amounts.js';
import type { Clock } from '../../lib/clock.js';
import { clientAddress } from '../../web/client.js';
import { networkOf, type NodeBindings } from '../api.js';
import type { RsOptions } from '../options.js';
import { RsRequestRefused } from '../refusal.js';
import type { Registrar } from '../registrar.js';
import { wishesOf } from '../wishes.js';
import { fieldsOf } from './fields.js';
import { errorSummary, fieldOf, type Markup, type PageMaker } from './layout.js';
import { pairBody } from './pair.js';
import { ShownOnce } from './shown-once.js';

const CHECK_WAIT_MS = 3000;
const REFRESH_S = 3;

export interface ApplicantOptions {
  registrar: Pick<Registrar, 'issue' | 'find' | 'check' | 'cancel'>;
  options: Pick<RsOptions, 'uns' | 'mode' | 'proxies' | 'limits' | 'first' | 'slots'>;
  clock: Clock;
  /** Resolves after a time, or when what is waited for is over. */
  within: (over: Promise<void>, delayMs: number) => Promise<void>;
  base: string;
  page: PageMaker;
}

type Ask = Context<{ Bindings: NodeBindings }>;
type Fields = Readonly<Record<'url' | 'bandwidth' | 'hours' | 'zone', string>>;

const EMPTY: Fields = { url: '', bandwidth: '', hours: '', zone: '' };

/** `/`, `/register`, `/pair/ID`. */
export function applicantPages({ registrar, options, clock, within, base, page }: ApplicantOptions) {
  const { mode, limits, uns, first } = options;
  const shownOnce = new ShownOnce(clock);
  const pages = new Hono<{ Bindings: NodeBindings }>({ strict: false });
  const register = (fields: Fields, errors: readonly RsRequestRefused[]) =>
    page({ title: 'Register a site', here: '/register', body: form(base, mode, fields, errors) });

  pages.get('/', c => c.html(page({ title: 'Welcome', body: welcome(base, options, first) })));
  pages.get('/register', c => c.html(register(EMPTY, [])));
  pages.post('/register', async c => {
    let fields = EMPTY;
    try {
      fields = await fieldsOf(c, ['url', 'bandwidth', 'hours', 'zone']);
      const wishes = wishesOf(fields, options.slots, clock.nowMs());
      const network = networkOf(clientAddress(c.env.incoming, options.proxies));
      const { capability, secret, password } = registrar.issue(fields.url.trim(), wishes, network);
      shownOnce.keep(capability, { secret, password });
      return c.redirect(`${base}/pair/${capability}`, 303);
    } catch (error) {
      if (!(error instanceof RsRequestRefused)) throw error;
      retryHeader(c, error);
      return c.html(register(fields, [error]), error.status);
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
      page({
        title: 'Cancelled',
        body: html`<h1>The registration is cancelled</h1>
          <p>Nothing is left of it. <a href="${base}/register">Begin again</a></p>`,
      }),
    );
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
    const refresh = state === 'checking' || state === 'applying' ? { refreshS: REFRESH_S } : {};
    return c.html(page({ title: prefix, body: whole, ...refresh }), refused?.status ?? 200);
  }
}

function retryHeader(c: Ask, { retryAfterS }: RsRequestRefused): void {
  if (retryAfterS !== undefined) c.header('retry-after', String(retryAfterS));
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
  const wrongWith = (name: string) =>
    errors.find(({ code }) => (code === 'address' ? 'url' : code) === name)?.what;
  const given = (name: keyof Fields) => ({ name, value: fields[name], wrong: wrongWith(name) });
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
      ${fieldOf({ ...given('url'), label: 'Address of the directory', hint: 'As high as possible on your site, with a slash at its end: http://www.example.org/', type: 'url', autocomplete: 'url', isRequired: true })}
      ${fieldOf({ ...given('bandwidth'), label: 'Fetch at most', hint: 'Bytes a second, such as 500KB' })}
      ${fieldOf({ ...given('hours'), label: 'Fetch in these hours only', hint: 'Hours of the day such as 0-7,22-23, or of the week, Monday 0 h first' })}
      ${fieldOf({ ...given('zone'), label: 'Time zone of these hours', hint: 'A name such as Europe/Berlin; without one, that of the cache' })}
      <button>Get a secret and a password</button>
    </form>`;
}
