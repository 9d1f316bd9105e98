/** Life of one url, as the pages of providers and of operators show it. */
import { html } from 'hono/html';
import { lifeFacts, UNKNOWN_TODO, type UrlLife } from '../../wire/url-life.js';
import { adviceOf } from './advice.js';
import type { Markup } from './layout.js';
import { momentText } from './times.js';

/** At each provider with a root around it. @param zone of the times, as IANA names it; left out: that of the
 * cache */
export function livesBody(lives: readonly UrlLife[], zone?: string): Markup {
  const words = { time: (atMs: number) => momentText(atMs, zone), advice: adviceOf };
  return html`${lives.map(
    ({ pid, root, rows, state }) =>
      html`<section class="card">
        <dl class="facts">
          ${fact('provider', `${pid}, root ${root ?? 'none around it any more'}`)}
          ${rows.length === 0 ? fact('to do', UNKNOWN_TODO) : ''}
          ${rows.map(
            row =>
              html`${fact('mimetype', row.mimetype)}
              ${lifeFacts(row, state, words).map(([label, text]) => fact(label, text))}`,
          )}
        </dl>
      </section>`,
  )}`;
}

function fact(label: string, text: string): Markup {
  return html`<dt>${label}</dt>
    <dd>${text}</dd>`;
}
