/** Commands that wait for the engine of a kept home, and say so. */
import type { KeptName } from '../config/kept.js';
import type { Config } from '../config/types.js';
import { keptWork } from '../daemon/open-kept.js';
import type { CommandContext } from './run.js';

/** Without a word. */
const QUIET_MS = 2000;
const LOOK_MS = 500;

type Sayer = Pick<CommandContext, 'clock' | 'say'>;

/** Says once who is waited for. @param reason undefined while nobody is */
export async function sayingWait<T>(
  { clock, say }: Sayer,
  reason: () => string | undefined,
  work: Promise<T>,
): Promise<T> {
  const look = () => {
    const why = reason();
    if (why === undefined) cancel = clock.after(LOOK_MS, look);
    else say(`the engine does not answer yet: ${why}`);
  };
  let cancel = clock.after(QUIET_MS, look);
  try {
    return await work;
  } finally {
    cancel();
  }
}

/** As `keptWork`. */
export function keptAction<T>(
  context: Sayer,
  config: Config,
  name: KeptName,
  work: () => T | Promise<T>,
): Promise<T> {
  let isDone = false;
  const noted = async () => {
    const done = await work();
    isDone = true;
    return done;
  };
  const reason = () => (isDone ? UNSHIPPED : undefined);
  return sayingWait(context, reason, keptWork(config, context.clock, name, noted));
}

/** The keeper knows why. */
export const UNSHIPPED = 'lccd-keep has yet to put into it what is done; lcckeep status';
