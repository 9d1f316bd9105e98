/** All output formats by name. */
import { LccError } from '../../lib/errors.js';
import { fts5Sql } from './fts5-sql.js';
import { jsonl } from './jsonl.js';
import { paths, paths0 } from './paths.js';
import { tsv } from './tsv.js';
import type { Format } from './types.js';
import { urls } from './urls.js';
import { xml } from './xml.js';

const FORMATS: Readonly<Record<string, Format>> = {
  xml,
  jsonl,
  tsv,
  paths,
  paths0,
  urls,
  'fts5-sql': fts5Sql,
};
export const FORMAT_NAMES: readonly string[] = Object.keys(FORMATS);

/** @throws LccError `usage` naming the known formats */
export function formatNamed(name: string): Format {
  const format = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
  if (format === undefined)
    throw new LccError('usage', `--format: unknown format "${name}"; there are ${FORMAT_NAMES.join(', ')}`);
  return format;
}
