/** Tells if a number and a password belong together, and which generation of the password that is. */
import type { ProviderViewOptions } from './me.js';
import { shownBy } from './ground.js';
import { busy } from './refusal.js';
import { notTogether } from './uns-door.js';

const PID = /^[1-9]\d{0,14}$/;
const PASSWORD = /^[\w-]{1,100}$/;
/** Is nobody's; takes as long as any. */
const NOBODY = '0';

export interface LoggedIn {
  pid: number;
  generation: number;
}

/**
 * Lets a provider in that may connect, or is leaving: that one may stay after all.
 * @param address of the client
 * @throws RsRequestRefused 401 alike for a number that is unknown, disabled or has another password; 503
 */
export async function loginOf(
  number: string,
  password: string,
  address: string,
  { door, ask }: ProviderViewOptions,
): Promise<LoggedIn> {
  const { enabled } = await requirePassword(number, password, address, door);
  const provider = await shownBy(ask, Number(number));
  if (provider === undefined) throw busy();
  if (provider === null || (!enabled && provider.leaveat === null)) throw notTogether();
  // Right before and after: it is the password of this generation, even if it is changed meanwhile.
  await requirePassword(number, password, address, door);
  return { pid: provider.pid, generation: provider.generation };
}

/** @throws RsRequestRefused 401, 503 */
export function requirePassword(
  number: string,
  password: string,
  address: string,
  door: Pick<ProviderViewOptions['door'], 'isRight'>,
): Promise<{ enabled: boolean }> {
  return PID.test(number) && PASSWORD.test(password)
    ? door.isRight(number, password, address)
    : door.isRight(NOBODY, NOBODY, address);
}
