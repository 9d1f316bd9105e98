/**
 * Changes that a provider makes to itself from the side of the site. Another password stands in `F.new`,
 * synced, before it is in use:
 *
 *     made ──F.new──▶ in use ──F──▶ F.new away
 *       ╰── cut off anywhere: the next run asks which one holds
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from '../../lib/durable.js';
import { errnoOf, EXIT, LccError, messageOf, type ExitStatus } from '../../lib/errors.js';
import { step } from '../../lib/steps.js';
import { writeSecret } from './pending.js';
import { RegistrationRefused, type RegistrationServer } from './server.js';

export interface SiteAccount {
  server: RegistrationServer;
  pid: number;
  pwdfile: string;
  sleep: (ms: number) => Promise<void>;
}

/** How a change has ended. */
interface Changed {
  status: ExitStatus;
  message: string;
}

interface Rotation {
  id: string;
  password: string;
}

const LOOK_MS = 200;
/** Looks at a password that is being put in use. */
const LOOKS = 50;

/** Number and password, as they log in. @throws LccError `input.missing` */
export function loginOf({ pid, pwdfile }: Pick<SiteAccount, 'pid' | 'pwdfile'>): string {
  try {
    return `${pid}:${readFileSync(pwdfile, 'utf8').split('\n', 1)[0]?.trim() ?? ''}`;
  } catch (error) {
    const what =
      errnoOf(error) === 'ENOENT'
        ? 'there is no such file; --pwdfile names the one with the password, passwd --forgot makes another password'
        : messageOf(error);
    throw new LccError('input.missing', `--pwdfile=${pwdfile}: ${what}`, { cause: error });
  }
}

/** Another password into the file of the one before, which is void then. @throws LccError as
 * RegistrationServer; `output.create` */
export async function changePassword(account: SiteAccount): Promise<Changed> {
  const { server, pid, pwdfile, sleep } = account;
  const path = `${pwdfile}.new`;
  const rotation = readRotation(path) ?? (await begin(account, path));
  const state = await stateOf(rotation, account, sleep);
  if (state === 'active' || (state === 'over' && (await holds(server, pid, rotation.password)))) {
    writeSecret(pwdfile, `${rotation.password}\n`);
    step('register.rotation.done');
    forget(path);
    return { status: EXIT.ok, message: `provider ${pid} has another password; it is in ${pwdfile}` };
  }
  if (state === 'over' || state === 'refused') {
    forget(path);
    return { status: EXIT.noperm, message: `provider ${pid}: the password is as it was; run this again` };
  }
  return {
    status: EXIT.tempfail,
    message: `provider ${pid}: the other password is being set up; run this again later`,
  };
}

async function begin(account: SiteAccount, path: string): Promise<Rotation> {
  const { id, password } = await account.server.ask('POST', 'me/password', {}, loginOf(account));
  if (typeof id !== 'string' || typeof password !== 'string' || !/^[\w-]{20,100}$/.test(password))
    throw new LccError('peer.protocol', 'the Registration Server: no password');
  writeSecret(path, `${JSON.stringify({ id, password })}\n`);
  step('register.rotation.synced');
  return { id, password };
}

/** `over`: nothing is known of it any more. */
async function stateOf(
  { id }: Rotation,
  { server }: SiteAccount,
  sleep: SiteAccount['sleep'],
): Promise<string> {
  try {
    let { state } = await server.ask('POST', `pairs/${id}/check`);
    for (let looks = 0; state === 'applying' && looks < LOOKS; looks++) {
      await sleep(LOOK_MS);
      ({ state } = await server.ask('GET', `pairs/${id}`));
    }
    return String(state);
  } catch (error) {
    if (error instanceof RegistrationRefused && [404, 410].includes(error.status)) return 'over';
    throw error;
  }
}

async function holds(server: RegistrationServer, pid: number, password: string): Promise<boolean> {
  try {
    await server.ask('GET', 'me', undefined, `${pid}:${password}`);
    return true;
  } catch (error) {
    if (error instanceof RegistrationRefused && error.status === 401) return false;
    throw error;
  }
}

function readRotation(path: string): Rotation | undefined {
  if (!existsSync(path)) return undefined;
  try {
    const { id, password } = Object(JSON.parse(readFileSync(path, 'utf8'))) as Record<string, unknown>;
    if (typeof id === 'string' && /^[0-9a-f]{32}$/.test(id) && typeof password === 'string')
      return { id, password };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw new LccError('input.missing', `${path}: ${messageOf(error)}`);
  }
  throw new LccError(
    'data.malformed',
    `${path}: not a password that is being set up; look at it, and remove it`,
  );
}

function forget(path: string): void {
  rmSync(path, { force: true });
  syncDirectory(dirname(path));
}
