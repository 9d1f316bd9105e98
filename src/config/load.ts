/** Effective settings: command line over lcc.toml over built-in defaults, each value with its origin. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { errnoOf, LccError, reasonOf } from '../lib/errors.js';
import { formatAmount, parseAmount, type Unit } from './amounts.js';
import { isNetwork, type Form } from './forms.js';
import { whatBecameOf } from './former-keys.js';
import { KEPT_DEFAULTS } from './kept.js';
import { checkTogether } from './agreeing-settings.js';
import {
  SETTINGS,
  sectionsOf,
  type SettingKey,
  type SettingRow,
  type SettingValue,
} from './settings/index.js';
import { homeOf } from './home.js';
import type { Config } from './types.js';

export { homeOf, type Home } from './home.js';
export type { Config } from './types.js';

export interface ConfigSources {
  env: NodeJS.ProcessEnv;
  /** `--config FILE`. */
  file?: string | undefined;
  /** The file that need not exist need not be readable either: for commands of people who have no LCC. */
  mayBeUnreadable?: boolean;
  /** Values from the command line, as text. */
  overrides?: Partial<Record<SettingKey, string | readonly string[] | undefined>>;
}

/**
 * Reads the configuration. A file named by `--config` or `$LCC_CONFIG` must exist; `$LCC_HOME/lcc.toml` need
 * not.
 * @throws LccError `config` for a malformed file, an unknown key (naming the nearest) or a value out of
 *   bounds; `input.missing` for a named file that is not there
 */
export function loadConfig(sources: ConfigSources): Config {
  const home = homeOf(sources.env);
  const named = sources.file ?? (sources.env['LCC_CONFIG'] || undefined);
  const file = readFile(
    named ?? join(home.dir, 'lcc.toml'),
    named !== undefined,
    sources.mayBeUnreadable === true,
  );
  const values = new Map<SettingKey, { value: unknown; origin: string }>();
  for (const [key, raw] of file === undefined ? [] : flatten(file.table, file.path)) {
    const became = whatBecameOf(key);
    if (became !== undefined) throw new LccError('config', `${file?.path}: ${key} ${became}`);
    if (!(key in SETTINGS))
      throw new LccError('config', `${file?.path}: unknown key ${key}${didYouMean(key)}`);
    const known = key as SettingKey;
    values.set(known, { value: checked(known, raw, file?.path ?? ''), origin: file?.path ?? '' });
  }
  const replaced: Config['replaced'][number][] = [];
  for (const [key, raw] of Object.entries(sources.overrides ?? {})) {
    if (raw === undefined) continue;
    const known = key as SettingKey;
    const value = checked(known, raw, 'command line');
    const before = values.get(known);
    if (before !== undefined && JSON.stringify(before.value) !== JSON.stringify(value))
      replaced.push({ key: known, value: before.value });
    values.set(known, { value, origin: 'command line' });
  }
  const defaults = (values.get('store.url')?.value ?? '') === '' ? {} : KEPT_DEFAULTS;
  const get = <K extends SettingKey>(key: K) =>
    (values.get(key)?.value ?? defaults[key] ?? SETTINGS[key].default) as SettingValue<K>;
  const settings = sectionsOf(get);
  const config: Config = {
    home: settings.lccd.store === '' ? home : { ...home, store: settings.lccd.store },
    file: file?.path,
    get,
    settings,
    originOf: key => values.get(key)?.origin ?? 'default',
    replaced,
  };
  checkTogether(config);
  return config;
}

function readFile(
  path: string,
  required: boolean,
  mayBeUnreadable: boolean,
): { path: string; table: Record<string, unknown> } | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const errno = errnoOf(error) ?? '';
    if (!required && (errno === 'ENOENT' || (mayBeUnreadable && UNREADABLE.includes(errno))))
      return undefined;
    throw new LccError('input.missing', `configuration file ${path}: ${reasonOf(error)}`);
  }
  try {
    return { path, table: parse(text) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const what = error.message.split('\n')[0]?.replace(/^Invalid TOML document: /, '') ?? 'malformed';
    throw new LccError('config', `${path}:${error.line}:${error.column}: ${what}`);
  }
}

/** Somebody else's, or below what is no directory to us. */
const UNREADABLE = ['EACCES', 'EPERM', 'ENOTDIR'];

function* flatten(table: Record<string, unknown>, path: string): Generator<[string, unknown]> {
  for (const [section, inner] of Object.entries(table)) {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner) || inner instanceof Date) {
      throw new LccError('config', `${path}: unknown key ${section}${didYouMean(section)}`);
    }
    for (const [name, value] of Object.entries(inner)) yield [`${section}.${name}`, value];
  }
}

const ADVICE: Record<Unit, string> = {
  ms: 'give a time, such as "10s"',
  bytes: 'give a number of bytes, such as "64KB"',
  bytes_per_s: 'give bytes a second, such as "100KB" or "100KB/s"',
  percent: 'give a percentage, such as "50%"',
  count: 'give a number',
};

/** @throws LccError `config` naming the key, the value and what is accepted */
function checked(key: SettingKey, raw: unknown, origin: string): unknown {
  const row: SettingRow = SETTINGS[key];
  const refuse = (why: string) =>
    new LccError(
      origin === 'command line' ? 'usage' : 'config',
      `${origin}: ${key} = ${JSON.stringify(raw)}: ${why}`,
    );
  const demand = (form: Form | undefined, texts: readonly string[]) => {
    if (form !== undefined && !texts.every(text => form.accepts(text))) throw refuse(form.says);
  };
  switch (row.type) {
    case 'number': {
      const value = typeof raw === 'string' ? parseAmount(raw, row.unit) : raw;
      if (typeof value !== 'number' || !Number.isFinite(value)) throw refuse(ADVICE[row.unit]);
      if (row.unit === 'count' && !Number.isInteger(value)) throw refuse('give a whole number');
      if (value < row.min || value > row.max)
        throw refuse(`must be ${formatAmount(row.min, row.unit)} to ${formatAmount(row.max, row.unit)}`);
      if (row.oneOf !== undefined && !row.oneOf.includes(value))
        throw refuse(`give one of ${row.oneOf.join(', ')}`);
      return Math.floor(value);
    }
    case 'boolean':
      if (raw === true || raw === 'true') return true;
      if (raw === false || raw === 'false') return false;
      throw refuse('give true or false');
    case 'string':
      if (typeof raw !== 'string') throw refuse('give a string');
      if (row.oneOf !== undefined && !row.oneOf.includes(raw))
        throw refuse(`give one of ${row.oneOf.join(', ')}`);
      demand(row.form, [raw]);
      return raw;
    case 'list':
      if (!Array.isArray(raw) || !raw.every(item => typeof item === 'string'))
        throw refuse('give a list of strings');
      if (row.needsOne === true && raw.length === 0) throw refuse('name at least one');
      if (row.of === 'networks') {
        const bad = raw.find(item => !isNetwork(item));
        if (bad !== undefined) throw refuse(`"${bad}" is no network: write 192.0.2.0/24 or 2001:db8::/32`);
      }
      demand(row.form, raw);
      return raw;
  }
}

function didYouMean(key: string): string {
  let best: { key: string; distance: number } | undefined;
  for (const known of Object.keys(SETTINGS)) {
    // The beginning of a name is nearer than any misspelling.
    const distance = known.startsWith(key) ? 0 : editDistance(key, known);
    if (best === undefined || distance < best.distance) best = { key: known, distance };
  }
  return best !== undefined && best.distance <= Math.max(3, key.length / 2)
    ? `; did you mean ${best.key}?`
    : '';
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + cost));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
