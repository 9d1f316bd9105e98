/** A mail server of this process, which a test lets refuse, wait, or speak TLS. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { until } from './until.js';

export interface TakenMail {
  from: string;
  to: string;
  /** The header and the body as they came, decoded as far as quoted-printable goes. */
  header: string;
  body: string;
  isOverTls: boolean;
  user: string | undefined;
}

/** What a server answers to the recipient or to the mail; undefined: it takes it. */
export type MailVerdict = { at: 'RCPT' | 'DATA'; code: number; text: string } | undefined;

export class MailServer {
  readonly #server: SMTPServer;
  readonly taken: TakenMail[] = [];
  /** How often a recipient was named. */
  asked = 0;
  verdict: (to: string) => MailVerdict = () => undefined;

  private constructor(options: SMTPServerOptions) {
    this.#server = new SMTPServer({
      disabledCommands: options.key === undefined ? ['AUTH', 'STARTTLS'] : ['AUTH'],
      disableReverseLookup: true,
      logger: false,
      ...options,
      onRcptTo: ({ address }, _session, callback) => {
        this.asked++;
        callback(refusalAt('RCPT', this.verdict(address)));
      },
      onData: (stream, session, callback) => {
        void text(stream).then(whole => {
          const [to] = session.envelope.rcptTo.map(({ address }) => address);
          const refusal = refusalAt('DATA', this.verdict(to ?? ''));
          if (refusal === undefined) {
            const end = whole.indexOf('\r\n\r\n');
            const { mailFrom } = session.envelope;
            this.taken.push({
              from: mailFrom === false ? '' : mailFrom.address,
              to: to ?? '',
              header: whole.slice(0, end),
              body: decoded(whole.slice(0, end), whole.slice(end + 4)).replaceAll('\r\n', '\n'),
              isOverTls: session.secure,
              user: typeof session.user === 'string' ? session.user : undefined,
            });
          }
          callback(refusal);
        }, callback);
      },
    });
    // What clients do to a connection is their matter.
    this.#server.on('error', () => undefined);
  }

  static async listen(options: SMTPServerOptions = {}, port = 0): Promise<MailServer> {
    const server = new MailServer(options);
    await once(server.#server.listen(port, '127.0.0.1'), 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port;
  }

  /** When this many have been taken: the last of them. */
  async mail(count: number): Promise<TakenMail> {
    await until(`mail ${count} is taken`, () => this.taken.length >= count);
    const mail = this.taken[count - 1];
    if (mail === undefined) throw new Error('a mail that was taken is gone');
    return mail;
  }

  close(): Promise<void> {
    return new Promise(resolve => this.#server.close(resolve));
  }
}

function refusalAt(at: 'RCPT' | 'DATA', verdict: MailVerdict): Error | undefined {
  if (verdict?.at !== at) return undefined;
  return Object.assign(new Error(verdict.text), { responseCode: verdict.code });
}

/** The text of a mail as it lies in a mailbox. */
export function bodyOf(mail: string): string {
  const whole = mail.replaceAll('\r\n', '\n').replaceAll('\n', '\r\n');
  const end = whole.indexOf('\r\n\r\n');
  return decoded(whole.slice(0, end), whole.slice(end + 4)).replaceAll('\r\n', '\n');
}

function decoded(header: string, body: string): string {
  if (!/^content-transfer-encoding: quoted-printable/im.test(header)) return body;
  const bytes = body
    .replaceAll('=\r\n', '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** The link of a kind that a mail has, below the address of the Registration Server. */
export function linkIn({ body }: Pick<TakenMail, 'body'>, kind: 'confirm' | 'reset' | 'pair'): string {
  return new RegExp(`https?://\\S+/${kind}/(\\S+)`).exec(body)?.[1] ?? '';
}
