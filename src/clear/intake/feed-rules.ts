/**
 * Rules by which changes of an LCC mean pages of targets: which provider's pages are on which target, and
 * which content each url is.
 *
 *     {"providers": {"7": {"target": "www", "urls": [
 *        {"prefix": "https://docs.example.org/", "type": "@url", "path": "/docs/"},
 *        {"prefix": "https://www.example.org/news/", "type": "article", "strip": ".html"}]}}}
 *
 * The longest prefix counts. What follows the prefix is the content id, without `strip` at its end; for the
 * type `@url` it is put after `path` (`/` where that is left out). A url that no prefix fits, or of a
 * provider that is not named, clears nothing.
 */
import { readFileSync, statSync } from 'node:fs';
import { errnoOf, LccError, messageOf } from '../../lib/errors.js';
import type { RequestKey } from '../../db/clear/queue.js';
import { URL_TYPE } from '../resolve.js';

const MAX_FILE_BYTES = 4 * 1024 * 1024;

interface UrlRule {
  prefix: string;
  type: string;
  strip: string;
  path: string;
}

interface ProviderRules {
  target: string;
  /** The longest prefixes first. */
  urls: UrlRule[];
}

/** By the number of the provider. */
export type FeedRules = ReadonlyMap<string, ProviderRules>;

/** The request for a changed url; undefined when it clears nothing. */
export function requestFor(rules: FeedRules, pid: string, curl: string): RequestKey | undefined {
  const provider = rules.get(pid);
  const rule = provider?.urls.find(({ prefix }) => curl.startsWith(prefix));
  if (provider === undefined || rule === undefined) return undefined;
  const rest = curl.slice(rule.prefix.length).replace(/#.*$/s, '');
  const id = rule.strip !== '' && rest.endsWith(rule.strip) ? rest.slice(0, -rule.strip.length) : rest;
  return {
    contentId: rule.type === URL_TYPE ? rule.path + id : id,
    contentType: rule.type,
    target: provider.target,
  };
}

/**
 * @throws LccError `input.missing` when the file cannot be read, `config` for anything in it that is no rule
 */
export function readRules(file: string): FeedRules {
  let text: string;
  try {
    if (statSync(file).size > MAX_FILE_BYTES)
      throw new LccError('config', `${file}: rules larger than ${MAX_FILE_BYTES} bytes`);
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof LccError) throw error;
    throw new LccError(
      'input.missing',
      `${file}: ${errnoOf(error) === 'ENOENT' ? 'there is no such file (--rules)' : messageOf(error)}`,
      { cause: error },
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new LccError('config', `${file}: no JSON: ${messageOf(error)}`);
  }
  return rulesOf(file, value);
}

function rulesOf(file: string, value: unknown): FeedRules {
  const top = objectOf(value, file, ['providers']);
  const providers = objectOf(top['providers'], `${file}: providers`);
  return new Map(
    Object.entries(providers).map(([pid, rules]) => {
      const where = `${file}: provider ${pid}`;
      if (!/^[1-9]\d{0,14}$/.test(pid)) throw new LccError('config', `${where}: no number of a provider`);
      return [pid, providerRules(where, rules)];
    }),
  );
}

function providerRules(where: string, value: unknown): ProviderRules {
  const { target, urls } = objectOf(value, where, ['target', 'urls']);
  if (!Array.isArray(urls) || urls.length === 0)
    throw new LccError('config', `${where}: "urls" is a list of one rule or more`);
  const rules = urls.map((rule: unknown, i) => urlRule(`${where}: url ${i + 1}`, rule));
  return {
    target: textOf(where, 'target', target),
    urls: rules.sort((a, b) => b.prefix.length - a.prefix.length),
  };
}

function urlRule(where: string, value: unknown): UrlRule {
  const {
    prefix,
    type,
    strip = '',
    path = '/',
  } = objectOf(value, where, ['prefix', 'type', 'strip', 'path']);
  const rule = {
    prefix: textOf(where, 'prefix', prefix),
    type: textOf(where, 'type', type),
    strip: strip === '' ? '' : textOf(where, 'strip', strip),
    path: textOf(where, 'path', path),
  };
  if (!/^https?:\/\/[^/]+\//.test(rule.prefix))
    throw new LccError(
      'config',
      `${where}: "prefix" is an absolute url with a path, such as https://www.example.org/`,
    );
  if (!rule.path.startsWith('/') || !rule.path.endsWith('/'))
    throw new LccError('config', `${where}: "path" begins and ends with a slash`);
  return rule;
}

function objectOf(value: unknown, where: string, known?: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new LccError('config', `${where}: no object; see lccclear(1)`);
  const other = known === undefined ? undefined : Object.keys(value).find(key => !known.includes(key));
  if (other !== undefined)
    throw new LccError('config', `${where}: no key "${other}"; there are ${known?.join(', ')}`);
  return value as Record<string, unknown>;
}

function textOf(where: string, key: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new LccError('config', `${where}: "${key}" is a text that is not empty`);
}
