/** Settings for tests: of no home and no file, but for some. */
import { loadConfig, type Config, type ConfigSources } from '../../src/config/load.js';
import { SETTINGS } from '../../src/config/settings/index.js';

export type Overrides = NonNullable<ConfigSources['overrides']>;

export function configOf(overrides: Overrides): Config {
  return loadConfig({ env: { LCC_HOME: '/nonexistent' }, overrides });
}

/** All settings of a section, and of those named the ones that are of it; both sorted, to be compared. */
export function settingsOf(section: string, named: Iterable<string>): { all: string[]; named: string[] } {
  const ofIt = (keys: Iterable<string>) => [...keys].filter(key => key.startsWith(`${section}.`)).toSorted();
  return { all: ofIt(Object.keys(SETTINGS)), named: ofIt(named) };
}
