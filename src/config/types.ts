/** The effective configuration, as others are given it. */
import type { Home } from './home.js';
import type { SectionName, SettingKey, Settings, SettingValue } from './settings/index.js';

export interface Config {
  home: Home;
  /** The file read, undefined when there was none. */
  file: string | undefined;
  get<K extends SettingKey>(key: K): SettingValue<K>;
  settings: Settings;
  /** The values of a section, `connect_timeout_ms` as `connectTimeoutMs`. */
  section<S extends SectionName>(name: S): Settings[S];
  /** `default`, `command line`, or the file's path. */
  originOf(key: SettingKey): string;
  /** Settings of the file in whose place the command line gives something else. */
  replaced: readonly { key: SettingKey; value: unknown }[];
}
