/** Counts of a provider, a row a day. */
import { html } from 'hono/html';
import type { Markup } from './layout.js';
import { countText } from './numbers.js';

/**
 * @param labelledBy id of its heading
 * @param columns the title and the field of each count
 * @param by what a row is counted by besides the day; left out: nothing
 */
export function daysTable<N extends string, R extends { day: string } & Record<N, number>>(
  labelledBy: string,
  columns: readonly (readonly [title: string, name: N])[],
  days: readonly R[],
  by?: (one: R) => string,
): Markup {
  return html`<div class="table stacks">
    <table aria-labelledby="${labelledBy}">
      <thead>
        <tr>
          <th scope="col">Day</th>
          ${by && html`<th scope="col">By</th>`}
          ${columns.map(([title]) => html`<th scope="col" class="number">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${days.map(
          one =>
            html`<tr>
              <td><time datetime="${one.day}">${one.day}</time></td>
              ${by && html`<td>${by(one)}</td>`}
              ${columns.map(
                ([title, name]) =>
                  html`<td class="number" data-label="${title}">${countText(one[name])}</td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
