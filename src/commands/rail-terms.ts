/** Terms in the options of lccrail: targets, paths, soft rules and rails. */
import { parseAmount } from '../config/amounts.js';
import type { Config } from '../config/load.js';
import type { ClearOptions } from '../clear/options.js';
import { compileGlob } from '../lib/glob.js';
import { driverOf } from '../clear/drivers/index.js';
import { isTypeName, MAX_NAME_BYTES } from '../clear/intake/request-line.js';
import { problemOfUrl } from '../clear/page-url.js';
import { INDEX_TYPE } from '../clear/target-map.js';
import type { ClearDatabase } from '../db/clear/database.js';
import type { RailSetup } from '../db/clear/rails.js';
import type { SoftRule } from '../db/clear/soft.js';
import type { PathRow, TargetRow } from '../db/clear/targets.js';
import { LccError } from '../lib/errors.js';
import { numberOf, textOf } from './options.js';
import type { CommandContext, OptionValues } from './run.js';

export interface RailAction {
  db: ClearDatabase;
  context: CommandContext;
  config: Config;
  clearing: ClearOptions;
  /** Operands after the words of the action. */
  names: string[];
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$/;
const EXTENSION = /^[A-Za-z0-9._~-]{0,63}$/;
const HOST = /^[A-Za-z0-9.:[\]-]{1,255}$/;
const MAX_WORKERS = 256;
const MAX_TIER = 100;

/** @throws LccError `usage` for a name that is none, or an option that is malformed */
export function targetTerms(
  name: string,
  options: OptionValues,
  known: TargetRow | undefined,
): Pick<TargetRow, 'lbUrl' | 'host'> {
  checkName('target', name);
  const lbUrl = textOf(options, 'lbUrl');
  return {
    lbUrl: lbUrl === undefined ? (known?.lbUrl ?? null) : httpUrl('--lb-url', lbUrl),
    host: hostOf(options, known?.host),
  };
}

/** @throws LccError `usage` */
export function mapTerms(target: string, { options }: CommandContext): PathRow {
  const type = textOf(options, 'type');
  const path = textOf(options, 'path');
  const extension = textOf(options, 'extension') ?? '';
  if (type === undefined || type === '') throw missing('type', 'the content type, @url for paths of pages');
  if (path === undefined) throw missing('path', 'what stands before the content id, such as /news/');
  if (!isTypeName(type))
    throw new LccError(
      'usage',
      `--type=${type}: give a name without control characters, at most ${MAX_NAME_BYTES} bytes`,
    );
  // The id that follows makes it the path of a page.
  if (problemOfUrl(`${path}x`) !== undefined)
    throw new LccError(
      'usage',
      `--path=${path}: give a path such as /news/, without dots, query or fragment`,
    );
  if (!EXTENSION.test(extension))
    throw new LccError('usage', `--extension=${extension}: give a text such as .html`);
  if (type === INDEX_TYPE && extension === '')
    throw new LccError(
      'usage',
      '--extension is missing: the file that the page of a folder is, such as index.html',
    );
  return { contentType: type, target, path, extension };
}

/** @throws LccError `usage` */
export function softRule(target: string, url: string, { options }: CommandContext): SoftRule {
  const isPattern = options['pattern'] === true;
  if (isPattern) {
    if (!url.startsWith('/')) throw new LccError('usage', `${url}: a pattern begins with a slash`);
    compileGlob(url);
  } else {
    const problem = problemOfUrl(url);
    if (problem !== undefined) throw new LccError('usage', `${url}: ${problem}; a pattern needs --pattern`);
  }
  const interval = textOf(options, 'minInterval');
  const minIntervalMs =
    interval === undefined || interval === '0'
      ? 0
      : parseAmount(/[a-z]/i.test(interval) ? interval : '', 'ms');
  if (minIntervalMs === undefined)
    throw new LccError('usage', `--min-interval=${interval}: give a time such as 10s or 5m`);
  return { url, target, isPattern: isPattern ? 1 : 0, enabled: 1, minIntervalMs };
}

/** Paths that pages of a target can lie below, those of its groups left out. */
export function pathsIn(db: ClearDatabase, target: string): PathRow[] {
  return db.read(() => db.targets.paths().filter(row => row.target === target));
}

/**
 * The rail that the options describe.
 * @param known what is not said; undefined for a new one
 * @throws LccError `usage` for what is missing, malformed, or not taken by its driver
 */
export function railTerms(
  name: string,
  { options }: CommandContext,
  known: RailSetup | undefined,
): RailSetup {
  checkName('rail', name);
  const url = textOf(options, 'url');
  const target = textOf(options, 'target') ?? known?.target;
  if (target === undefined) throw missing('target', 'whose pages the rail serves');
  if (url === undefined && known === undefined) throw missing('url', 'where the rail is asked');
  const auth = textOf(options, 'auth');
  const cleanup = textOf(options, 'cleanup') ?? known?.cleanup ?? 'exact';
  if (cleanup !== 'exact' && cleanup !== 'wildcard')
    throw new LccError('usage', `--cleanup=${cleanup}: give exact or wildcard`);
  const number = (option: string, min: number, max: number) =>
    numberOf(options, option, `give a number from ${min} to ${max}`, { min, max });
  const rail: RailSetup = {
    name,
    target,
    url: url === undefined ? (known?.url ?? '') : httpUrl('--url', url),
    driver: textOf(options, 'driver') ?? known?.driver ?? 'apache-dav',
    tier: number('tier', 0, MAX_TIER) ?? known?.tier ?? 0,
    workers: number('workers', 1, MAX_WORKERS) ?? known?.workers ?? 4,
    host: hostOf(options, known?.host),
    authRef: auth === 'none' ? null : (auth ?? known?.authRef ?? null),
    cleanup,
    opts: textOf(options, 'opts') ?? known?.opts ?? '{}',
  };
  if (rail.authRef !== null) checkName('login', rail.authRef);
  driverOf(rail);
  return rail;
}

function checkName(what: string, name: string): void {
  if (!NAME.test(name))
    throw new LccError(
      'usage',
      `${what} ${JSON.stringify(name)}: a name has letters, digits, . _ - and at most 63 of them`,
    );
}

/** With a slash at its end. */
function httpUrl(option: string, text: string): string {
  let url: URL | undefined;
  try {
    url = new URL(text);
  } catch {
    // As malformed as what follows.
  }
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new LccError(
      'usage',
      `${option}=${text}: give an absolute http or https url, such as http://10.0.0.7:8080/`,
    );
  if (url.username !== '' || url.password !== '')
    throw new LccError(
      'usage',
      `${option}: a login does not belong into the url; put it into the file of secrets (--auth)`,
    );
  return url.href.endsWith('/') ? url.href : `${url.href}/`;
}

/** `none`, or none that is known: that of the url. */
function hostOf(options: OptionValues, known: string | null = null): string | null {
  const host = textOf(options, 'host');
  if (host === undefined) return known;
  if (host === 'none') return null;
  if (!HOST.test(host))
    throw new LccError('usage', `--host=${host}: give the name of a host, with a port where it has one`);
  return host;
}

function missing(option: string, what: string): LccError {
  return new LccError('usage', `--${option} is missing: ${what}`);
}
