/** The effective configuration as TOML: `lccd --print-config`. */
import type { Config } from './load.js';
import { SETTINGS, type SettingKey } from './settings/index.js';

/** Each value with its origin as a comment. */
export function printConfig(config: Config): string {
  const lines = [`# LCC_HOME = ${JSON.stringify(config.home.dir)}`];
  let section = '';
  for (const key of Object.keys(SETTINGS) as SettingKey[]) {
    const [head = '', name = ''] = key.split('.');
    if (head !== section) lines.push('', `[${head}]`);
    section = head;
    // Text that JSON writes is TOML, but for DEL, which TOML wants escaped.
    const value = JSON.stringify(config.get(key)).replaceAll('\u007f', '\\u007f');
    lines.push(`${name} = ${value}  # ${config.originOf(key)}`);
  }
  return `${lines.join('\n')}\n`;
}
