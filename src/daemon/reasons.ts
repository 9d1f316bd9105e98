/** Reasons that daemons of several kinds give. */
import { amount, formatDuration } from '../config/words.js';
import { figureOf, type Status } from './figures.js';

/** A peer that leaves pings without an answer. @param whom the daemon that asks */
export function ofSilence(who: string, { silent_ms: ms }: Status, whom: unknown): string[] {
  if (typeof ms !== 'number') return [];
  const since = formatDuration(Math.floor(ms / 1000));
  return [
    `${who} has not answered ${String(whom)} for ${since}: it hangs, or the link is cut; soon it is given up, and what it does goes to others`,
  ];
}

/** The Bot Manager of an entry of `bot_managers`. */
export function managerOf({ machines, peer }: Status): string {
  const names = Array.isArray(machines) && machines.length > 0 ? machines.join(', ') : String(peer);
  return `the Bot Manager of ${names}`;
}

/** Files in a spool that LCC did not write. */
export function ofForeign(status: Status, where: string): string | false {
  const foreign = figureOf(status, 'foreign_files');
  return (
    foreign > 0 &&
    `${amount(foreign, 'foreign file is', 'foreign files are')} set aside in ${where}, below bad/: look where ${foreign === 1 ? 'it is' : 'they are'} from, and remove ${foreign === 1 ? 'it' : 'them'}`
  );
}
