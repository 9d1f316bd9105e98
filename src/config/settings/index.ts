/**
 * Every setting of the LCC, one file per section: key in lcc.toml, unit, default, bounds, meaning. lcc.toml(5) is compared
 * with them by a test, and a refusal caused by a limit names the key that raises it (`limitText`).
 *
 * A key is `section.name`; numbers carry their unit in the name. In the file a number may also be written with a unit:
 * `"10s"`, `"1.5h"`, `"64KB"` (KB = 1024 bytes), `"2GB"`.
 */

import { formatAmount } from '../amounts.js';
import { BM } from './bm.js';
import { BOT } from './bot.js';
import { CLEAR } from './clear.js';
import { CONVERT } from './convert.js';
import { CP } from './cp.js';
import { CRAWL } from './crawl.js';
import { CU } from './cu.js';
import { LCCD } from './lccd.js';
import { LISTS } from './lists.js';
import { NET } from './net.js';
import { QM } from './qm.js';
import type { SettingRow } from './rows.js';
import { RS } from './rs.js';
import { SPIDER } from './spider.js';
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
  ...UNS,
  ...QM,
  ...CU,
  ...CONVERT,
  ...LCCD,
  ...BM,
  ...BOT,
  ...CLEAR,
  ...RS,
  ...SPIDER,
  ...CRAWL,
  ...LISTS,
} as const satisfies Record<string, SettingRow>;

export type SettingKey = keyof typeof SETTINGS;
type Row<K extends SettingKey> = (typeof SETTINGS)[K];
export type SettingValue<K extends SettingKey> = Row<K>['type'] extends 'number'
  ? number
  : Row<K>['type'] extends 'boolean'
    ? boolean
    : Row<K>['type'] extends 'string'
      ? string
      : readonly string[];

/** `64 KB (xml.token_bytes)`: a limit as it appears in the message that refuses. */
export function limitText(key: SettingKey, value: number): string {
  const row: SettingRow = SETTINGS[key];
  return `${formatAmount(value, row.type === 'number' ? row.unit : 'count')} (${key})`;
}
