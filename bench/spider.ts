/** The Spider: how fast a list goes through URL server, spider and store server, and how soon a spider says DONE. */
import type { Outcome } from './harness.js';
import { benchLine } from './spider/line.js';

export async function bench(): Promise<Outcome[]> {
  return [...(await benchLine())];
}
