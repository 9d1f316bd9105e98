/** Certificates of a private authority, for machines that are known by their addresses. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** An authority in that folder, and a certificate for all of these addresses. @returns files of certificate, key and authority */
export function certify(dir: string, addresses: readonly string[]): [string, string, string] {
  const files = ['machine.pem', 'machine.key', 'ca.pem'].map(name => join(dir, name));
  const [cert = '', key = '', ca = ''] = files;
  const names = [...new Set(addresses)].map(address => `IP:${address}`).join(',');
  const make = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'.split(' ');
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore', cwd: dir });
  openssl('req', '-x509', ...make, '-days', '2', '-subj', '/CN=machines', '-keyout', 'ca.key', '-out', ca);
  openssl('req', '-new', ...make, '-subj', '/CN=machine', '-keyout', key, '-out', 'machine.csr');
  writeFileSync(join(dir, 'ext'), `subjectAltName=${names}\nextendedKeyUsage=serverAuth,clientAuth\n`);
  const signed = ['-CA', ca, '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'ext'];
  openssl('x509', '-req', '-in', 'machine.csr', ...signed, '-out', cert);
  return [cert, key, ca];
}
