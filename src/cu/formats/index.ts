/** All output formats by name. */
import { LccError } from '../../lib/errors.js';
import { chunks } from './chunks.js';
import { csv } from './csv.js';
import { fts5Sql } from './fts5-sql.js';
import { jsonl } from './jsonl.js';
import { ntvml } from './ntvml.js';
import { gonePaths, paths, paths0 } from './paths.js';
import { tar, tarGz, tarZst } from './tar.js';
import { scriptindex } from './scriptindex.js';
import { swishE } from './swish-e.js';
import { tsv } from './tsv.js';
import type { Format } from './types.js';
import { changedUrls, urls } from './urls.js';
import { warc } from './warc.js';
import { xml } from './xml.js';

const FORMATS: Readonly<Record<string, Format>> = {
  xml,
  jsonl,
  chunks,
  tsv,
  csv,
  paths,
  paths0,
  'gone-paths': gonePaths,
  urls,
  'changed-urls': changedUrls,
  tar,
  'tar.gz': tarGz,
  'tar.zst': tarZst,
  warc,
  'fts5-sql': fts5Sql,
  'swish-e': swishE,
  scriptindex,
  ntvml,
};
export const FORMAT_NAMES: readonly string[] = Object.keys(FORMATS);

/** @throws LccError `usage` naming the known formats */
export function formatNamed(name: string): Format {
  const format = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
  if (format === undefined)
    throw new LccError('usage', `--format: unknown format "${name}"; there are ${FORMAT_NAMES.join(', ')}`);
  return format;
}
