/**
 * Files with which a server proves its identity: they are refused in words of ours, for OpenSSL's name none.
 */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { LccError } from './errors.js';
import { readSetting } from './authorities.js';

const OTHERS_READ_OR_WRITE = 0o006;

export interface Identity {
  cert: Buffer;
  key: Buffer;
  /** File of the certificate. */
  path: string;
  /** When the certificate ends, ms since 1970. */
  validToMs: number;
}

/**
 * Reads the certificate and key of a server, or of a machine that connects.
 * @param settings that name the files, for messages
 * @throws LccError `config` for a file that cannot be read or holds something else, a key that everybody
 *   may read, and one that is not the certificate's
 */
export function readIdentity(
  certPath: string,
  keyPath: string,
  settings: { cert: string; key: string } = { cert: 'net.tls_cert', key: 'net.tls_key' },
): Identity {
  const cert = readSetting(settings.cert, certPath, () => readFileSync(certPath));
  const key = readSetting(settings.key, keyPath, () => readKey(settings.key, keyPath));
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch {
    throw new LccError('config', `${settings.cert}: ${certPath} holds no certificate (PEM)`);
  }
  let secret: KeyObject;
  try {
    secret = createPrivateKey(key);
  } catch {
    throw new LccError(
      'config',
      `${settings.key}: ${keyPath} holds no private key (PEM, without a passphrase)`,
    );
  }
  if (!certificate.checkPrivateKey(secret)) {
    throw new LccError(
      'config',
      `${settings.key}: ${keyPath} is not the key of the certificate in ${certPath}, whose own certificate must come first`,
    );
  }
  return { cert, key, path: certPath, validToMs: Date.parse(certificate.validTo) };
}

/** Any reader of the key can pass for this LCC: a group may (ssl-cert), everybody may not. */
function readKey(setting: string, path: string): Buffer {
  const fd = openSync(path, 'r');
  try {
    const mode = fstatSync(fd).mode & 0o777;
    if ((mode & OTHERS_READ_OR_WRITE) !== 0) {
      const octal = mode.toString(8).padStart(4, '0');
      throw new LccError(
        'config',
        `${setting}: ${path} has mode ${octal} and is open to everybody; chmod o= ${path}, and make a new key if others could read it`,
      );
    }
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}
