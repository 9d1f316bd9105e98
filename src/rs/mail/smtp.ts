/** The server that takes mail: one connection a mail, an answer that says what becomes of the mail. */
import { createTransport } from 'nodemailer';
import { errnoOf, messageOf } from '../../lib/errors.js';

export interface SmtpOptions {
  host: string;
  port: number;
  /** From the first byte on; otherwise `startTls` says whether after the greeting, or nothing is sent. */
  isTls: boolean;
  startTls: boolean;
  login?: { user: string; pass: string };
  /** PEM; left out: those of the system. */
  ca?: Buffer;
  from: string;
  /** For all of it. */
  timeoutMs: number;
}

export interface Letter {
  address: string;
  subject: string;
  body: string;
  /** With its angle brackets. */
  message: string;
}

export type SmtpOutcome =
  | { isSent: true }
  /** Later: it may still go. `isServer`: neither would another mail. */
  | { isSent: false; isLater: boolean; isServer: boolean; why: string };

const MAX_WHY_LENGTH = 200;
/** Commands whose refusal concerns one mail alone. */
const OF_ONE_MAIL = /^(?:RCPT TO|DATA)/;

/** Hands a mail to the server. Never throws for what server and network do. */
export async function sendMail(letter: Letter, options: SmtpOptions): Promise<SmtpOutcome> {
  const { host, port, isTls, startTls, login, ca, from, timeoutMs } = options;
  const transport = createTransport({
    host,
    port,
    secure: isTls,
    requireTLS: !isTls && startTls,
    ignoreTLS: !startTls,
    allowInternalNetworkInterfaces: true,
    ...(login !== undefined && { auth: login }),
    ...(ca !== undefined && { tls: { ca } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    const { address, subject, body, message } = letter;
    await transport.sendMail({
      from,
      to: address,
      subject,
      text: body,
      messageId: message,
      // RFC 3834: nobody's vacation program answers.
      headers: { 'Auto-Submitted': 'auto-generated' },
      envelope: { from, to: address },
      signal: deadline,
    });
    return { isSent: true };
  } catch (error) {
    return outcomeOf(error, deadline.aborted);
  } finally {
    transport.close();
  }
}

function outcomeOf(error: unknown, isLate: boolean): SmtpOutcome {
  const { responseCode, command = '' } = error as { responseCode?: number; command?: string };
  const isOfMail = OF_ONE_MAIL.test(command) && responseCode !== undefined && responseCode !== 421;
  const said = isLate ? 'no answer in time (rs.mail_timeout_ms)' : messageOf(error);
  const why = said.replace(/[\p{Cc}\s]+/gu, ' ').slice(0, MAX_WHY_LENGTH);
  if (isOfMail) return { isSent: false, isLater: responseCode < 500, isServer: false, why };
  // An address that the library itself will not send to.
  const isImpossible = errnoOf(error) === 'EENVELOPE' && responseCode === undefined;
  return { isSent: false, isLater: !isImpossible, isServer: !isImpossible, why };
}
