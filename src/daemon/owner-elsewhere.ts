/** The owner of a kept home where that is another machine, for commands that read it. */
import { existsSync } from 'node:fs';
import type { Config } from '../config/types.js';
import { LccError } from '../lib/errors.js';
import { askLine } from './ask.js';
import { parseKeepWord } from './keep-lines.js';
import { keeperAt } from './keeper-link.js';

/**
 * Name of the machine that owns the home, '' for none; undefined where it is this one, or no keeper says
 * anything: then the home is what lies here.
 * @throws LccError `try.later`, `peer.protocol` where a keeper is there and does not answer as one
 */
export async function ownerElsewhere({
  home,
  settings,
}: Pick<Config, 'home' | 'settings'>): Promise<string | undefined> {
  const { path } = keeperAt(home.run);
  if (settings.store.url === '' || !existsSync(path)) return undefined;
  try {
    const word = parseKeepWord(await askLine(path, 'lease'));
    return word.word === 'standby' ? word.owner : undefined;
  } catch (error) {
    if (error instanceof LccError && error.code === 'peer.unavailable') return undefined;
    throw error;
  }
}
