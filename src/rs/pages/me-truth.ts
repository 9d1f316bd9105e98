/** Worth of a provider's announcements, in words for it: the score, its parts, and its effects. */
import { html } from 'hono/html';
import type { ShownProvider } from '../../db/providers/registered.js';
import type { ShownDay } from '../../db/truth/shown.js';
import type { Markup } from './layout.js';
import { countText } from './numbers.js';
import { daysTable } from './table.js';
import { agoOf } from './times.js';

type Truth = NonNullable<ShownProvider['truthfulness']>;

/** @param provider one that a Queue Manager without scores tells of has none */
export function truthSection(
  { truthfulness, fullsetsallowed }: Pick<ShownProvider, 'truthfulness' | 'fullsetsallowed'>,
  nowMs: number,
  zone: string | undefined,
): Markup | string {
  if (truthfulness === null || truthfulness === undefined) return '';
  const { score, known } = truthfulness;
  return html`<h2 id="truth">How true your announcements are</h2>
    ${
      known
        ? html`<p><b>${score} of 100.</b> ${announced(truthfulness)}</p>
            ${audited(truthfulness, nowMs, zone)}`
        : html`<p>Nothing has been compared yet. Everybody begins with ${score} of 100.</p>`
    }
    <p>${effects(truthfulness, fullsetsallowed)}</p>
    ${dayByDay(truthfulness.days)}`;
}

function announced({ changed, same, failed }: Truth): string {
  const all = changed + same + failed;
  if (all === 0) return 'You have not announced a change of a page that is kept here.';
  return `Of ${pages(all)} that you announced as changed, ${countText(changed)} had changed, ${countText(same)} had not, and ${countText(failed)} could not be fetched. Older ones count less.`;
}

function audited({ audit, late, noisy }: Truth, nowMs: number, zone: string | undefined): Markup {
  const more = [
    late === 0 ? '' : `${pages(late)} had been announced only after they were asked for: that counts half.`,
    noisy === 0 ? '' : `${pages(noisy)} differ each time they are fetched, and count nowhere.`,
  ].join(' ');
  if (audit === null) return html`<p>Nobody has compared your pages with what you announced. ${more}</p>`;
  const { at, sample, silent, least_percent: least, most_percent: most } = audit;
  return html`<p>
    ${pages(sample)} of yours, chosen at random, ${sample === 1 ? 'was' : 'were'} compared with what you
    announced, the last one ${agoOf(at * 1000, nowMs, zone)}: ${countText(silent)} had changed or gone without
    a word from you. At 95 % confidence that is at most ${most} % of all your
    pages${silent === 0 ? '' : html`, and at least ${least} %`}. ${more}
  </p>`;
}

/** Counts of each day; there is no table before anything has been counted. */
function dayByDay(days: readonly ShownDay[]): Markup | string {
  if (days.length === 0) return '';
  return html`<h3>Day by day</h3>
    ${daysTable(DAY_COLUMNS, days)}
    <p class="soft">
      Pages of each day (UTC) on which anything was counted, the newest first: announced as changed that had
      changed, had not, or could not be fetched; compared at random, those of them that had changed or gone
      without a word, and those that were announced late.
    </p>`;
}

const DAY_COLUMNS = [
  ['Changed', 'changed'],
  ['Unchanged', 'same'],
  ['Not fetched', 'failed'],
  ['Compared', 'audited'],
  ['Silent', 'silent'],
  ['Late', 'late'],
] as const;

function effects({ effects: kind, lowered, full_sets: fullSets, score }: Truth, full: number): string {
  if (kind === 'off') return 'It changes nothing for you: the operator has switched that off.';
  if (kind === 'none' && !lowered) return 'It changes nothing for you: only a score below 50 does.';
  const place = lowered ? ['your pages wait one priority lower, until the score is 60'] : [];
  const low = [
    `${fullSets} of your ${full} full sets are taken`,
    'your pages are compared five times as often',
  ];
  const all = [...place, ...(kind === 'low' ? low : [])];
  return `What it changes for you${kind === 'low' ? ', at a score below 50' : ` at ${score}`}: ${all.join('; ')}. Announce what has changed, all of it and nothing else, and it rises again.`;
}

function pages(count: number): string {
  return count === 1 ? '1 page' : `${countText(count)} pages`;
}
