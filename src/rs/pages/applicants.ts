/** Pages for applicants, complete without JavaScript: what is taken, a form, the page of a pair. */
import { Hono, type Context } from 'hono';
import { html } from 'hono/html';
import { formatDuration } from '../../config/words.js';
import { clientOf, type NodeBindings } from '../api-parts.js';
import type { RsOptions } from '../options.js';
import type { RsRequestRefused } from '../refusal.js';
import { fieldsOf, sent, summaryOf, wrongIn } from './fields.js';
import { errorSummary, fieldOf, type Markup } from './layout.js';
import { bandwidthHint, bytesText, countText, rateText } from './numbers.js';
import { keptPair, pairBody, titleOfPair } from './pair.js';
import type { PageParts } from './parts.js';
import { factsOf } from './table.js';

const REFRESH_S = 3;

type Ask = Context<{ Bindings: NodeBindings }>;
type Fields = Readonly<Record<'url' | 'email' | 'bandwidth' | 'hours' | 'zone', string>>;

/** Code of a fault of each field, and the fields by code. */
const CODES = { url: 'address', email: 'email', bandwidth: 'bandwidth', hours: 'hours', zone: 'zone' };
const FIELDS = Object.fromEntries(Object.entries(CODES).map(([field, code]) => [code, field]));
const EMPTY: Fields = { url: '', email: '', bandwidth: '', hours: '', zone: '' };

/** `/`, `/register`, `/pair/ID`. */
export function applicantPages(parts: PageParts) {
  const { registrar, mailing, options, clock, pairSecrets, install, base, page } = parts;
  const { limits, uns } = options;
  const pages = new Hono<{ Bindings: NodeBindings }>({ strict: false });
  const register = (fields: Fields, refused?: RsRequestRefused) =>
    page({
      title: 'Register a site',
      here: '/register',
      body: form(base, options, install, fields, refused),
    });

  pages.get('/', c => c.html(page({ title: 'Welcome', body: welcome(base, options, install) })));
  pages.get('/register', c => c.html(register(EMPTY)));
  pages.post('/register', c => {
    let fields = EMPTY;
    return sent(
      c,
      async () => {
        fields = await fieldsOf(c, ['url', 'email', 'bandwidth', 'hours', 'zone']);
        const { network } = clientOf(c, options);
        const pair = registrar.issue(fields.url.trim(), fields, network, fields.email);
        return base + keptPair(pair, pairSecrets);
      },
      refused => c.html(register(fields, refused), refused.status),
    );
  });
  pages.get('/pair/:id', c => showPair(c, c.req.param('id')));
  pages.post('/pair/:id/check', async c => {
    const id = c.req.param('id');
    return sent(
      c,
      async () => {
        const { give_up: givesUp } = await fieldsOf(c, ['give_up']);
        await registrar.checkAWhile(id, givesUp === 'yes');
        return `${base}/pair/${id}`;
      },
      refused => {
        if (![409, 429].includes(refused.status)) throw refused;
        return showPair(c, id, refused);
      },
    );
  });
  pages.post('/pair/:id/cancel', c => {
    registrar.cancel(c.req.param('id'));
    return c.redirect(`${base}/cancelled`, 303);
  });
  pages.get('/cancelled', c =>
    c.html(
      page({
        title: 'Cancelled',
        body: html`<h1>The registration is cancelled</h1>
          <p>Nothing is left of it. <a href="${base}/register">Begin again</a></p>`,
      }),
    ),
  );
  return pages;

  function showPair(c: Ask, id: string, refused?: RsRequestRefused) {
    const registration = registrar.find(id);
    const { state } = registration;
    const body = pairBody({
      registration,
      secrets: pairSecrets.take(id),
      base,
      install,
      here: `${base}/pair/${id}`,
      uns,
      checksLeft: Math.max(0, limits.checks.most - registration.tries),
      nowMs: clock.nowMs(),
      address: mailing.standingOf(registration.id),
    });
    const whole = html`${refused === undefined ? '' : errorSummary([refused])} ${body}`;
    const refresh = state === 'checking' || state === 'applying' ? { refreshS: REFRESH_S } : {};
    return c.html(
      page({ title: titleOfPair(registration), body: whole, ...refresh }),
      refused?.status ?? 200,
    );
  }
}

function welcome(
  base: string,
  options: Pick<RsOptions, 'mode' | 'first' | 'mimetypes' | 'fullSetPeriodMs'>,
  install: Markup,
): Markup {
  const { mode, first } = options;
  const unasked =
    first.fullsetsallowed === 0
      ? ''
      : `${countText(first.fullsetsallowed)} in ${formatDuration(options.fullSetPeriodMs / 1000)}, and `;
  return html`<div class="columns">
      <div>
        <h1>Your site says what changed. This cache fetches exactly that.</h1>
        <p class="lead">
          No crawler that comes again and again: a line in your crontab announces the pages that are new,
          changed or gone. Only those are fetched, one at a time, at a rate and in hours that you choose.
        </p>
        ${
          mode === 'closed'
            ? closed()
            : html`<p class="actions">
                <a class="button" href="${base}/register">Register a site</a>
                <a class="button plain" href="${base}/login">Log in</a>
              </p>`
        }
      </div>
      <section class="card" aria-labelledby="first">
        <h2 id="first">What a new site may have</h2>
        ${factsOf([
          ['Pages and files', countText(first.filesmax)],
          ['Altogether', bytesText(first.spacemax)],
          ['Fetched at most at', rateText(first.bandwidth)],
          ['Types', options.mimetypes.includes('*/*') ? 'all' : options.mimetypes.join(', ')],
          ['Full sets', `${unasked}when one is wanted`],
        ])}
        <p class="soft">More is given by the operator of this cache.</p>
      </section>
    </div>
    ${mode === 'closed' ? '' : howItGoes(mode, install)}`;
}

function howItGoes(mode: string, install: Markup): Markup {
  return html`<h2>How it goes</h2>
    <ol class="steps">
      <li>
        <h3>Name a directory of your site</h3>
        <p>You get a provider number, a password, and a small file with a secret.</p>
      </li>
      <li>
        <h3>Put the file there, and say so</h3>
        <p>
          It is fetched at once. That proves that the site is yours, as you may know it from certificates;
          then you may remove it.
        </p>
      </li>
      <li>
        <h3>Install the commands, and copy one line into your crontab</h3>
        <p>
          ${mode === 'approve' ? 'The operator looks at your site first. ' : ''}From then on your site
          announces its changes by itself, and you see here how it fares.
        </p>
        ${install}
      </li>
    </ol>`;
}

function closed(): Markup {
  return html`<div class="note wait">
    <h2>New sites are not taken at the moment</h2>
    <p>Sites that are registered go on as before.</p>
  </div>`;
}

function form(
  base: string,
  { mode, mail, first }: Pick<RsOptions, 'mode' | 'mail' | 'first'>,
  install: Markup,
  fields: Fields,
  refused: RsRequestRefused | undefined,
): Markup {
  const isRequired = mail.email === 'required';
  const given = (name: keyof Fields) => ({ name, value: fields[name], ...wrongIn(refused, [CODES[name]]) });
  if (mode === 'closed' && refused === undefined)
    return html`<h1>Register a site</h1>
      ${closed()}`;
  return html`<h1>Register a site</h1>
    ${summaryOf(refused, FIELDS)}
    <p class="lead narrow">
      Next you get a number, a password, and a file to put into this directory. What follows after the address
      can be changed later.
    </p>
    <form class="card narrow" method="post" action="${base}/register" novalidate>
      ${fieldOf({ ...given('url'), label: 'Address of the directory', hint: 'As high as possible on your site, with a slash at its end: http://www.example.org/', type: 'url', autocomplete: 'url', isRequired: true })}
      ${mail.email === 'off' ? '' : fieldOf({ ...given('email'), label: 'E-mail address', hint: 'Once confirmed: for news of your site, and another password if it is lost', type: 'email', autocomplete: 'email', isRequired })}
      ${fieldOf({ ...given('bandwidth'), label: 'Fetch at most', hint: bandwidthHint(first) })}
      ${fieldOf({ ...given('hours'), label: 'Fetch in these hours only', hint: 'Hours of the day such as 0-7,22-23, or of the week, Monday 0 h first' })}
      ${fieldOf({ ...given('zone'), label: 'Time zone of these hours', hint: 'A name such as Europe/Berlin; without one, that of the cache' })}
      <button>Get a secret and a password</button>
    </form>
    <h2>On the machine of your site</h2>
    <p>It announces its changes by a line in a crontab.</p>
    ${install}`;
}
