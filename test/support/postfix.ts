/** A real mail server for tests: Postfix with a folder, ports and a queue of its own; it delivers into mailboxes (Maildir) below that. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { until } from './until.js';

/** Mailboxes are of this domain. */
export const MAIL_DOMAIN = 'lcc.test';
/** That there are. */
const MAILBOXES = ['ann', 'down', 'later', 'operator', 'sent'];

/** Why there is no Postfix here, or false: for `skip`. Under CI a missing peer is a failure, not a skip. */
export const noPostfix =
  spawnSync('postconf', ['mail_version']).error !== undefined && process.env['CI'] !== 'true' && 'no postfix';

/** Who mailboxes belong to. */
const NOBODY = 65_534;
const SERVICES = `
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
`;

export class Postfix {
  readonly dir = mkdtempSync(join(tmpdir(), 'lcc-postfix-'));
  readonly port: number;
  /** Its certificate, of 127.0.0.1. */
  readonly certFile = join(this.dir, 'cert.pem');

  private constructor(port: number) {
    this.port = port;
  }

  static async start(): Promise<Postfix> {
    const postfix = new Postfix(await freePort());
    postfix.#write();
    await postfix.up();
    return postfix;
  }

  /** Resolves when it takes connections. */
  async up(): Promise<void> {
    this.#do('start');
    await until('postfix has its master process', () => this.#isUp);
  }

  /** Resolves when it is gone. */
  async down(): Promise<void> {
    if (this.#isUp) this.#do('stop');
    await until('postfix has ended', () => !this.#isUp);
  }

  async remove(): Promise<void> {
    await this.down();
    rmSync(this.dir, { recursive: true });
  }

  /** What it answers to each recipient from now on, such as `450 later`; 'OK': it takes mail. */
  answer(text: string): void {
    writeFileSync(join(this.dir, 'access'), `/./ ${text}\n`);
    this.#do('reload');
  }

  /** Path of its command that takes mail from standard input. */
  get sendmail(): string {
    const path = join(this.dir, 'sendmail');
    const line = `MAIL_CONFIG=${join(this.dir, 'etc')} exec /usr/sbin/sendmail "$@"`;
    writeFileSync(path, `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    return path;
  }

  /** Mails that were delivered to a mailbox, the oldest first, as they lie there. */
  mails(name: string): string[] {
    const box = join(this.dir, 'mail', name, 'new');
    if (!existsSync(box)) return [];
    return readdirSync(box)
      .toSorted()
      .map(file => readFileSync(join(box, file), 'utf8'));
  }

  get log(): string {
    const path = join(this.dir, 'log');
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  get #isUp(): boolean {
    return spawnSync('postfix', ['-c', join(this.dir, 'etc'), 'status']).status === 0;
  }

  #do(word: string): void {
    const { status, stdout, stderr } = spawnSync('postfix', ['-c', join(this.dir, 'etc'), word]);
    if (status !== 0) throw new Error(`postfix ${word}: ${String(stdout)}${String(stderr)}${this.log}`);
  }

  #write(): void {
    // Its processes are those of another user.
    chmodSync(this.dir, 0o755);
    const [etc, queue, data, mail] = ['etc', 'queue', 'data', 'mail'].map(name => join(this.dir, name)) as [
      string,
      string,
      string,
      string,
    ];
    for (const folder of [etc, queue, data, mail]) mkdirSync(folder);
    const owner = Number(spawnSync('id', ['-u', 'postfix'], { encoding: 'utf8' }).stdout);
    chownSync(data, owner, 0);
    chownSync(mail, NOBODY, NOBODY);
    const keyFile = join(this.dir, 'key.pem');
    const words = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1`;
    const made = spawnSync('openssl', [...words.split(' '), '-keyout', keyFile, '-out', this.certFile]);
    if (made.status !== 0) throw new Error(String(made.stderr));
    writeFileSync(join(this.dir, 'access'), '/./ OK\n');
    writeFileSync(
      join(etc, 'main.cf'),
      `compatibility_level = 3.6
queue_directory = ${queue}
data_directory = ${data}
maillog_file = ${join(this.dir, 'log')}
maillog_file_prefixes = ${this.dir}
myhostname = mail.${MAIL_DOMAIN}
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
smtpd_recipient_restrictions = check_recipient_access regexp:${join(this.dir, 'access')}, permit_mynetworks, reject
virtual_mailbox_domains = ${MAIL_DOMAIN}
virtual_mailbox_base = ${mail}
virtual_mailbox_maps = texthash:${join(etc, 'boxes')}
virtual_uid_maps = static:${NOBODY}
virtual_gid_maps = static:${NOBODY}
smtpd_tls_security_level = may
smtpd_tls_cert_file = ${this.certFile}
smtpd_tls_key_file = ${keyFile}
smtpd_tls_loglevel = 1
`,
    );
    writeFileSync(join(etc, 'boxes'), MAILBOXES.map(name => `${name}@${MAIL_DOMAIN} ${name}/\n`).join(''));
    writeFileSync(join(etc, 'master.cf'), `127.0.0.1:${this.port} inet n - n - - smtpd${SERVICES}`);
  }
}
