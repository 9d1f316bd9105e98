/**
 * The spool of a UNS: a folder of its own below `spool/uns`, named by `uns.id`. So several servers share one
 * LCC_HOME, a provider may use any of them, and a folder has one writer: the server that holds its lock
 * (lib/spool.ts).
 */
import { join } from 'node:path';
import type { Home } from '../config/home.js';

export function spoolDirOf({ unsSpool }: Pick<Home, 'unsSpool'>, unsId: string): string {
  return join(unsSpool, unsId);
}
