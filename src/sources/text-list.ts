/** A list of urls in plain text: one a line. */
import { LccError } from '../lib/errors.js';
import type { Found } from './found.js';
import type { SourceLimit } from './limits.js';

const HTTP = /^https?:/i;
/** Where a column begins after a url: anything after a tab, and what no url has after a blank. A blank alone
 * may belong to it. */
const COLUMN =
  /\t|\s(?=(?:https?:\S*|\d{4}-\d\d[-\dTtZz:.+]*|[01]?\.\d+|[01]|always|hourly|daily|weekly|monthly|yearly|never)(?:\s|$))/i;

export class TextList {
  readonly #found: Found;
  readonly #mostToken: SourceLimit;
  #carry = '';
  #isList = false;

  constructor(found: Found, mostToken: SourceLimit) {
    this.#found = found;
    this.#mostToken = mostToken;
  }

  /**
   * @throws LccError `data.malformed` when its first line is no url: it is something else; `limit` for a line
   * too long
   */
  write(text: string): void {
    const lines = (this.#carry + text).split(/\r\n|\n|\r(?!$)/);
    this.#carry = lines.pop() ?? '';
    for (const line of lines) this.#line(line.trim());
    if (this.#carry.length > this.#mostToken.most)
      throw new LccError('limit', `it has a line of more than ${this.#mostToken.text}`);
  }

  /**
   * @param isOpenEnded nothing but its last newline says that it is whole
   * @throws LccError `data.malformed` for one without a url
   */
  end(isOpenEnded: boolean): void {
    const last = this.#carry.trim();
    this.#carry = '';
    if (isOpenEnded && last !== '') {
      if (HTTP.test(last)) this.#isList = true;
      this.#found.leave(`its last line, ${last.slice(0, 200)}, has no end and may be cut`);
    } else this.#line(last);
    if (!this.#isList) throw new LccError('data.malformed', 'it is empty');
  }

  #line(line: string): void {
    if (line === '') return;
    if (!this.#isList && !HTTP.test(line))
      throw new LccError('data.malformed', 'it is neither XML nor a list of urls; is it a sitemap?');
    this.#isList = true;
    for (let rest = line; HTTP.test(rest) || rest === line;) {
      const end = COLUMN.exec(rest)?.index ?? rest.length;
      this.#found.location(rest.slice(0, end), {});
      // Two lines whose newline became a blank are two urls.
      rest = rest.slice(end).trim();
    }
  }
}
