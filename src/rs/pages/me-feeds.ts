/** Feeds of a provider: `/me/feeds`. */
import { html } from 'hono/html';
import { formatAmount, parseAmount } from '../../config/amounts.js';
import type { PolledFeed, HubState } from '../../db/rs/feeds.js';
import { USUAL_EVERY_MS } from '../feeds/book.js';
import { missesNews } from '../feeds/standing.js';
import { plainWords, type RsRequestRefused } from '../refusal.js';
import { fieldOf, formTokenField, type Markup } from './layout.js';
import { summaryOf, wrongIn } from './fields.js';
import { formPage, outcomeNote, zoneOf, type MeApp, type MeContext, type MeParts } from './me-parts.js';
import { countText } from './numbers.js';
import { tableOf, type Column } from './table.js';
import { agoOf } from './times.js';

const PATH = '/me/feeds';
const USUAL = formatAmount(USUAL_EVERY_MS, 'ms');

export function feedsPage(app: MeApp, parts: MeParts): void {
  const { feeds, base, clock } = parts;
  formPage(app, parts, {
    path: PATH,
    title: 'Feeds',
    fields: ['url', 'every', 'action'],
    first: () => ({ url: '', every: USUAL, action: '' }),
    body,
    act(c, { url, every, action }) {
      const { pid, roots } = c.var.provider;
      if (action === 'remove') feeds.remove(pid, url, 'provider');
      else feeds.add(pid, url, everyMsOf(every), roots, 'provider');
      return `${PATH}?is=done`;
    },
  });

  function body(
    c: MeContext,
    typed: Record<'url' | 'every', string>,
    refused: RsRequestRefused | undefined,
  ): Markup {
    const { pid } = c.var.provider;
    const token = formTokenField(c.var.session.formToken);
    const removing = ({ url }: PolledFeed) =>
      html`<form method="post" action="${base}${PATH}">
        ${token} <input type="hidden" name="action" value="remove" />
        <input type="hidden" name="url" value="${url}" />
        <button class="plain">Remove<span class="hidden">: ${url}</span></button>
      </form>`;
    const all = feeds.of(pid);
    return html`<h1>Feeds</h1>
      ${summaryOf(refused, { url: 'url', known: 'url', every: 'every' })} ${outcomeNote(c, 'Done.')}
      <p class="lead narrow">
        A feed of your site is read at its time, and at once when its hub or your weblog says that there is
        news: pages of items that are new or say something else are fetched, as if you had announced them.
      </p>
      ${all.length === 0 ? html`<div class="empty"><p>No feed is listed.</p></div>` : feedTable(all, clock.nowMs(), zoneOf(parts, pid), removing)}
      <form class="card narrow" method="post" action="${base}${PATH}" novalidate>
        <h2>Add one</h2>
        ${token}
        ${fieldOf({ name: 'url', label: 'Address of the feed', hint: 'RSS, Atom or JSON Feed, below one of your directories', type: 'url', autocomplete: 'url', value: typed.url, isRequired: true, ...wrongIn(refused, ['url', 'known']) })}
        ${fieldOf({ name: 'every', label: 'Read it every', hint: 'A time such as 30min or 6h', value: typed.every, ...wrongIn(refused, ['every']) })}
        <button>Add</button>
      </form>
      <p class="soft narrow">
        WordPress says by itself that there is news: name <code class="mono">${base}/ping</code> of this
        server under Settings, Writing, Update Services.
      </p>`;
  }
}

/** `30min`; NaN for what is no time. */
export function everyMsOf(text: string): number {
  if (text.trim() === '') return USUAL_EVERY_MS;
  return /[a-z]\s*$/i.test(text) ? (parseAmount(text, 'ms') ?? NaN) : NaN;
}

const HUB_WORDS: Readonly<Record<HubState, string>> = {
  none: 'none',
  asked: 'is asked',
  active: 'pushes',
  renewing: 'pushes, is asked again',
  lapsed: 'is silent',
  denied: 'refuses',
};

/** @param more a last cell of each, such as a button */
export function feedTable(
  feeds: readonly PolledFeed[],
  nowMs: number,
  zone: string | undefined,
  more?: (feed: PolledFeed) => Markup,
): Markup {
  // A provider has no lcc.toml.
  const told = (text: string) => (more === undefined ? text : plainWords(text));
  const columns: Column<PolledFeed>[] = [
    { head: 'Feed', kind: 'mono', cell: ({ url }) => url },
    {
      head: 'Read',
      cell: ({ everyMs, standing: { readMs, trouble } }) =>
        html`${readMs === undefined ? 'not yet' : agoOf(readMs, nowMs, zone)}, every
        ${formatAmount(everyMs, 'ms')}${trouble === undefined ? '' : html`<br /><span class="state bad">${told(trouble)}</span>`}`,
    },
    {
      head: 'Items',
      kind: 'number',
      cell: ({ standing: { items, left } }) =>
        html`${countText(items)}${left === 0 ? '' : html`<br /><span class="soft">${countText(left)} left out</span>`}`,
    },
    {
      head: 'Hub',
      cell: ({ standing }) =>
        html`${HUB_WORDS[standing.state]}${missesNews(standing) ? ', but misses news' : ''}${standing.hubTrouble === undefined ? '' : html`<br /><span class="soft">${told(standing.hubTrouble)}</span>`}`,
    },
    ...(more === undefined ? [] : [{ head: 'What to do with it', cell: more }]),
  ];
  return tableOf('Feeds', columns, feeds, { isHeadless: true });
}
