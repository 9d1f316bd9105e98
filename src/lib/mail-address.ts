/** Addresses of e-mail, taken strictly: `name@domain` in ASCII, without quotes, comments, routes and
 * addresses of hosts. */

const MAX_LENGTH = 254;
const MAX_NAME_LENGTH = 64;
/** Atoms of RFC 5322 less what old mail servers took for routes and commands: % ! | / and the backquote. */
const NAME = /^[A-Za-z0-9#$&'*+=?^_{}~-]+(?:\.[A-Za-z0-9#$&'*+=?^_{}~-]+)*$/;
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const DOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);

/** The address with its domain in lower case; undefined when it is none. */
export function readMailAddress(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const at = text.lastIndexOf('@');
  const [name, domain] = [text.slice(0, Math.max(0, at)), text.slice(at + 1)];
  const isName = name.length <= MAX_NAME_LENGTH && !name.startsWith('-') && NAME.test(name);
  // A last label of digits is an address of a host.
  if (!isName || !DOMAIN.test(domain) || /(?:^|\.)\d+$/.test(domain)) return undefined;
  return `${name}@${domain.toLowerCase()}`;
}

/**
 * The part of an address that leads to one mailbox, as a rule: the letters' case and a `+tag` do not count.
 */
export function mailboxOf(address: string): string {
  const at = address.lastIndexOf('@');
  const name = address.slice(0, at).toLowerCase();
  return `${name.replace(/(?<=.)\+.*$/, '')}@${address.slice(at + 1).toLowerCase()}`;
}

/** `h…@example.org`: whom something went to, for logs and audits. */
export function maskedAddress(address: string): string {
  return address.replace(/^(.).*(?=@)/, '$1…');
}
