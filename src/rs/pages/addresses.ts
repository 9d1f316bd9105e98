/** Addresses of sites in our pages. */
import { html } from 'hono/html';
import type { Markup } from './layout.js';

/** A link where it is one of http or https, otherwise the text. */
export function addressOf(url: string): Markup | string {
  return /^https?:\/\//i.test(url) && URL.canParse(url)
    ? html`<a href="${url}" rel="noreferrer nofollow">${url}</a>`
    : url;
}
