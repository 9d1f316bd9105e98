/** Receipts: the outcome for urls that a provider has announced. */
import { html } from 'hono/html';
import { MAX_URL_LENGTH, type UrlStanding } from '../../wire/qm-rs.js';
import type { UrlLife } from '../../wire/url-life.js';
import { addressOf } from './addresses.js';
import { adviceOf } from './advice.js';
import { errorSummary, type Markup } from './layout.js';
import { livesBody } from './url-life.js';
import { bytesText, countText } from './numbers.js';
import { agoOf } from './times.js';

/** Asked about at a time: they are part of the address of the page. */
export const RECEIPTS_PAGE = 20;

export interface ReceiptsView {
  base: string;
  /** As they were typed. */
  typed: string;
  urls: readonly string[];
  /** In the order of `urls`. */
  standings: readonly (readonly UrlStanding[])[];
  /** Where one is asked for. */
  lives: readonly UrlLife[];
  nowMs: number;
  zone: string | undefined;
}

/** Addresses, one a line; of a longer one than any that is announced its beginning. */
export function urlsIn(typed: string): string[] {
  return [...new Set(typed.match(/\S+/g))].map(url => url.slice(0, MAX_URL_LENGTH));
}

export function receiptsBody(view: ReceiptsView): Markup {
  const { base, typed, urls } = view;
  const tooMany = urls.length > RECEIPTS_PAGE;
  return html`<h1>Receipts</h1>
    <p class="lead narrow">What became of a page: whether it waits, is kept, is gone, or failed.</p>
    ${
      tooMany
        ? errorSummary([
            {
              what: `these are ${countText(urls.length)} addresses`,
              advice: `give ${RECEIPTS_PAGE} at a time`,
              field: 'urls',
            },
          ])
        : ''
    }
    <form class="card narrow" method="get" action="${base}/me/receipts">
      <div class="field">
        <label for="urls">Addresses of your pages</label>
        <span class="hint" id="urls-hint"
          >One a line, as your site announces them; ${RECEIPTS_PAGE} at most. All is told where there is
          one</span
        >
        <textarea
          id="urls"
          name="urls"
          rows="4"
          spellcheck="false"
          autocapitalize="off"
          aria-describedby="urls-hint"
        >
${typed}</textarea>
      </div>
      <button>Look them up</button>
    </form>
    ${urls.length === 0 || tooMany ? '' : table(view)}`;
}

function table({ urls, standings, lives, nowMs, zone }: ReceiptsView): Markup {
  return html`<h2 id="found">How they stand</h2>
    <div class="table stacks">
      <table aria-labelledby="found">
        <thead>
          <tr>
            <th scope="col">Address</th>
            <th scope="col">State</th>
            <th scope="col">More</th>
          </tr>
        </thead>
        <tbody>
          ${urls.flatMap((url, i) => rowsOf(url, standings[i] ?? [], nowMs, zone))}
        </tbody>
      </table>
    </div>
    ${livesBody(lives, zone)}`;
}

function rowsOf(
  url: string,
  standings: readonly UrlStanding[],
  nowMs: number,
  zone: string | undefined,
): Markup[] {
  if (standings.length === 0)
    return [
      html`<tr>
        <td class="address">${addressOf(url)}</td>
        <td><span class="state">not known</span></td>
        <td>It was never announced, or is gone for long. Compare it, letter by letter, with your list.</td>
      </tr>`,
    ];
  return standings.map(standing => {
    const [tone, word, more] = shown(standing, nowMs, zone);
    return html`<tr>
      <td class="address">${addressOf(url)} <span class="soft">${standing.mimetype}</span></td>
      <td><span class="state ${tone}">${word}</span></td>
      <td>${more}</td>
    </tr>`;
  });
}

function shown(
  standing: UrlStanding,
  nowMs: number,
  zone: string | undefined,
): [tone: string, word: string, more: Markup | string] {
  switch (standing.state) {
    case 'waiting':
      return [
        'wait',
        'waits',
        standing.tries === 0
          ? 'It is fetched when its turn comes.'
          : `It was tried ${countText(standing.tries)} times.`,
      ];
    case 'held':
      return [
        'good',
        'kept',
        html`${bytesText(standing.bytes)}, fetched ${agoOf(standing.at * 1000, nowMs, zone)}`,
      ];
    case 'gone':
      return ['wait', 'gone', html`It was removed ${agoOf(standing.at * 1000, nowMs, zone)}.`];
    case 'error': {
      const { means, todo } = adviceOf(standing.code);
      return ['bad', `failed (${standing.code})`, `${means} ${todo}`];
    }
  }
}
