/** Tables and lists of facts, as all pages have them. */
import { html } from 'hono/html';
import type { Markup } from './layout.js';
import { countText } from './numbers.js';

export interface Column<Row> {
  head: string;
  /** Kind of a column; numbers stand at the right. */
  kind?: keyof typeof CLASSES;
  cell: (row: Row) => Markup | string;
}

const CLASSES = { number: 'number', time: 'time', wide: 'address', mono: 'address mono' } as const;

export interface TableForm {
  /** Text in place of a table without rows. */
  empty?: string;
  /** True if it scrolls, and its rows are never put below each other. */
  isWide?: boolean;
  /** True if its rows have no head: the first cell is one like the others. */
  isHeadless?: boolean;
}

/** A table, which scrolls by itself where there is no room. */
export function tableOf<Row>(
  label: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { empty = '', isWide = false, isHeadless = false }: TableForm = {},
): Markup {
  if (rows.length === 0) return html`<div class="empty"><p>${empty}</p></div>`;
  const of = ({ kind }: Column<Row>) => (kind === undefined ? '' : CLASSES[kind]);
  return html`<div class="table${isWide ? '' : ' stacks'}" role="region" aria-label="${label}" tabindex="0">
    <table>
      <thead>
        <tr>
          ${columns.map(column => html`<th scope="col" class="${of(column)}">${column.head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          row =>
            html`<tr>
              ${columns.map((column, i) =>
                i > 0
                  ? html`<td class="${of(column)}" data-label="${column.head}">${column.cell(row)}</td>`
                  : isHeadless
                    ? html`<td class="${of(column)}">${column.cell(row)}</td>`
                    : html`<th scope="row" class="${of(column)}">${column.cell(row)}</th>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

export type Fact = readonly [name: string, value: Markup | string | undefined, kind?: 'mono'];

/** Names with their values; those without a value are left out. @param more classes of the list */
export function factsOf(facts: readonly Fact[], more = ''): Markup {
  return html`<dl class="facts${more}">
    ${facts.map(([name, value, kind]) =>
      value === undefined
        ? ''
        : html`<dt>${name}</dt>
            <dd${kind === undefined ? '' : html` class="${kind}"`}>${value}</dd>`,
    )}
  </dl>`;
}

/**
 * Counts of a provider, a row a day.
 * @param counts the title and the field of each
 * @param by what a row is counted by besides the day; left out: nothing
 */
export function daysTable<N extends string, R extends { day: string } & Record<N, number>>(
  counts: readonly (readonly [title: string, name: N])[],
  days: readonly R[],
  by?: (one: R) => string,
): Markup {
  const columns: Column<R>[] = [
    { head: 'Day', cell: ({ day }) => html`<time datetime="${day}">${day}</time>` },
    ...(by === undefined ? [] : [{ head: 'By', cell: by }]),
    ...counts.map(([head, name]) => ({
      head,
      kind: 'number' as const,
      cell: (one: R) => countText(one[name]),
    })),
  ];
  return tableOf('Day by day', columns, days, { isHeadless: true });
}
