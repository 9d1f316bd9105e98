/** When and how fast a provider wants to be fetched from: `/me/terms`. */
import { html } from 'hono/html';
import { ALWAYS, formatHours, WEEK_SLOTS } from '../../config/hours.js';
import type { RsRequestRefused } from '../refusal.js';
import { bandwidthText } from '../wishes.js';
import { fieldOf, formTokenField, type Markup } from './layout.js';
import { summaryOf, wrongIn } from './fields.js';
import { formPage, outcomeNote, stateOf, type MeApp, type MeContext, type MeParts } from './me-parts.js';
import { bandwidthHint, rateText } from './numbers.js';
import { factsOf } from './table.js';

const PATH = '/me/terms';
const NAMES = ['bandwidth', 'hours', 'zone'] as const;
type Typed = Readonly<Record<(typeof NAMES)[number], string>>;

export function termsPage(app: MeApp, parts: MeParts): void {
  const { account, base, options, db } = parts;
  formPage(app, parts, {
    path: PATH,
    title: 'Terms',
    fields: NAMES,
    first: standing,
    body,
    async act(c, typed) {
      const written = { ...typed, hours: typed.hours === '' ? 'always' : typed.hours };
      return `${PATH}?is=${stateOf(await account.changeTerms(c.var.provider.pid, written))}`;
    },
  });

  /** As the form begins. */
  function standing(c: MeContext): Typed {
    const { pid, bandwidth } = c.var.provider;
    const { hours = null, zone = null } = db.providers.get(pid) ?? {};
    return {
      bandwidth: bandwidth === 0 ? '' : bandwidthText(bandwidth),
      hours: hours === null ? 'always' : formatHours(hours),
      zone: zone ?? '',
    };
  }

  function body(c: MeContext, typed: Typed, refused: RsRequestRefused | undefined): Markup {
    const { pid, bandwidth, origin, timeofday } = c.var.provider;
    const own = db.providers.get(pid);
    const mask = own === undefined ? timeofday : (own.hours ?? '');
    const zone = own?.zone ?? 'the zone of this cache';
    const field = (name: keyof Typed) => ({ name, value: typed[name], ...wrongIn(refused, [name]) });
    return html`<h1>Terms</h1>
      ${summaryOf(refused, { bandwidth: 'bandwidth', hours: 'hours', zone: 'zone' })}
      ${outcomeNote(c, 'Your terms are changed.')}
      <div class="card narrow">
        ${factsOf([
          ['Fetched at most at', rateText(bandwidth)],
          [
            'Fetched in these hours',
            mask === ''
              ? 'always'
              : `${formatHours(mask)}, ${mask.length === WEEK_SLOTS ? 'hours of the week, ' : ''}${zone}`,
          ],
        ])}
        ${hoursPicture(mask)}
      </div>
      ${
        origin === 'rs'
          ? html`<form class="card narrow" method="post" action="${base}${PATH}" novalidate>
              <h2>Change them</h2>
              ${formTokenField(c.var.session.formToken)}
              ${fieldOf({ ...field('bandwidth'), label: 'Fetch at most', hint: bandwidthHint(options.first) })}
              ${fieldOf({ ...field('hours'), label: 'Fetch in these hours only', hint: 'Hours of the day such as 0-7,22-23, or of the week, Monday 0 h first; or always' })}
              ${fieldOf({ ...field('zone'), label: 'Time zone of these hours', hint: 'A name such as Europe/Berlin; without one, that of the cache' })}
              <button>Change</button>
            </form>`
          : html`<p>Your operator has set these terms; ask there to have them changed.</p>`
      }`;
  }
}

const DAY = 24;
const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;
const [CELL, HIGH, TOP] = [14, 12, 12];
/** Room for the names of days, or for half of the first number. */
const [BESIDE_WEEK, BESIDE_DAY] = [30, 4];

/**
 * Hours as a picture, beside the words that say the same.
 * @param mask 24 or 168 characters 0/1, '' = always
 */
function hoursPicture(mask: string): Markup {
  const flags = mask === ALWAYS ? '1'.repeat(DAY) : mask;
  const rows = Array.from({ length: flags.length / DAY }, (_, day) =>
    flags.slice(day * DAY, (day + 1) * DAY),
  );
  const isWeek = flags.length === WEEK_SLOTS;
  const left = isWeek ? BESIDE_WEEK : BESIDE_DAY;
  return html`<svg
    class="hours"
    viewBox="0 0 ${String(left + DAY * CELL + 8)} ${String(TOP + rows.length * (HIGH + 2) + 2)}"
    aria-hidden="true"
    focusable="false"
  >
    ${[0, 6, 12, 18, 24].map(hour => html`<text x="${String(left + hour * CELL)}" y="8" text-anchor="middle">${String(hour)}</text>`)}
    ${rows.map((row, day) => {
      const y = TOP + day * (HIGH + 2);
      return html`${isWeek ? html`<text x="0" y="${String(y + 9.5)}">${DAYS[day] ?? ''}</text>` : ''}
      ${Array.from(row, (flag, hour) => html`<rect class="${flag === '1' ? 'on' : 'off'}" x="${String(left + hour * CELL + 0.5)}" y="${String(y)}" width="${String(CELL - 1)}" height="${String(HIGH)}" rx="2" />`)}`;
    })}
  </svg>`;
}
