/** Texts of mails: plain text, and one subject for each kind. Nothing that an applicant typed stands in a
 * header. */
import { formatUntil } from '../../config/words.js';
import type { MailNote } from '../../db/rs/addresses.js';
import type { MailKind } from '../../db/rs/mails.js';
import type { Registration } from '../../db/rs/registrations.js';
import { utcMinute } from '../../lib/when.js';
import type { RsChange } from '../../wire/qm-rs.js';

export const SUBJECTS: Readonly<Record<MailKind | 'test', string>> = {
  pair: 'Registration of your site',
  confirm: 'Confirm your address',
  reset: 'Another password for your site',
  changes: 'News of your site',
  sites: 'Sites wait for approval',
  test: 'Mail of the Local Content Cache works',
};

/** Longest shown part of a url or a name that an applicant chose. */
const MAX_SHOWN_LENGTH = 300;

function shown(text: string): string {
  const clean = text.replace(/\p{Cc}+/gu, ' ');
  return clean.length > MAX_SHOWN_LENGTH ? `${clean.slice(0, MAX_SHOWN_LENGTH)}…` : clean;
}

/** End of every mail. */
export interface Signature {
  /** Public address of the Registration Server. */
  url: string;
  contact: string;
}

function letter(parts: readonly string[], { url, contact }: Signature): string {
  const end = ['-- ', `Local Content Cache, ${url}`, ...(contact === '' ? [] : [`Questions: ${contact}`])];
  return `${parts.join('\n\n')}\n\n${end.join('\n')}\n`;
}

export interface PairLetter {
  registration: Pick<Registration, 'pid' | 'prefix' | 'file' | 'endsMs'>;
  secret: string;
  password: string;
  pairUrl: string;
  confirmUrl: string;
  nowMs: number;
}

/** The first mail: the pair, and the link that confirms the address. */
export function pairLetter(
  { registration, secret, password, pairUrl, confirmUrl, nowMs }: PairLetter,
  signature: Signature,
): string {
  const { pid, prefix, file, endsMs } = registration;
  const until = endsMs === undefined ? '' : ` It is good until ${formatUntil(endsMs, nowMs)}.`;
  return letter(
    [
      `Somebody registers the site ${shown(prefix)}\nand gave this address. If it was not you, do nothing: no other mail comes.`,
      `Confirm that the address is yours, to hear of changes and for another\npassword if this one is lost:\n\n  ${confirmUrl}`,
      `  Provider number  ${pid}\n  Password         ${password}\n  Secret           ${secret}`,
      `Put the secret into a file with the name ${file}\nin that directory of the site, and say that it is there:${until}\n\n  ${pairUrl}`,
    ],
    signature,
  );
}

/** An address that a provider gives later. */
export function confirmLetter(pid: number, confirmUrl: string, signature: Signature): string {
  return letter(
    [
      `Provider ${pid} gave this address for mail. If it was not you, do nothing:\nno other mail comes.`,
      `Confirm that the address is yours:\n\n  ${confirmUrl}`,
    ],
    signature,
  );
}

/** @param links by number of provider */
export function resetLetter(
  links: readonly { pid: number; url: string }[],
  untilMs: number,
  nowMs: number,
  signature: Signature,
): string {
  return letter(
    [
      `Somebody asks for another password. If it was not you, do nothing:\nthe password stays as it is.`,
      links.map(({ pid, url }) => `Provider ${pid}:\n\n  ${url}`).join('\n\n'),
      `A link is good once, until ${formatUntil(untilMs, nowMs)}. The password is void as\nsoon as the other one is shown.`,
    ],
    signature,
  );
}

/** @param count of all notes, where there are more than these */
export function changesLetter(
  pid: number | undefined,
  notes: readonly MailNote[],
  count: number,
  signature: Signature,
): string {
  const lines = notes.map(({ atMs, text }) => `${utcMinute(atMs)}  ${shown(text)}`);
  const more = count - notes.length;
  return letter(
    [
      pid === undefined ? 'News of the site that you register:' : `News of provider ${pid}:`,
      [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('\n'),
    ],
    signature,
  );
}

/** For the operator. @param sites some of them, the latest first */
export function sitesLetter(
  sites: readonly Pick<Registration, 'id' | 'pid' | 'prefix'>[],
  count: number,
  signature: Signature,
): string {
  const lines = sites.map(({ id, prefix }) => `  ${String(id).padEnd(6)} ${shown(prefix)}`);
  const more = count - sites.length;
  return letter(
    [
      count === 1 ? 'A site waits for approval:' : `${count} sites wait for approval:`,
      [...lines, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n'),
      'lccrs list; lccrs approve ID; lccrs refuse ID --reason=TEXT',
    ],
    signature,
  );
}

export function testLetter(signature: Signature): string {
  return letter(['lccrs mail --test sent this. Mail of the Registration Server arrives.'], signature);
}

/** Lines for a provider about roots that a reset has given up; each is cut where it is long. @param answer of
 * the Queue Manager */
export function givenTexts({ given, until }: Readonly<Record<string, unknown>>): readonly string[] {
  if (!Array.isArray(given) || typeof until !== 'number') return [];
  const at = utcMinute(until * 1000);
  return [
    `directories without the file were given up: nothing is fetched of them; what is kept of them is removed ${at}, unless they are proven again before`,
    'if it was not you, have another password sent to this address, log in and prove them again',
    ...given.map(root => `given up: ${String(root)}`),
  ];
}

const TERMS_CHANGED = 'the terms were changed: limits, bandwidth or hours';
/** Lines for a provider about changes that were made; undefined: it does not hear of them. */
const CHANGES: Readonly<Record<Exclude<RsChange['op'], 'register' | 'root-add'>, string | undefined>> = {
  password: 'the password was changed; the old one is void',
  'root-rm': 'a directory was taken off',
  terms: TERMS_CHANGED,
  limits: TERMS_CHANGED,
  leave:
    'the provider leaves, and is fetched from no more; its content goes after some days, until then it can come back',
  stay: 'the provider stays, and may deliver again',
  disable:
    'the operator has disabled the provider: it cannot deliver, and nothing is fetched; what is kept of it stays',
  enable: 'the provider may deliver again',
  pause: 'fetching is paused',
  resume: 'fetching goes on',
  'want-full': undefined,
  flush: undefined,
};

/** The line for a provider about a change that was made; undefined: none. */
export function changeText(change: RsChange): string | undefined {
  if (change.op === 'register')
    return `${change.roots.join(' ')} is registered, the provider has number ${change.pid}`;
  return change.op === 'root-add' ? `added: ${change.roots.join(' ')}` : CHANGES[change.op];
}
