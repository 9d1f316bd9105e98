/** The effective configuration, as others are given it. */
import type { Home } from './home.js';
import type { SettingKey, Settings, SettingValue } from './settings/index.js';

export interface Config {
  home: Home;
  /** The file read, undefined when there was none. */
  file: string | undefined;
  get<K extends SettingKey>(key: K): SettingValue<K>;
  /** The values of each section, `connect_timeout_ms` as `connectTimeoutMs`. */
  settings: Settings;
  /** `default`, `command line`, or the file's path. */
  originOf(key: SettingKey): string;
  /** Settings of the file in whose place the command line gives something else. */
  replaced: readonly { key: SettingKey; value: unknown }[];
}
