/**
 * Every setting of the LCC, one file per section: key in lcc.toml, unit, default, bounds, meaning.
 * lcc.toml(5) is compared with them by a test, and a refusal caused by a limit names the key that raises it
 * (`limitText`).
 *
 * A key is `section.name`; numbers carry their unit in the name. In the file a number may also be written
 * with a unit: `"10s"`, `"1.5h"`, `"64KB"` (KB = 1024 bytes), `"2GB"`.
 */

import { formatAmount } from '../amounts.js';
import { BM } from './bm.js';
import { BOT } from './bot.js';
import { CLEAR } from './clear.js';
import { CLUSTER } from './cluster.js';
import { CONVERT } from './convert.js';
import { CP } from './cp.js';
import { CU } from './cu.js';
import { FE } from './fe.js';
import { LCCD } from './lccd.js';
import { LINKS } from './links.js';
import { LISTS } from './lists.js';
import { NET } from './net.js';
import { PUSH } from './push.js';
import { QM } from './qm.js';
import type { SettingRow } from './rows.js';
import { RS } from './rs.js';
import { SPIDER } from './spider.js';
import { STORE } from './store.js';
import { UNS } from './uns.js';
import { WEB } from './web.js';
import { WIRE } from './wire.js';
import { XML } from './xml.js';

export type { SettingRow } from './rows.js';

export const SETTINGS = {
  ...XML,
  ...CP,
  ...NET,
  ...WIRE,
  ...WEB,
  ...STORE,
  ...CLUSTER,
  ...FE,
  ...UNS,
  ...QM,
  ...CU,
  ...CONVERT,
  ...LCCD,
  ...BM,
  ...BOT,
  ...CLEAR,
  ...RS,
  ...PUSH,
  ...SPIDER,
  ...LINKS,
  ...LISTS,
} as const satisfies Record<string, SettingRow>;

export type SettingKey = keyof typeof SETTINGS;
export type NumberKey = {
  [K in SettingKey]: (typeof SETTINGS)[K] extends { type: 'number' } ? K : never;
}[SettingKey];
type Row<K extends SettingKey> = (typeof SETTINGS)[K];
export type SettingValue<K extends SettingKey> =
  Row<K> extends { oneOf: readonly (infer One)[] }
    ? One
    : Row<K>['type'] extends 'number'
      ? number
      : Row<K>['type'] extends 'boolean'
        ? boolean
        : Row<K>['type'] extends 'string'
          ? string
          : readonly string[];

type SectionName = SettingKey extends `${infer S}.${string}` ? S : never;
type Camel<T extends string> = T extends `${infer A}_${infer B}` ? `${A}${Capitalize<Camel<B>>}` : T;
/** The values of every section, by names as code writes them: `qm.lane_window` is `qm.laneWindow`. */
export type Settings = {
  readonly [S in SectionName]: {
    readonly [K in SettingKey as K extends `${S}.${infer N}` ? Camel<N> : never]: SettingValue<K>;
  };
};

/** All sections, of values that are asked for by key. */
export function sectionsOf(get: (key: SettingKey) => unknown): Settings {
  const sections: Record<string, Record<string, unknown>> = {};
  for (const key of Object.keys(SETTINGS) as SettingKey[]) {
    const [section, name] = namesOf(key);
    (sections[section] ??= {})[name] = get(key);
  }
  return sections as Settings;
}

/** The value of a setting whose key is told. */
export function valueOf<K extends SettingKey>(settings: Partial<Settings>, key: K): SettingValue<K> {
  const [section, name] = namesOf(key);
  return (settings as Record<string, Record<string, unknown>>)[section]?.[name] as SettingValue<K>;
}

/** `['qm', 'laneWindow']`. */
function namesOf(key: SettingKey): [string, string] {
  const [section = '', name = ''] = key.split('.');
  return [section, name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())];
}

/** `64 KB (xml.token_bytes)`: a limit as it appears in the message that refuses. */
export function limitText(key: SettingKey, value: number): string {
  const row: SettingRow = SETTINGS[key];
  return `${formatAmount(value, row.type === 'number' ? row.unit : 'count')} (${key})`;
}

/** The same of the value that its section has. */
export function limitIn(settings: Partial<Settings>, key: NumberKey): string {
  return limitText(key, valueOf(settings, key));
}
