/** Errors that a provider has not received: by code, with advice, by prefix, a page at a time, and as CSV. */
import { html } from 'hono/html';
import type { ShownProvider } from '../../db/providers/registered.js';
import type { KeptError, RsErrorsWanted } from '../../wire/qm-rs.js';
import { codeText } from '../../wire/codes.js';
import { adviceOf } from './advice.js';
import { addressOf, fieldOf, type Markup } from './layout.js';
import { countText } from './numbers.js';
import { tableOf, type Column } from './table.js';

export const ERRORS_PAGE = 100;

export type ErrorFilter = Pick<RsErrorsWanted, 'after' | 'code' | 'prefix'>;

/** Filter in a query; malformed parts are left out. */
export function errorFilterOf(query: (name: string) => string | undefined): ErrorFilter {
  const number = (name: string) => (/^\d{1,15}$/.test(query(name) ?? '') ? Number(query(name)) : undefined);
  const code = number('code');
  const prefix = (query('prefix') ?? '').trim().slice(0, 2000);
  return {
    after: number('after') ?? 0,
    ...(code !== undefined && { code }),
    ...(prefix !== '' && { prefix }),
  };
}

export function errorsQuery({
  after = 0,
  code,
  prefix,
}: {
  after?: number;
  code?: number | undefined;
  prefix?: string | undefined;
}): string {
  const query = new URLSearchParams({
    ...(code !== undefined && { code: String(code) }),
    ...(prefix !== undefined && { prefix }),
    ...(after > 0 && { after: String(after) }),
  }).toString();
  return query === '' ? '' : `?${query}`;
}

export interface ErrorsView {
  provider: Pick<ShownProvider, 'errors'>;
  /** Errors of this page, and one more where there is a next one. */
  errors: readonly KeptError[];
  filter: ErrorFilter;
  base: string;
}

export function errorsBody(view: ErrorsView): Markup {
  const { provider, filter, base } = view;
  if (provider.errors.length === 0)
    return html`<h1>Errors</h1>
      <div class="empty">
        <h2>Nothing went wrong</h2>
        <p>
          What your site announces is fetched, or waits. Errors stand here until your crontab line receives
          them: it prints them, and cron sends you a mail.
        </p>
        <p><a href="${base}/me">To the overview</a></p>
      </div>`;
  return html`<h1>Errors</h1>
    <p class="lead">
      They stand here until your crontab line receives them: it prints them, and cron sends you a mail.
    </p>
    ${filter.code === undefined ? byCode(provider.errors, view) : ofCode(filter.code, view)} ${list(view)}`;
}

function byCode(codes: ShownProvider['errors'], { base, filter }: ErrorsView): Markup {
  return html`<h2>What to do</h2>
    ${tableOf<ShownProvider['errors'][number]>(
      'What to do',
      [
        {
          head: 'Errors',
          kind: 'number',
          cell: ({ code, errors }) =>
            html`<a href="${base}/me/errors${errorsQuery({ code, prefix: filter.prefix })}"
              >${countText(errors)}<span class="hidden"> with code ${code}</span></a
            >`,
        },
        {
          head: 'What happened',
          cell: ({ code }) =>
            html`${adviceOf(code).means} <span class="soft">${codeText(code)} (${code})</span>`,
        },
        { head: 'What to do', cell: ({ code }) => adviceOf(code).todo },
      ],
      codes,
      { isHeadless: true },
    )}`;
}

function ofCode(code: number, { base, filter }: ErrorsView): Markup {
  const { means, todo } = adviceOf(code);
  return html`<div class="note wait">
    <h2>${means}</h2>
    <p>${todo}</p>
    <p><a href="${base}/me/errors${errorsQuery({ prefix: filter.prefix })}">All codes</a></p>
  </div>`;
}

function list({ errors, filter, base }: ErrorsView): Markup {
  const { code, prefix, after } = filter;
  const shown = errors.slice(0, ERRORS_PAGE);
  const next = errors.length > ERRORS_PAGE ? shown.at(-1)?.errseq : undefined;
  return html`<h2>The addresses</h2>
    <form class="filter" method="get" action="${base}/me/errors">
      ${code === undefined ? '' : html`<input type="hidden" name="code" value="${code}" />`}
      ${fieldOf({ name: 'prefix', label: 'Those that begin with', value: prefix ?? '', isRequired: true })}
      <button class="plain">Show</button>
    </form>
    ${
      shown.length === 0
        ? html`<div class="empty">
            <p>${after > 0 ? 'There are no more.' : 'None of your errors is of this kind.'}</p>
            <p><a href="${base}/me/errors">All errors</a></p>
          </div>`
        : errorTable(shown)
    }
    <p class="pages">
      ${after > 0 ? html`<a href="${base}/me/errors${errorsQuery({ ...filter, after: 0 })}">First page</a>` : ''}
      ${next === undefined ? '' : html`<a class="button plain" href="${base}/me/errors${errorsQuery({ ...filter, after: next })}">Next ${ERRORS_PAGE}</a>`}
      <a href="${base}/me/errors.csv${errorsQuery({ ...filter, after: 0 })}" download>All of these as CSV</a>
    </p>`;
}

export function errorTable(errors: readonly KeptError[]): Markup {
  const columns: Column<KeptError>[] = [
    {
      head: 'Address',
      kind: 'wide',
      cell: ({ curl, mimetype }) => html`${addressOf(curl)} <span class="soft">${mimetype}</span>`,
    },
    { head: 'Code', kind: 'number', cell: ({ code }) => String(code) },
    { head: 'What the cache says', cell: ({ text }) => text },
  ];
  return tableOf('Addresses', columns, errors, { isHeadless: true });
}

/** A cell that a spreadsheet takes for text, whatever is in it. */
export function csvCell(value: string): string {
  const harmless = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

export const CSV_HEAD = 'code,address,type,text\r\n';

export function csvLine({ code, curl, mimetype, text }: KeptError): string {
  return `${[String(code), curl, mimetype, text].map(csvCell).join(',')}\r\n`;
}
