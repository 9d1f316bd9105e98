/** Who asks over HTTP: a reader of lccd-cu, by Basic or as `Bearer NAME:PASSWORD`. */
import type { IncomingMessage } from 'node:http';
import type { AccountFile } from '../../lib/account-file.js';
import { pause, type Clock } from '../../lib/clock.js';
import type { LoginBackoff } from '../../lib/login-backoff.js';
import { passwordMatches } from '../../lib/password.js';
import { FeedRefusal } from './refusal.js';

/** A login that would have to wait for longer than this after failed ones is refused at once. */
const MAX_DELAY_MS = 5000;

interface LoginParts {
  readers: AccountFile;
  backoff: LoginBackoff;
  clock: Clock;
}

/**
 * Lets a reader in, after its turn where logins have failed.
 * @param over ends the wait
 * @returns its name
 * @throws FeedRefusal 401, 429; LccError as `AccountFile.password`
 */
export async function logIn(
  { headers }: Pick<IncomingMessage, 'headers'>,
  address: string,
  { readers, backoff, clock }: LoginParts,
  over: AbortSignal,
): Promise<string> {
  const [name, password] = credentialsOf(headers.authorization);
  if (name === undefined) throw unknown('who asks is not said');
  const delayMs = backoff.delayMs(name, address);
  if (delayMs > MAX_DELAY_MS)
    throw new FeedRefusal(429, 102, 'too many failed logins', 'put the password right, and ask again later', {
      'retry-after': String(Math.ceil(delayMs / 1000)),
    });
  if (delayMs > 0) await pause(clock, delayMs, over);
  if (!passwordMatches(password, readers.password(name))) {
    backoff.failed(name, address);
    throw unknown('unknown reader or wrong password');
  }
  backoff.succeeded(name, address);
  return name;
}

function unknown(what: string): FeedRefusal {
  return new FeedRefusal(401, 101, what, 'log in as a reader; lccd-cu --add-reader=NAME makes one', {
    'www-authenticate': 'Basic realm="changes", charset="UTF-8"',
  });
}

/** Name and password; undefined where there are none. */
function credentialsOf(header = ''): [name: string, password: string] | [undefined] {
  const [, scheme = '', token = ''] = /^(basic|bearer) +(\S+) *$/i.exec(header) ?? [];
  if (scheme === '') return [undefined];
  const text = scheme.toLowerCase() === 'basic' ? Buffer.from(token, 'base64').toString() : token;
  const at = text.indexOf(':');
  return at < 0 ? [undefined] : [text.slice(0, at), text.slice(at + 1)];
}
