/** `lccrs mail --test=ADDRESS`: whether the settings of mail are right, said at once. */
import { randomUUID } from 'node:crypto';
import type { Config } from '../config/load.js';
import { LccError } from '../lib/errors.js';
import { readMailAddress } from '../lib/mail-address.js';
import { SUBJECTS, testLetter } from '../rs/mail/letters.js';
import { mailOptions, mailServerOf } from '../rs/mail/options.js';
import { handOver } from '../rs/mail/server.js';
import type { CommandContext } from './run.js';

/** @throws LccError `usage`, `config` without a server; `peer.rejected`, `try.later` as the server answers */
export async function testMail(context: CommandContext, config: Config): Promise<void> {
  const { test } = context.options;
  const address = typeof test === 'string' ? readMailAddress(test) : undefined;
  if (context.operands.length > 1 || address === undefined)
    throw new LccError('usage', 'write lccrs mail --test=ADDRESS, such as --test=you@example.org');
  const mailServer = mailServerOf(config.settings.rs);
  if (mailServer === undefined)
    throw new LccError(
      'config',
      'rs.smtp is missing: no mail is sent; name a server, or a sendmail, in lcc.toml(5)',
    );
  const outcome = await handOver(
    {
      address,
      subject: SUBJECTS.test,
      body: testLetter(mailOptions(config.settings.rs)),
      message: `<lcc.${randomUUID()}@${mailServer.from.slice(mailServer.from.lastIndexOf('@') + 1)}>`,
    },
    mailServer,
  );
  const { at } = mailServer;
  const server = 'sendmail' in at ? at.sendmail : `${at.host}:${at.port}`;
  if (outcome.isTaken) return context.say(`${server} has taken a mail to ${address}`);
  const { isLater, why } = outcome;
  throw new LccError(
    isLater ? 'try.later' : 'peer.rejected',
    `${server}: ${why}; ${isLater ? 'lccd-rs would try again' : 'lccd-rs would give the mail up'}`,
  );
}
