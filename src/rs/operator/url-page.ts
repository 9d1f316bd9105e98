/** Life of a url, for operators: as `lccstat --url` prints it. */
import { html } from 'hono/html';
import type { UrlLife } from '../../wire/url-life.js';
import { fieldOf, type Markup } from '../pages/layout.js';
import { livesBody } from '../pages/url-life.js';

/** @param url as it was typed, '' = none yet */
export function urlPage(url: string, lives: readonly UrlLife[], base: string): Markup {
  return html`<h1>Url</h1>
    <p>What became of a page: announced, in the queue, fetched, kept, and what to do.</p>
    <form class="filter" method="get" action="${base}/url" role="search">
      ${fieldOf({ name: 'url', label: 'Address, as it was announced', value: url, isRequired: true })}
      <button>Look it up</button>
    </form>
    ${
      url === ''
        ? ''
        : lives.length === 0
          ? html`<div class="empty"><p>No provider has a root around ${url}.</p></div>`
          : livesBody(lives)
    }`;
}
