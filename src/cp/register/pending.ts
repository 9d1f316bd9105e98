/**
 * A pair that is not over, in a file beside the password's: `F.pair`, `F.root` or `F.reset`, for its owner
 * only. It is there from before the file of the secret is put in place until all is done, so that a run that
 * was cut off is gone on with.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory, writeFileDurably } from '../../lib/durable.js';
import { LccError, messageOf } from '../../lib/errors.js';
import { step } from '../../lib/steps.js';
import { hasForm } from './server.js';

/** A new provider, another root of one, or another password in place of a forgotten one; ends the name of the
 * file. */
export type PendingKind = 'pair' | 'root' | 'reset';

export interface PendingRegistration {
  server: string;
  /** The capability of the pair. */
  id: string;
  pid: number;
  /** The directory that is applied for, as the server writes it; and as it was given. */
  url: string;
  asked: string;
  /** The url of the file, and what it has to hold. */
  file: string;
  secret: string;
  /** '' of a root. */
  password: string;
  /** Where the file is put, absolute; undefined where somebody else puts it in place. */
  docroots?: readonly string[];
}

const SECRET_MODE = 0o600;
const NAMES = ['server', 'id', 'url', 'asked', 'file', 'secret', 'password'] as const;

export function pendingFileOf(pwdfile: string, kind: PendingKind): string {
  return `${pwdfile}.${kind}`;
}

/** Undefined: none is under way. @throws LccError `data.malformed` */
export function readPending(pwdfile: string, kind: PendingKind): PendingRegistration | undefined {
  const path = pendingFileOf(pwdfile, kind);
  const remedy = `remove it${kind === 'pair' ? `, and ${pwdfile},` : ''} to begin again`;
  if (!existsSync(path)) return undefined;
  try {
    const value = Object(JSON.parse(readFileSync(path, 'utf8'))) as Record<string, unknown>;
    const isWhole =
      NAMES.every(name => typeof value[name] === 'string') && Number.isSafeInteger(value['pid']);
    const { url = '', file = '' } = value as { url?: string; file?: string };
    // An earlier lccregister kept whatever a server had said.
    if (isWhole && hasForm('secret', value['secret']) && hasForm('file', file.slice(url.length)))
      return value as unknown as PendingRegistration;
  } catch (error) {
    throw new LccError('data.malformed', `${path}: ${messageOf(error)}; ${remedy}`);
  }
  throw new LccError('data.malformed', `${path}: not a registration; ${remedy}`);
}

/** Keeps it, then the password of a new provider, each synced. */
export function keepPending(pwdfile: string, kind: PendingKind, pending: PendingRegistration): void {
  writeFileDurably(pendingFileOf(pwdfile, kind), `${JSON.stringify(pending)}\n`, SECRET_MODE);
  step('register.pair.synced');
  keepPassword(pwdfile, kind, pending);
}

/** Writes the password of a new provider, as far as it is not there. */
export function keepPassword(pwdfile: string, kind: PendingKind, { password }: PendingRegistration): void {
  if (kind !== 'pair' || existsSync(pwdfile)) return;
  writeFileDurably(pwdfile, `${password}\n`, SECRET_MODE);
  step('register.password.synced');
}

/** Writes what is for its owner only, durably. @throws LccError `output.create` */
export function writeSecret(path: string, text: string): void {
  try {
    writeFileDurably(path, text, SECRET_MODE);
  } catch (error) {
    throw new LccError('output.create', `${path}: ${messageOf(error)}`, { cause: error });
  }
}

/** The password of a reset is in use: it takes the place of the one that was forgotten. @throws LccError
 * `output.create` */
export function replacePassword(pwdfile: string, { password }: PendingRegistration): void {
  writeSecret(pwdfile, `${password}\n`);
  step('register.reset.synced');
}

/** Forgets a pending registration that has done its work. */
export function forgetPending(pwdfile: string, kind: PendingKind): void {
  rmSync(pendingFileOf(pwdfile, kind), { force: true });
  syncDirectory(dirname(pwdfile));
}

/** The pair is of no use any more, nor is the password that a new provider would have had. */
export function dropPending(pwdfile: string, kind: PendingKind): void {
  if (kind === 'pair') rmSync(pwdfile, { force: true });
  forgetPending(pwdfile, kind);
}
