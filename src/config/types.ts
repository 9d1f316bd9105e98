/** The effective configuration, as others are given it. */
import type { SettingKey, SettingValue } from './settings/index.js';

/** Where everything an LCC keeps lives, below `$LCC_HOME`. */
export interface Home {
  dir: string;
  db: string;
  unsSpool: string;
  fsmSpool: string;
  store: string;
  /** The folder of cache clearing. */
  clear: string;
  /** The folder of registration. */
  rs: string;
  /** The folder of the Spider: of a URL server, and unless it is told otherwise of a store server. */
  spider: string;
  run: string;
}

export interface Config {
  home: Home;
  /** The file read, undefined when there was none. */
  file: string | undefined;
  get<K extends SettingKey>(key: K): SettingValue<K>;
  /** `default`, `command line`, or the file's path. */
  originOf(key: SettingKey): string;
  /** Settings of the file in whose place the command line gives something else. */
  replaced: readonly { key: SettingKey; value: unknown }[];
}
