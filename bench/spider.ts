/** The Spider: how fast a list goes through URL server, spider and store server, how soon a spider says DONE, and the store server alone. */
import type { Outcome } from './harness.js';
import { benchLine } from './spider/line.js';
import { benchStore } from './spider/store.js';

export async function bench(): Promise<Outcome[]> {
  return [...(await benchLine()), ...(await benchStore())];
}
