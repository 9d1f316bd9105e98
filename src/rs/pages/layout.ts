/** Frame of every page around its content; values are escaped by the template. */
import { html } from 'hono/html';
import { LccError } from '../../lib/errors.js';
import { LOGO } from './logo.js';
import { SCRIPT_VERSION } from './script.js';
import { STYLE_VERSION } from './style.js';

export type Markup = ReturnType<typeof html>;

/** One page, as a handler has it. */
export interface PageContent {
  title: string;
  body: Markup;
  /** Path of the page below the base, as `nav` has it. */
  here?: string;
  /** Load it again after this time, without anybody asking. */
  refreshS?: number;
  /** The script loads it again after this time; without one it stays as it is. */
  watchS?: number;
  /** The account that is logged in. */
  login?: { account: string; formToken: string };
}

/** Frame that all pages of one listener have around their content. */
export interface PageFrame {
  /** Base of the address, '' or `/base`. */
  base: string;
  contact: string;
  /** Links in the head, by path below the base; of pages before a login, and after it. */
  nav: { out: readonly NavItem[]; in: readonly NavItem[] };
  /** Beside the name: whose pages these are, where they are not for everybody. */
  badge?: string | undefined;
  /** More for the head of each page. */
  head?: Markup | undefined;
}

export interface NavItem {
  path: string;
  label: string;
}

/**
 * @returns a plain string: what a template makes is an object, and goes out as a stream, which costs more
 * than the page
 */
export type PageMaker = (page: PageContent) => string;

export function pageMaker(frame: PageFrame): PageMaker {
  return content => textOf(pageOf(frame, content));
}

/** @throws LccError `bug` for one with a part that comes later */
export function textOf(markup: Markup | string): string {
  if (markup instanceof Promise) throw new LccError('bug', 'a part of a page comes later');
  return markup.toString();
}

function pageOf({ base, contact, nav, badge, head = html`` }: PageFrame, content: PageContent): Markup {
  const { title, body, here, refreshS, watchS = refreshS, login } = content;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        ${refreshS === undefined ? '' : refresh(refreshS)}
        <title>${title} · Local Content Cache</title>
        <link rel="icon" href="${base}/static/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="${base}/static/style.css?${STYLE_VERSION}" />
        <script src="${base}/static/script.js?${SCRIPT_VERSION}" defer></script>
        ${head}
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header${login === undefined ? '' : html` class="in"`}>
          <div class="inner">
            <a class="brand" href="${base}/">
              ${LOGO} Local Content Cache ${badge === undefined ? '' : html`<small>${badge}</small>`}
            </a>
            <nav aria-label="Pages">
              ${(login === undefined ? nav.out : nav.in).map(
                ({ path, label }) =>
                  html`<a href="${base}${path}" ${path === here ? html` aria-current="page"` : ''}
                    >${label}</a
                  >`,
              )}
            </nav>
            ${login === undefined ? '' : logoutForm(base, login)}
          </div>
        </header>
        <main id="content" class="inner"${watchS === undefined ? '' : html` data-refresh="${String(watchS)}"`}>
          ${body}
        </main>
        <footer>
          <p class="inner">
            ${
              contact === ''
                ? 'Questions: ask the operator of this cache.'
                : html`Questions: ${contactLink(contact)}`
            }
          </p>
        </footer>
      </body>
    </html>`;
}

/** By the browser where there is no script, which does it without a new page. */
function refresh(seconds: number): Markup {
  return html`<noscript><meta http-equiv="refresh" content="${String(seconds)}" /></noscript>`;
}

function logoutForm(base: string, { account, formToken }: { account: string; formToken: string }): Markup {
  return html`<form class="logout" method="post" action="${base}/logout">
    ${formTokenField(formToken)}
    <span>${account}</span> <button class="plain">Log out</button>
  </form>`;
}

/** Lines to copy. @param what they are, for those who hear the page */
export function codeBlock(text: string, what: string): Markup {
  return html`<div class="code">
    <pre tabindex="0" aria-label="${what}">${text}</pre>
    <button type="button" class="copy" hidden aria-label="Copy: ${what}">Copy</button>
    <span class="hidden" role="status"></span>
  </div>`;
}

/** Name of the field in each form of a session that shows which session it is of. */
export const FORM_TOKEN = 'form_token';

export function formTokenField(formToken: string): Markup {
  return html`<input type="hidden" name="${FORM_TOKEN}" value="${formToken}" />`;
}

export interface FieldView {
  name: string;
  /** Id of the element, where another one of the page has this name. */
  id?: string;
  label: string;
  hint?: string;
  type?: 'text' | 'password' | 'url' | 'email';
  /** As it was typed. */
  value?: string;
  autocomplete?: string;
  inputmode?: 'numeric' | 'text';
  isRequired?: boolean;
  /** The fault of the field. */
  wrong?: string | undefined;
}

/** Digits of a number on a tile that a narrow screen has room for in its usual size. */
const SHORT_FIGURE = 7;

export interface TileView {
  tone?: 'bad' | 'wait' | '';
  /** Beside the number, small; and below it, before the detail. */
  more?: Markup;
  below?: Markup;
}

/** A number with what it is of. */
export function tileOf(
  label: string,
  value: string,
  detail: Markup | string,
  { tone = '', more, below }: TileView = {},
): Markup {
  return html`<div class="tile ${tone}">
    <h2>${label}</h2>
    <p class="figure${value.length > SHORT_FIGURE ? ' long' : ''}">${value} ${more ?? ''}</p>
    ${below ?? ''}
    <p>${detail}</p>
  </div>`;
}

/** A label, what to write, what is wrong with it, and the input; passwords are never sent back. */
export function fieldOf(field: FieldView): Markup {
  const { name, id = name, label, hint, type = 'text', value = '', autocomplete = 'off', inputmode } = field;
  const { isRequired = false, wrong } = field;
  const described = [
    ...(hint === undefined ? [] : [`${id}-hint`]),
    ...(wrong === undefined ? [] : [`${id}-wrong`]),
  ].join(' ');
  return html`<div class="field${wrong === undefined ? '' : ' wrong'}">
    <label for="${id}">${label}${isRequired ? '' : html` <span class="optional">optional</span>`}</label>
    ${hint === undefined ? '' : html`<span class="hint" id="${id}-hint">${hint}</span>`}
    ${wrong === undefined ? '' : html`<span class="wrong-text" id="${id}-wrong">${capital(wrong)}</span>`}
    <input
      id="${id}"
      name="${name}"
      type="${type}"
      value="${type === 'password' ? '' : value}"
      autocomplete="${autocomplete}"
      autocapitalize="off"
      spellcheck="false"
      ${inputmode === undefined ? '' : html`inputmode="${inputmode}"`}
      ${described === '' ? '' : html`aria-describedby="${described}"`}
      ${isRequired ? 'required' : ''}
      ${wrong === undefined ? '' : html`aria-invalid="true"`}
    />
  </div>`;
}

/** An address of a site: a link where it is one of http or https, else the text. */
export function addressOf(url: string): Markup | string {
  return /^https?:\/\//i.test(url) && URL.canParse(url)
    ? html`<a href="${url}" rel="noreferrer nofollow">${url}</a>`
    : url;
}

/** A link where it is an address or a web page, else the text. */
function contactLink(contact: string): Markup | string {
  if (/^https?:\/\/[^\s"'<>]+$/.test(contact)) return html`<a href="${contact}">${contact}</a>`;
  if (/^[\w.+-]+@[\w.-]+$/.test(contact)) return html`<a href="mailto:${contact}">${contact}</a>`;
  return contact;
}

/** The fault, first on the page, and announced. */
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

/** A message as the beginning of a sentence; names of programs and files stay as they are. */
export function capital(text: string): string {
  return /^(?:lcc[\w-]*|robots\.txt)(?![\w-])/.test(text)
    ? text
    : text.charAt(0).toUpperCase() + text.slice(1);
}
