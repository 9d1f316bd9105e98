/** How a provider stands, in its own view: `GET me` of the API, with number and password by Basic
 * authentication. */
import type { ShownProvider } from '../db/providers/registered.js';
import { RsRequestRefused } from './refusal.js';
import type { UnsDoor } from './uns-door.js';
import { shownBy, type RsGround } from './ground.js';

export interface ProviderViewOptions extends Pick<RsGround, 'ask'> {
  door: Pick<UnsDoor, 'look' | 'isRight'>;
}

/** Fields of the Queue Manager's answer that concern the provider. */
const SHOWN = [
  'roots',
  'bandwidth',
  'timeofday',
  'priority',
  'enabled',
  'paused',
  'generation',
  'leaveat',
  'givenroots',
  'truthfulness',
  'push',
  'pushes',
] as const;

/** @throws RsRequestRefused 401, 503 */
export async function providerView(
  authorization: string | undefined,
  address: string,
  { door, ask }: ProviderViewOptions,
): Promise<object> {
  const { pid, password } = credentialsOf(authorization);
  const { report, errors } = await door.look(pid, password, address);
  const provider: Partial<ShownProvider> = (await shownBy(ask, Number(pid))) ?? {};
  return {
    pid: Number(pid),
    files: report.files,
    space_bytes: report.space,
    full_sets: report.fullset,
    waiting: report.processing,
    errors: report.errors,
    shown: errors.map(({ code, curl, mimetype, text }) => ({ code: Number(code), curl, mimetype, text })),
    ...Object.fromEntries(
      SHOWN.flatMap(name => (provider[name] === undefined ? [] : [[name, provider[name]]])),
    ),
  };
}

/** @throws RsRequestRefused 401 */
export function credentialsOf(authorization = ''): { pid: string; password: string } {
  const [, coded = ''] = /^Basic ([A-Za-z0-9+/]+={0,2})$/i.exec(authorization) ?? [];
  const [, pid, password] =
    /^(\d{1,15}):([\w-]{1,100})$/.exec(Buffer.from(coded, 'base64').toString('utf8')) ?? [];
  if (pid === undefined || password === undefined)
    throw new RsRequestRefused(
      401,
      'login',
      'number and password are missing, or not as they must be',
      'send them by Basic authentication',
    );
  return { pid, password };
}
