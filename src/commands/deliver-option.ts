/** `--deliver`, of commands whose urls nobody announced: to the spider door instead of standard output. */
import { join } from 'node:path';
import { xmlLimitsOf } from '../config/limits.js';
import type { Config } from '../config/load.js';
import { amount } from '../config/words.js';
import { parseEndpoint } from '../lib/endpoint.js';
import { DOOR_LIMITS, type DoorCounts, type DoorSetsOptions } from '../wire/door-sets.js';
import type { CommandContext, OptionSpec } from './run.js';

export const DELIVER_OPTION: OptionSpec = {
  flags: '--deliver [ENDPOINT]',
  help: 'deliver to the spider door of lccd-uns (default: run/spider.sock below $LCC_HOME)',
};

/** Undefined where urls are written. */
export function doorOptionsOf(context: CommandContext, config: Config): DoorSetsOptions | undefined {
  const { deliver } = context.options;
  if (deliver === undefined) return undefined;
  return {
    door: parseEndpoint(
      typeof deliver === 'string' ? deliver : `unix:${join(config.home.run, 'spider.sock')}`,
    ),
    clock: context.clock,
    limits: xmlLimitsOf(config.settings.xml),
    ...DOOR_LIMITS,
  };
}

/** Lines about the outcome of the sets. @param what name of what was delivered, one of them: `link` */
export function doorLines(counts: DoorCounts | undefined, what: string): string[] {
  if (counts === undefined || counts.sets === 0) return [];
  const { sets, accepted, refused, ownerless } = counts;
  const lines = [`${amount(sets, 'set')} delivered, ${amount(accepted, what)} accepted`];
  if (refused > 0) lines.push(`${amount(refused, what)} refused`);
  if (ownerless > 0) lines.push(`${amount(ownerless, what)} of providers that are gone`);
  return lines;
}
