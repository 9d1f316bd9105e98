/** The path and query of a request. */
import type { Context } from 'hono';
import type { SeriesStep } from '../../db/rs/series.js';
import { MAX_SEARCH_LENGTH } from '../../wire/rs-looks.js';
import { RsRequestRefused } from '../refusal.js';

/** A number of the query; undefined where there is none. @throws RsRequestRefused 400 */
export function numberIn(c: Context, name: string): number | undefined {
  const text = c.req.query(name);
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw new RsRequestRefused(400, 'malformed', `"${name}" is no number`, 'give digits only');
  return Number(text);
}

export function stepOf(c: Context): SeriesStep {
  return c.req.query('step') === 'coarse' ? 'coarse' : 'fine';
}

/** @throws RsRequestRefused 404 */
export function idIn(c: Context, name: string): number {
  const text = c.req.param(name) ?? '';
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new RsRequestRefused(404, 'unknown', `"${text.slice(0, 40)}" is no number`, 'check the address');
  return Number(text);
}

/** @throws RsRequestRefused 400 */
export function searchOf(text: string): string {
  if (text.length > MAX_SEARCH_LENGTH || /\p{Cc}/u.test(text))
    throw new RsRequestRefused(
      400,
      'search',
      'that cannot be searched for',
      `write ${MAX_SEARCH_LENGTH} characters at most`,
    );
  return text;
}
