/** Receipts: the outcome for urls that a provider has announced. */
import { html } from 'hono/html';
import { MAX_URL_LENGTH, type UrlStanding } from '../../wire/qm-rs.js';
import type { UrlLife } from '../../wire/url-life.js';
import { adviceOf } from './advice.js';
import { addressOf, errorSummary, type Markup } from './layout.js';
import { livesBody } from './url-life.js';
import { bytesText, countText } from './numbers.js';
import { tableOf, type Column } from './table.js';
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

interface ReceiptRow {
  url: string;
  standing: UrlStanding | undefined;
}

function table({ urls, standings, lives, nowMs, zone }: ReceiptsView): Markup {
  const rows = urls.flatMap((url, i): ReceiptRow[] => {
    const all = standings[i] ?? [];
    return all.length === 0 ? [{ url, standing: undefined }] : all.map(standing => ({ url, standing }));
  });
  const columns: Column<ReceiptRow>[] = [
    {
      head: 'Address',
      kind: 'wide',
      cell: ({ url, standing }) =>
        html`${addressOf(url)} ${standing && html`<span class="soft">${standing.mimetype}</span>`}`,
    },
    {
      head: 'State',
      cell({ standing }) {
        const [tone, word] = standing === undefined ? ['', 'not known'] : shown(standing, nowMs, zone);
        return html`<span class="state ${tone}">${word}</span>`;
      },
    },
    {
      head: 'More',
      cell: ({ standing }) =>
        standing === undefined
          ? 'It was never announced, or is gone for long. Compare it, letter by letter, with your list.'
          : shown(standing, nowMs, zone)[2],
    },
  ];
  return html`<h2>How they stand</h2>
    ${tableOf('How they stand', columns, rows, { isHeadless: true })} ${livesBody(lives, zone)}`;
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
