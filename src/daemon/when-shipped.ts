/** Before a number of the change sequence is told, in a kept home, it is in the engine: else a takeover would
 * give it out again. */
import type { Config } from '../config/types.js';
import type { Clock } from '../lib/clock.js';
import { SHIPPED_WAIT_MS } from './kept.js';

/**
 * Resolves when what was looked at is in the engine.
 * @throws LccError `try.later` when that takes too long, or this machine does not have the home
 */
export type WhenShipped = () => Promise<void>;

/** For commands and programs; undefined without an engine. */
export function whenShipped(config: Config, clock: Clock): WhenShipped | undefined {
  if (config.get('store.url') === '') return undefined;
  return async () => {
    // Code for connections takes no time of the start otherwise.
    const { keptWork } = await import('./open-kept.js');
    await keptWork(config, clock, 'lcc', () => undefined, SHIPPED_WAIT_MS);
  };
}
