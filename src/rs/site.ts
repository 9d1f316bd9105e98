/** The site that an applicant names: which addresses may be asked for at all. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { RegistrationReason } from '../db/rs/registrations.js';
import { isIn, type Network } from '../lib/network.js';
import { rootProblem } from '../wire/roots.js';

export interface Site {
  /** A directory, as parsers write it; ends with a slash. */
  prefix: string;
  host: string;
  /** True if the name has no dot, and so is of this network: it may mean addresses that the operator allows,
   * and no public one. */
  isInner: boolean;
}

export interface SiteRules {
  /** As texts. */
  ports: readonly string[];
  /** Networks that are fetched from although they are not public. */
  allowed: readonly Network[];
}

const MAX_PREFIX_LENGTH = 2000;

/** The site, or what is wrong with how it is named. */
export function siteOf(text: string, { ports, allowed }: SiteRules): Site | RegistrationReason {
  const problem = text.length > MAX_PREFIX_LENGTH ? 'is too long' : rootProblem(text);
  if (problem !== undefined)
    return reason(`the address ${problem}`, 'give the http or https address of a directory of your site');
  const { href, hostname, pathname } = new URL(text);
  if (!href.endsWith('/'))
    return reason(
      'the address is not that of a directory',
      'end it with a slash; the file will lie in there',
    );
  // A server reads it as one slash, while robots.txt, and whoever compares directories, does not.
  if (pathname.includes('//'))
    return reason(
      'the address has an empty part between two slashes',
      `write ${href.replace(/(?<=[^:])\/+/g, '/')}`,
    );
  const number = portOf(text);
  if (!ports.includes(number))
    return reason(
      `port ${number} is not one of ${ports.join(', ')}`,
      'register the site at one of these ports',
    );
  const literal = literalOf(hostname);
  if (isIP(literal) !== 0 && !isIn(allowed, ipaddr.process(literal)))
    return reason('the address has a number for a host', 'register the site under its name');
  if (hostname.endsWith('.')) return reason('the name ends with a dot', 'write it without');
  return { prefix: href, host: hostname, isInner: isInnerName(hostname) };
}

/** A name without a dot. */
export function isInnerName(hostname: string): boolean {
  return isIP(literalOf(hostname)) === 0 && !hostname.includes('.');
}

/** An address as it is without a URL's brackets. */
function literalOf(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** The port of a url, as a text. */
export function portOf(url: string | URL): string {
  const { port, protocol } = new URL(url);
  return port === '' ? (protocol === 'https:' ? '443' : '80') : port;
}

function reason(what: string, advice: string): RegistrationReason {
  return { code: 'address', what, do: advice };
}
