/** Certificates to trust. Loads no cryptography: filters read them as well, and most of them speak no TLS. */
import { readFileSync } from 'node:fs';
import { LccError, reasonOf } from './errors.js';

const CERTIFICATE = /^-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----\r?$/m;

/**
 * @param what the option or setting that named the file, for messages
 * @throws LccError `input.missing` for an option's file that cannot be read, `config` for a setting's, or for one that has no certificate (PEM) in it: all
 *   would be refused
 */
export function readAuthorities(what: string, path: string): Buffer {
  const pem = readSetting(what, path, () => readFileSync(path));
  if (!CERTIFICATE.test(pem.toString('latin1')))
    throw new LccError('config', `${what}: ${path} holds no certificate (PEM)`);
  return pem;
}

/** What `read` returns. @throws LccError `config` naming the setting and the file when it fails; of an option `input.missing` */
export function readSetting<T>(what: string, path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof LccError) throw error;
    const code = what.startsWith('--') ? 'input.missing' : 'config';
    throw new LccError(code, `${what}: ${path}: ${reasonOf(error)}`, { cause: error });
  }
}
