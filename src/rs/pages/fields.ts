/** A form that was sent: its fields, and what follows. */
import type { Context } from 'hono';
import { RsRequestRefused } from '../refusal.js';
import { refusing } from '../refused-requests.js';
import { errorSummary, type Markup } from './layout.js';

const MAX_FIELDS = 100;

/**
 * Does what a form asks for.
 * @param act returns where to go
 * @param again the page with what was refused, and what was typed
 */
export async function sent(
  c: Context,
  act: () => Promise<string> | string,
  again: (refused: RsRequestRefused) => Response | Promise<Response>,
): Promise<Response> {
  try {
    return c.redirect(await act(), 303);
  } catch (error) {
    if (!(error instanceof RsRequestRefused)) throw error;
    refusing(c, error);
    return again(error);
  }
}

/**
 * Those with these names; '' where one is missing, or is a file.
 * @throws RsRequestRefused 400 for control characters, line ends among them, and for too many fields
 */
export async function fieldsOf<Name extends string>(
  c: Context,
  names: readonly Name[],
): Promise<Record<Name, string>> {
  const given = await bodyOf(c);
  if (Object.keys(given).length > MAX_FIELDS)
    throw new RsRequestRefused(400, 'fields', `more than ${MAX_FIELDS} fields`, 'send the form as it is');
  const fields = Object.fromEntries(
    names.map(name => {
      const value = given[name];
      return [name, typeof value === 'string' ? value : ''];
    }),
  ) as Record<Name, string>;
  for (const name of names)
    if (/\p{Cc}/u.test(fields[name]))
      throw new RsRequestRefused(
        400,
        'characters',
        `the field ${name} has control characters`,
        'leave them out',
      );
  return fields;
}

async function bodyOf(c: Context): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await c.req.parseBody();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new RsRequestRefused(400, 'malformed', 'the form is malformed', 'send it from its page');
  }
}

/** @param fields of the form, by the code of what is wrong with them */
export function summaryOf(
  refused: RsRequestRefused | undefined,
  fields: Readonly<Record<string, string>>,
): Markup | string {
  if (refused === undefined) return '';
  const { what, advice, code } = refused;
  const field = fields[code];
  return errorSummary([{ what, advice, ...(field !== undefined && { field }) }]);
}

/** Fault of a field, if the refusal is about it. */
export function wrongIn(refused: RsRequestRefused | undefined, codes: readonly string[]): { wrong?: string } {
  return refused !== undefined && codes.includes(refused.code) ? { wrong: refused.what } : {};
}
