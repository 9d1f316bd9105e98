/** Certificates to trust. Loads no cryptography: filters read them as well, and most of them speak no TLS. */
import { readFileSync } from 'node:fs';
import { LccError, reasonOf, type ErrorCode } from './errors.js';

const CERTIFICATE = /^-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----\r?$/m;

/**
 * @param what the option or setting that named the file, for messages
 * @param unreadable the code for a file that cannot be read
 * @throws LccError `unreadable`; `config` for a file that has no certificate (PEM) in it: all
 *   would be refused
 */
export function readAuthorities(what: string, path: string, unreadable: ErrorCode = 'config'): Buffer {
  const pem = readSetting(what, path, () => readFileSync(path), unreadable);
  if (!CERTIFICATE.test(pem.toString('latin1')))
    throw new LccError('config', `${what}: ${path} holds no certificate (PEM)`);
  return pem;
}

/** The result of `read`. @throws LccError `unreadable` naming the setting and the file when it fails */
export function readSetting<T>(
  what: string,
  path: string,
  read: () => T,
  unreadable: ErrorCode = 'config',
): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof LccError) throw error;
    throw new LccError(unreadable, `${what}: ${path}: ${reasonOf(error)}`, { cause: error });
  }
}
