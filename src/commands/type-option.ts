/** The option `--type EXT=MIME`. */
import { isMimetype } from '../cp/mime-types.js';
import { LccError } from '../lib/errors.js';
import type { OptionValues } from './run.js';

/**
 * @param given its values @returns extension, in lower case and without a dot, and mimetype
 * @throws LccError `usage`
 */
export function typesOf(given: OptionValues[string]): [extension: string, type: string][] {
  const list = Array.isArray(given) ? given : [];
  return list.map(text => {
    const [extension = '', type = '', ...more] = text.split('=');
    const bare = extension.replace(/^\./, '').toLowerCase();
    if (!/^[^./]+$/.test(bare) || more.length > 0 || !isMimetype(type))
      throw new LccError('usage', `--type ${text}: write EXT=type/subtype, EXT without a dot in it`);
    return [bare, type];
  });
}
