/** Settings of mail as the values that its parts take. */
import { readFileSync } from 'node:fs';
import { DAY, HOUR } from '../../config/amounts.js';
import type { Settings } from '../../config/settings/index.js';
import { readAuthorities, readSetting } from '../../lib/authorities.js';
import { keepMemoryOutOfCores } from '../../lib/core-dumps.js';
import { LccError } from '../../lib/errors.js';
import { isLoopback } from '../../lib/loopback.js';
import { usesOf } from '../limits.js';
import type { MailServer } from './server.js';

/** For which the audit is kept. */
export const AUDIT_MS = 365 * DAY;
/** Of the urls of a provider that has errors: it is written to, daily. */
const ERROR_PART = 0.1;

export function mailOptions(rs: Settings['rs']) {
  const isSending = rs.smtp !== '';
  return {
    /** Addresses of providers; without a server there is none. */
    email: isSending ? rs.email : ('off' as const),
    isSending,
    url: rs.url,
    contact: rs.contact,
    from: rs.mailFrom,
    operator: rs.operatorMail,
    operatorMs: HOUR,
    uses: usesOf(rs),
    gatherMs: rs.mailGatherMs,
    errorPart: ERROR_PART,
    resetMs: HOUR,
    /** For which it is remembered that nobody confirmed a mailbox. */
    unconfirmedMs: AUDIT_MS,
  };
}

export type MailOptions = ReturnType<typeof mailOptions>;

const SMTP_PORT = 25;
const SMTPS_PORT = 465;

/**
 * The taker of mail; undefined: nothing is set.
 * @throws LccError `config` for settings that do not go together, and for files that cannot be read
 */
export function mailServerOf(rs: Settings['rs']): MailServer | undefined {
  const text = rs.smtp;
  const from = rs.mailFrom;
  if (text === '') {
    if (rs.email === 'required')
      throw new LccError(
        'config',
        'rs.smtp is missing: rs.email = "required" needs a server that takes mail',
      );
    return undefined;
  }
  if (from === '') throw new LccError('config', 'rs.mail_from is missing: the address that mail is from');
  if (text.startsWith('/')) return { from, at: { sendmail: text } };
  const { protocol, username, hostname, port } = new URL(text);
  const host = hostname.replace(/^\[|\]$/g, '');
  const isTls = protocol === 'smtps:';
  const tls = rs.smtpTls;
  const [cafile, passwordFile] = [rs.smtpCafile, rs.smtpPasswordFile];
  if ((username !== '') !== (passwordFile !== ''))
    throw new LccError(
      'config',
      'rs.smtp_password_file and the user@ of rs.smtp belong together: one is missing',
    );
  const at = {
    host,
    port: port === '' ? (isTls ? SMTPS_PORT : SMTP_PORT) : Number(port),
    isTls,
    startTls: tls === 'always' || (tls === 'auto' && !isLoopback(host)),
    ...(cafile !== '' && { ca: readAuthorities('rs.smtp_cafile', cafile) }),
    ...(username !== '' && {
      login: { user: decodeURIComponent(username), pass: passwordIn(passwordFile) },
    }),
  };
  return { from, at };
}

function passwordIn(path: string): string {
  keepMemoryOutOfCores();
  return readSetting('rs.smtp_password_file', path, () => readFileSync(path, 'utf8')).replace(/\r?\n$/, '');
}
