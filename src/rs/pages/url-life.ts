/** Life of one url, as the pages of providers and of operators show it. */
import { html } from 'hono/html';
import { lifeFacts, UNKNOWN_TODO, type UrlLife } from '../../wire/url-life.js';
import { adviceOf } from './advice.js';
import type { Markup } from './layout.js';
import { factsOf, type Fact } from './table.js';
import { momentText } from './times.js';

/** At each provider with a root around it. @param zone of the times, as IANA names it; left out: that of the
 * cache */
export function livesBody(lives: readonly UrlLife[], zone?: string): Markup {
  const words = { time: (atMs: number) => momentText(atMs, zone), advice: adviceOf };
  return html`${lives.map(
    ({ pid, root, rows, state }) =>
      html`<section class="card">
        ${factsOf([
          ['provider', `${pid}, root ${root ?? 'none around it any more'}`],
          ['to do', rows.length === 0 ? UNKNOWN_TODO : undefined],
          ...rows.flatMap((row): Fact[] => [['mimetype', row.mimetype], ...lifeFacts(row, state, words)]),
        ])}
      </section>`,
  )}`;
}
