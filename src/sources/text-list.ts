/** A list of urls in plain text: one a line. */
import { LccError } from '../lib/errors.js';
import type { Found } from './found.js';
import type { SourceLimit } from './limits.js';

const HTTP = /^https?:/i;

export class TextList {
  readonly #found: Found;
  readonly #mostToken: SourceLimit;
  #carry = '';
  #isList = false;

  constructor(found: Found, mostToken: SourceLimit) {
    this.#found = found;
    this.#mostToken = mostToken;
  }

  /** @throws LccError `data.malformed` when its first line is no url: it is something else; `limit` for a line too long */
  write(text: string): void {
    const lines = (this.#carry + text).split(/\r\n|\n|\r(?!$)/);
    this.#carry = lines.pop() ?? '';
    for (const line of lines) this.#line(line.trim());
    if (this.#carry.length > this.#mostToken.most)
      throw new LccError('limit', `it has a line of more than ${this.#mostToken.text}`);
  }

  /** @throws LccError `data.malformed` for one without a url */
  end(): void {
    this.#line(this.#carry.trim());
    this.#carry = '';
    if (!this.#isList) throw new LccError('data.malformed', 'it is empty');
  }

  #line(line: string): void {
    if (line === '') return;
    if (!this.#isList && !HTTP.test(line))
      throw new LccError('data.malformed', 'it is neither XML nor a list of urls; is it a sitemap?');
    this.#isList = true;
    this.#found.location(line, {});
  }
}
