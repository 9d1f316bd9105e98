/** Why a server cannot be reached, or its certificate is not taken, and what to do about it. */
import { errnoOf, messageOf } from './errors.js';

/** OpenSSL's names of the ways in which a certificate fails (X509_V_ERR_…). */
const UNTRUSTED = /CERT|SIGNATURE|ISSUER|CRL|INVALID_CA|HOSTNAME_MISMATCH/;

/** OpenSSL's codes about times → the fault and what to do. */
const UNTIMELY: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate, or one above it, has expired; tell who runs that LCC',
  CERT_NOT_YET_VALID: 'its certificate, or one above it, is not valid yet; check the clocks of both machines',
};

/** Undefined where it is not the certificate that failed. It fails again, however often it is tried. */
export function certificateTrouble(error: unknown): string | undefined {
  const errno = errnoOf(error) ?? '';
  if (errno === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `its certificate is for another name: ${messageOf(error)}`;
  if (UNTIMELY[errno] !== undefined) return UNTIMELY[errno];
  // After the reason Node 24 names an option of node itself.
  const [reason] = messageOf(error).split('; ', 1);
  return UNTRUSTED.test(errno)
    ? `its certificate is not trusted: ${reason}; name the right authority with --cafile`
    : undefined;
}

/** Where nobody answers, by what the system and OpenSSL say. */
const UNREACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused; is it running?',
  ENOENT: 'there is no such socket; is it running?',
  ENOTFOUND: 'its name is not resolved',
  EAI_AGAIN: 'its name is not resolved',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS there',
  EPROTO: 'it does not speak TLS there',
};

/** @param error undefined: the connection ended without one */
export function connectFailure(error: unknown): string {
  if (error === undefined) return 'it hangs up';
  return UNREACHED[errnoOf(error) ?? ''] ?? certificateTrouble(error) ?? messageOf(error);
}
