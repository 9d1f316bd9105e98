/** Passwords that are made here, never by people: 160 random bits, so that one round of salted SHA-256 is
 * enough. Stored as `sha256:SALT:HASH`, both in hex. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

const PASSWORD_BYTES = 20;
const SALT_BYTES = 16;
const STORED = /^sha256:([0-9a-f]{32}):([0-9a-f]{64})$/;
/** A hash that an unknown account is compared with, so that it costs the same time as a known one; nothing
 * hashes to it. */
const NOBODY = `sha256:${'0'.repeat(2 * SALT_BYTES)}:${'0'.repeat(64)}`;

/** The stored hash of an account without a password: nothing hashes to it. */
export const NO_PASSWORD = 'none';

/** A new password: 27 characters of base64url, safe in URLs, XML and shells. */
export function generatePassword(): string {
  let password: string;
  // One that begins with a dash would be taken for an option.
  do password = randomBytes(PASSWORD_BYTES).toString('base64url');
  while (password.startsWith('-'));
  return password;
}

/** The stored form of a password. */
export function hashPassword(password: string): string {
  const salt = randomBytes(SALT_BYTES).toString('hex');
  return `sha256:${salt}:${digest(salt, password).toString('hex')}`;
}

/** True if the password is the stored one; undefined (nobody) and malformed ones never match, and take as
 * long. */
export function passwordMatches(password: string, stored: string | undefined): boolean {
  const known = stored === undefined ? null : STORED.exec(stored);
  const [, salt = '', expected = ''] = known ?? STORED.exec(NOBODY) ?? [];
  const same = timingSafeEqual(digest(salt, password), Buffer.from(expected, 'hex'));
  return same && known !== null;
}

function digest(salt: string, password: string): Buffer {
  return hash('sha256', `${salt}:${password}`, 'buffer');
}
