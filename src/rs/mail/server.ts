/** Takers of mail: the MTA of this machine, by its command, or a server over SMTP; and the meaning of their
 * answers for a mail. */
import { execFile } from 'node:child_process';
import { createTransport } from 'nodemailer';
import { messageOf } from '../../lib/errors.js';

interface SmtpServer {
  host: string;
  port: number;
  /** From the first byte on; otherwise `startTls` says whether after the greeting, or nothing is sent. */
  isTls: boolean;
  startTls: boolean;
  login?: { user: string; pass: string };
  /** PEM; left out: those of the system. */
  ca?: Buffer;
}

export interface MailServer {
  from: string;
  /** Path of a command that takes what sendmail(8) takes, or a server. */
  at: { sendmail: string } | SmtpServer;
}

export interface Letter {
  address: string;
  subject: string;
  body: string;
  /** With its angle brackets. */
  message: string;
}

/** `isLater`: it was not taken, and may be another time; `isServer`: nor would another mail be taken now. */
export interface HandedOver {
  isTaken: boolean;
  isLater: boolean;
  isServer: boolean;
  /** '' of one that was taken. */
  why: string;
}

/** Time in which a mail is taken, with all that belongs to it. */
const TIMEOUT_MS = 60_000;
const MAX_WHY_LENGTH = 200;
/** Commands of SMTP whose refusal concerns one mail alone. */
const OF_ONE_MAIL = /^(?:RCPT TO|DATA)/;
/** Exit statuses of sendmail(8) that say the same: EX_DATAERR, EX_NOUSER. */
const EXITS_OF_ONE_MAIL = [65, 67];

/** Never throws for what the server, its command and the network do. @param timeoutMs for tests */
export async function handOver(
  letter: Letter,
  { from, at }: MailServer,
  timeoutMs = TIMEOUT_MS,
): Promise<HandedOver> {
  const { address, subject, body, message } = letter;
  const mail = {
    from,
    to: address,
    subject,
    text: body,
    messageId: message,
    // RFC 3834: nobody's vacation program answers.
    headers: { 'Auto-Submitted': 'auto-generated' },
    envelope: { from, to: address },
  };
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    if ('sendmail' in at) {
      const composed = createTransport({ streamTransport: true, buffer: true, newline: 'unix' });
      const { message: text } = await composed.sendMail(mail);
      await runSendmail(at.sendmail, from, text as Buffer, timeoutMs);
    } else await overSmtp(mail, at, deadline, timeoutMs);
    return { isTaken: true, isLater: false, isServer: false, why: '' };
  } catch (error) {
    return outcomeOf(error, deadline.aborted);
  }
}

/** The recipient stands in the mail. @throws Error with the exit status as its `code` */
function runSendmail(program: string, from: string, mail: Buffer, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const limits = { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 65_536 } as const;
    const child = execFile(program, ['-t', '-i', '-f', from], limits, (error, _stdout, stderr) => {
      if (error === null) return resolve();
      const said = stderr.trim() || (error.killed === true ? 'no answer in time' : error.message);
      reject(Object.assign(new Error(`${program}: ${said}`), { exit: error.code }));
    });
    // One that ends before it has read all says why by its exit status.
    child.stdin?.on('error', () => undefined).end(mail);
  });
}

async function overSmtp(
  mail: object,
  { host, port, isTls, startTls, login, ca }: SmtpServer,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<void> {
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
  try {
    await transport.sendMail({ ...mail, signal });
  } finally {
    transport.close();
  }
}

function outcomeOf(error: unknown, isLate: boolean): HandedOver {
  const {
    code,
    responseCode,
    command = '',
    exit,
  } = error as {
    code?: string;
    responseCode?: number;
    command?: string;
    exit?: number | string;
  };
  const said = isLate ? 'no answer in time' : messageOf(error);
  const why = said.replace(/[\p{Cc}\s]+/gu, ' ').slice(0, MAX_WHY_LENGTH);
  const isOfMail = OF_ONE_MAIL.test(command) && responseCode !== undefined && responseCode !== 421;
  if (isOfMail) return { isTaken: false, isLater: responseCode < 500, isServer: false, why };
  // An address that the library itself, or the command, will not send to.
  const isImpossible =
    (code === 'EENVELOPE' && responseCode === undefined) || EXITS_OF_ONE_MAIL.includes(Number(exit));
  return { isTaken: false, isLater: !isImpossible, isServer: !isImpossible, why };
}
