/**
 * A registration that is not over, in a file beside the password's: `F.pair`, for its owner only. It is there from before the file
 * of the secret is put in place until the provider is active, so that a run that was cut off is gone on with.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory, writeFileDurably } from '../../lib/durable.js';
import { LccError, messageOf } from '../../lib/errors.js';
import { step } from '../../lib/steps.js';

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
  password: string;
  /** Absolute; undefined where somebody else puts the file in place. */
  docroot?: string;
}

const SECRET_MODE = 0o600;
const NAMES = ['server', 'id', 'url', 'asked', 'file', 'secret', 'password'] as const;

export function pendingFileOf(pwdfile: string): string {
  return `${pwdfile}.pair`;
}

/** Undefined: none is under way. @throws LccError `data.malformed` */
export function readPending(pwdfile: string): PendingRegistration | undefined {
  const path = pendingFileOf(pwdfile);
  if (!existsSync(path)) return undefined;
  try {
    const value = Object(JSON.parse(readFileSync(path, 'utf8'))) as Record<string, unknown>;
    if (NAMES.every(name => typeof value[name] === 'string') && Number.isSafeInteger(value['pid']))
      return value as unknown as PendingRegistration;
  } catch (error) {
    throw new LccError(
      'data.malformed',
      `${path}: ${messageOf(error)}; remove it, and ${pwdfile}, to begin again`,
    );
  }
  throw new LccError(
    'data.malformed',
    `${path}: not a registration; remove it, and ${pwdfile}, to begin again`,
  );
}

/** Keeps it, then its password, each synced. @throws LccError `output.create` */
export function keepPending(pwdfile: string, pending: PendingRegistration): void {
  writeFileDurably(pendingFileOf(pwdfile), `${JSON.stringify(pending)}\n`, SECRET_MODE);
  step('register.pair.synced');
  keepPassword(pwdfile, pending);
}

/** As far as it is not there. */
export function keepPassword(pwdfile: string, { password }: PendingRegistration): void {
  if (existsSync(pwdfile)) return;
  writeFileDurably(pwdfile, `${password}\n`, SECRET_MODE);
  step('register.password.synced');
}

/** @param withPassword the pair is of no use any more, nor is its password */
export function forgetPending(pwdfile: string, withPassword: boolean): void {
  if (withPassword) rmSync(pwdfile, { force: true });
  rmSync(pendingFileOf(pwdfile), { force: true });
  syncDirectory(dirname(pwdfile));
}
