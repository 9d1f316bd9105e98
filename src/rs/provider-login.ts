/** Whether a number and a password belong together, and which generation of the password that is. */
import type { ProviderViewOptions } from './me.js';
import { RsRequestRefused } from './refusal.js';

const PID = /^[1-9]\d{0,14}$/;
const PASSWORD = /^[\w-]{1,100}$/;
/** Is nobody's; takes as long as any. */
const NOBODY = '0';

export interface LoggedIn {
  pid: number;
  generation: number;
}

/**
 * @param address of the client
 * @throws RsRequestRefused 401 alike for a number that is unknown, disabled or has another password; 503
 */
export async function loginOf(
  number: string,
  password: string,
  address: string,
  { door, ask }: ProviderViewOptions,
): Promise<LoggedIn> {
  const isWellFormed = PID.test(number) && PASSWORD.test(password);
  const check = () =>
    isWellFormed ? door.look(number, password, address) : door.look(NOBODY, NOBODY, address);
  await check();
  const generation = await generationOf(Number(number), ask);
  // Right before and after: it is the password of this generation, whoever changes it meanwhile.
  await check();
  return { pid: Number(number), generation };
}

async function generationOf(pid: number, ask: ProviderViewOptions['ask']): Promise<number> {
  const told = await ask({ op: 'show', pid });
  const { generation } = Object(told?.['provider']) as { generation?: unknown };
  if (typeof generation === 'number') return generation;
  throw new RsRequestRefused(503, 'away', 'this cannot be looked up now', 'try again later', 10);
}
