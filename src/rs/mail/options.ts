/** Settings of mail as the values that its parts take. */
import { readFileSync } from 'node:fs';
import type { NumberKey } from '../../config/keys.js';
import type { Config } from '../../config/load.js';
import { limitText } from '../../config/settings/index.js';
import { readAuthorities, readSetting } from '../../lib/authorities.js';
import { keepMemoryOutOfCores } from '../../lib/core-dumps.js';
import { LccError } from '../../lib/errors.js';
import type { SmtpOptions } from './smtp.js';

export function mailOptions(config: Config) {
  const limit = (key: NumberKey) => ({ most: config.get(key), text: limitText(key, config.get(key)) });
  const isSending = config.get('rs.smtp') !== '';
  return {
    /** Of providers; without a server there is none. */
    email: isSending ? (config.get('rs.email') as 'optional' | 'required' | 'off') : 'off',
    isSending,
    url: config.get('rs.url'),
    contact: config.get('rs.contact'),
    from: config.get('rs.mail_from'),
    operator: config.get('rs.operator_mail'),
    operatorMs: config.get('rs.operator_mail_ms'),
    limits: {
      perAddress: limit('rs.mails_per_address'),
      perNetwork: limit('rs.mails_per_network'),
      perDay: limit('rs.mails_per_day'),
      changes: limit('rs.changes_per_hour'),
    },
    gatherMs: config.get('rs.mail_gather_ms'),
    keepMs: config.get('rs.mail_keep_ms'),
    retryMs: config.get('rs.mail_retry_ms'),
    errorPart: config.get('rs.mail_errors_percent') / 100,
    resetMs: config.get('rs.reset_ms'),
    /** For which it is remembered that nobody confirmed a mailbox. */
    unconfirmedMs: config.get('rs.audit_ms'),
  };
}

export type MailOptions = ReturnType<typeof mailOptions>;

const SMTP_PORT = 25;
const SMTPS_PORT = 465;

/**
 * The server that takes mail; undefined: none is set.
 * @throws LccError `config` for settings that do not go together, and for files that cannot be read
 */
export function smtpOptions(config: Config): SmtpOptions | undefined {
  const text = config.get('rs.smtp');
  const from = config.get('rs.mail_from');
  if (text === '') {
    if (config.get('rs.email') === 'required')
      throw new LccError(
        'config',
        'rs.smtp is missing: rs.email = "required" needs a server that takes mail',
      );
    return undefined;
  }
  if (from === '') throw new LccError('config', 'rs.mail_from is missing: the address that mail is from');
  const { protocol, username, hostname, port } = new URL(text);
  const host = hostname.replace(/^\[|\]$/g, '');
  const isTls = protocol === 'smtps:';
  const tls = config.get('rs.smtp_tls');
  const [cafile, passwordFile] = [config.get('rs.smtp_cafile'), config.get('rs.smtp_password_file')];
  if ((username !== '') !== (passwordFile !== ''))
    throw new LccError(
      'config',
      'rs.smtp_password_file and the user@ of rs.smtp belong together: one is missing',
    );
  return {
    host,
    port: port === '' ? (isTls ? SMTPS_PORT : SMTP_PORT) : Number(port),
    isTls,
    startTls: tls === 'always' || (tls === 'auto' && !isLoopback(host)),
    from,
    timeoutMs: config.get('rs.mail_timeout_ms'),
    ...(cafile !== '' && { ca: readAuthorities('rs.smtp_cafile', cafile) }),
    ...(username !== '' && {
      login: { user: decodeURIComponent(username), pass: passwordIn(passwordFile) },
    }),
  };
}

function passwordIn(path: string): string {
  keepMemoryOutOfCores();
  return readSetting('rs.smtp_password_file', path, () => readFileSync(path, 'utf8')).replace(/\r?\n$/, '');
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|::1|127(?:\.\d+){3})$/.test(host);
}
