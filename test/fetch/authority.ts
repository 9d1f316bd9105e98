/** A certificate authority of a test's own, made with openssl. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from './support.js';

export interface Certificate {
  key: Buffer;
  cert: Buffer;
  keyFile: string;
  certFile: string;
}

const NEW_KEY = ['-newkey', 'rsa:2048', '-nodes'];

export class Authority {
  readonly #dir = newFolder();

  constructor() {
    this.#openssl('req', '-x509', ...NEW_KEY, ...this.#files('ca'), '-days', '30', '-subj', '/CN=Test CA');
  }

  /** Its own certificate, for an engine that is to trust it. */
  get ca(): string {
    return readFileSync(this.caFile, 'latin1');
  }

  get caFile(): string {
    return join(this.#dir, 'ca.pem');
  }

  /** Makes a process started with it trust this authority. */
  get env(): NodeJS.ProcessEnv {
    return { NODE_EXTRA_CA_CERTS: this.caFile };
  }

  /** A certificate of this authority; one of -1 days has expired. */
  issue(host = 'localhost', days = 30): Certificate {
    this.#openssl('req', '-new', ...NEW_KEY, '-keyout', 'x.key', '-out', 'x.csr', '-subj', `/CN=${host}`);
    writeFileSync(join(this.#dir, 'x.ext'), `subjectAltName=DNS:${host}\n`);
    const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'x.ext'];
    this.#openssl('x509', '-req', '-in', 'x.csr', '-out', 'x.pem', '-days', String(days), ...signing);
    return this.#read('x');
  }

  /** One that nobody has signed but itself. */
  selfSigned(): Certificate {
    this.#openssl(
      'req',
      '-x509',
      ...NEW_KEY,
      ...this.#files('self'),
      '-days',
      '30',
      '-subj',
      '/CN=localhost',
    );
    return this.#read('self');
  }

  #files(name: string): string[] {
    return ['-keyout', `${name}.key`, '-out', `${name}.pem`];
  }

  #openssl(...args: string[]): void {
    execFileSync('openssl', args, { cwd: this.#dir, stdio: 'ignore' });
  }

  #read(name: string): Certificate {
    const [keyFile, certFile] = [join(this.#dir, `${name}.key`), join(this.#dir, `${name}.pem`)];
    return { keyFile, certFile, key: readFileSync(keyFile), cert: readFileSync(certFile) };
  }
}
