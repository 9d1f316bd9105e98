/** What every page has around its content; values are escaped by the template. */
import { html } from 'hono/html';

export type Markup = ReturnType<typeof html>;

export interface PageFrame {
  title: string;
  /** Of the address, '' or `/base`. */
  base: string;
  contact: string;
  /** Load it again after this time, without anybody asking. */
  refreshS?: number;
  body: Markup;
}

export function pageOf({ title, base, contact, refreshS, body }: PageFrame): Markup {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        ${refreshS === undefined ? '' : html`<meta http-equiv="refresh" content="${String(refreshS)}" />`}
        <title>${title} · Local Content Cache</title>
        <link rel="stylesheet" href="${base}/static/style.css" />
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header>
          <a class="name" href="${base}/">Local Content Cache</a>
          <nav aria-label="Pages"><a href="${base}/register">Register a site</a></nav>
        </header>
        <main id="content">${body}</main>
        <footer>
          ${
            contact === ''
              ? 'Questions: ask the operator of this cache.'
              : html`Questions: ${contactLink(contact)}`
          }
        </footer>
      </body>
    </html>`;
}

/** A link where it is an address or a web page, else the text. */
export function contactLink(contact: string): Markup | string {
  if (/^https?:\/\/[^\s"'<>]+$/.test(contact)) return html`<a href="${contact}">${contact}</a>`;
  if (/^[\w.+-]+@[\w.-]+$/.test(contact)) return html`<a href="mailto:${contact}">${contact}</a>`;
  return contact;
}

/** What went wrong, first on the page, and announced. */
export function errorSummary(
  items: readonly { what: string; advice: string; field?: string }[],
): Markup | string {
  if (items.length === 0) return '';
  return html`<div class="note bad" role="alert">
    <h2>That did not work</h2>
    <ul>
      ${items.map(
        ({ what, advice, field }) =>
          html`<li>
            ${field === undefined ? capital(what) : html`<a href="#${field}">${capital(what)}</a>`}:
            ${advice}.
          </li>`,
      )}
    </ul>
  </div>`;
}

/** A message as the beginning of a sentence. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
