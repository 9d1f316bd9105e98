/** Values of options, as more than one command reads them. */
import { parseAmount, SECOND } from '../config/amounts.js';
import { loadConfig, type Config, type ConfigSources } from '../config/load.js';
import { SETTINGS, type SettingKey } from '../config/settings/index.js';
import { readAuthorities } from '../lib/authorities.js';
import { LccError } from '../lib/errors.js';
import type { CommandContext, OptionSpec, OptionValues } from './run.js';

export const CONFIG_OPTION: OptionSpec = {
  flags: '--config <FILE>',
  help: 'read settings from FILE (default: $LCC_CONFIG, else $LCC_HOME/lcc.toml)',
};

export const ALLOW_ADDRESS_OPTION: OptionSpec = {
  flags: '--allow-address <CIDR>',
  help: 'fetch from this network although it is not public; may be repeated',
  repeat: true,
};

/** Networks given on the command line, beside those configured. */
export function allowedOf(options: OptionValues): readonly string[] {
  return textsOf(options, 'allowAddress') ?? [];
}

/** A row of an option that is a setting, and may be repeated where that is a list; its help names the key.
 * @param more said besides */
export function settingOption(flags: string, sets: SettingKey, help: string, more = ''): OptionSpec {
  const repeat = SETTINGS[sets].type === 'list';
  return { flags, sets, help: `${help}${repeat ? '; may be repeated' : ''} (${sets}${more})`, repeat };
}

/** Undefined where it is not given, or is one that takes no value. */
export function textOf(options: OptionValues, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

/** The texts of an option that may be repeated; undefined where it is not given. */
export function textsOf(options: OptionValues, name: string): string[] | undefined {
  const value = options[name];
  return Array.isArray(value) ? value : undefined;
}

/** `--pid-from` for `pidFrom`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`;
}

/** The certificates that `--cafile` names; undefined where it is not given. @throws LccError `input.missing`,
 * `config` as `readAuthorities` */
export function authoritiesOf(options: OptionValues): Buffer | undefined {
  const cafile = textOf(options, 'cafile');
  return cafile === undefined ? undefined : readAuthorities('--cafile', cafile, 'input.missing');
}

/** A whole number. @returns undefined where it is not given @throws LccError `usage` that says the advice */
export function numberOf(
  options: OptionValues,
  name: string,
  advice: string,
  bounds: { min?: number; max?: number } = {},
): number | undefined {
  const given = options[name];
  return given === undefined ? undefined : readNumber(flagOf(name), String(given), advice, bounds);
}

/** The number that an option is given, in digits. @throws LccError `usage` with `advice` for anything else */
export function readNumber(
  flag: string,
  given: string,
  advice: string,
  { min = 1, max = Number.MAX_SAFE_INTEGER }: { min?: number; max?: number } = {},
): number {
  const value = /^\d{1,15}$/.test(given) ? Number(given) : NaN;
  if (value >= min && value <= max) return value;
  const most = /^\d{16,}$/.test(given) ? ', of 15 digits at most' : '';
  throw new LccError('usage', `${flag}=${given}: ${advice}${most}`);
}

/** A duration with its unit, such as `7d`. @returns milliseconds, undefined where it is not given @throws
 * LccError `usage` */
export function durationMsOf(flag: string, value: OptionValues[string]): number | undefined {
  if (value === undefined) return undefined;
  const ms = /[a-z]\s*$/i.test(String(value)) ? parseAmount(String(value), 'ms') : undefined;
  if (ms !== undefined && ms >= SECOND) return ms;
  throw new LccError('usage', `${flag}=${String(value)}: give a time with its unit, such as 12h or 90d`);
}

/** The configuration that `--config` names, or that of the environment; settings given as options win.
 * @throws LccError as `loadConfig` */
export function configOf(
  { env, options, settings }: CommandContext,
  more: Pick<ConfigSources, 'mayBeUnreadable'> = {},
): Config {
  return loadConfig({ env, file: textOf(options, 'config'), overrides: settings, ...more });
}

/**
 * How long to wait, in milliseconds: Infinity where no seconds are given, undefined where the option is not.
 * @throws LccError `usage` for what is no time, or too short
 */
export function waitMsOf(flag: string, value: OptionValues[string], leastMs = 0): number | undefined {
  if (value === undefined) return undefined;
  if (value === true) return Infinity;
  const ms = typeof value === 'string' && /^\d{1,7}(\.\d+)?$/.test(value) ? Number(value) * 1000 : NaN;
  if (ms >= leastMs) return ms;
  throw new LccError('usage', `${flag}=${String(value)}: give seconds, such as 10 or 0.5`);
}
