/** Forms of texts among the settings. */
import { parseEndpoint } from '../lib/endpoint.js';
import { readMailAddress } from '../lib/mail-address.js';
import { parseNetwork } from '../lib/network.js';

/** The last port that four more follow. */
const MAX_FIRST_PORT = 65_531;

/** Form of a text, or of every text of a list, and the words for it. */
export interface Form {
  accepts: (text: string) => boolean;
  says: string;
}

/** Names of files and of parts of messages. */
export const NAME: Form = {
  accepts: text => /^(?!\.+$)[\w.-]{1,64}$/.test(text),
  says: 'use letters, digits, dots, dashes; at most 64',
};

/** A machine by its name for others, or its address. */
export const MACHINE: Form = {
  accepts: text =>
    /^(?:\[[0-9A-Fa-f:.]+\]|(?!\d+$)[\w.-]{1,255})(?::\d{1,5})?$/.test(text) &&
    Number(/:(\d+)$/.exec(text)?.[1] ?? 1) <= MAX_FIRST_PORT,
  says: `write a host, such as h1.example.org, or host:port, of which five ports are used (to ${MAX_FIRST_PORT})`,
};

export const MIMETYPES: Form = {
  accepts: text => /^(?:\*\/\*|[\w!#$&^.+-]+\/(?:\*|[\w!#$&^.+-]+))$/.test(text),
  says: 'write text/html, text/* or */*',
};

/** The value of a header (RFC 9110, section 5.5). */
export const HEADER: Form = {
  accepts: text => /^[\t\x20-\x7e\x80-\xff]+$/.test(text),
  says: 'use one line of Latin characters',
};

/** An endpoint on one line; without a port it is the usual one of the daemon. */
export const ENDPOINT: Form = {
  accepts: text => /^.+$/.test(text) && readBy(parseEndpoint, text) !== undefined,
  says: 'write host:port, tls:host:port or unix:/path; a port is 0 to 65535, a path at most 107 bytes',
};

/** An endpoint on one line, or nothing. What gives metrics has no port of its own: one is named. */
export const METRICS_ENDPOINT: Form = {
  accepts: text => text === '' || (/^.+$/.test(text) && isWholeEndpoint(text)),
  says: 'write host:port or unix:/path; empty: none',
};

/** A folder by its whole path, or nothing. */
export const FOLDER: Form = {
  accepts: text => text === '' || /^\/[^\0]*$/.test(text),
  says: 'write a path that begins with /; empty: the usual one',
};

/** An http or https url without user, query and fragment, or nothing. */
export const HTTP_URL: Form = {
  accepts: text =>
    text === '' || (/^https?:\/\/[^@?#\s]+$/.test(text) && readBy(each => new URL(each), text) !== undefined),
  says: 'write an http or https url without user, query and fragment',
};

/** Origin of a web page, as browsers write it: in lower case, without a slash. */
export const ORIGIN: Form = {
  accepts: text =>
    /^https?:\/\/[^/@?#\s]+$/.test(text) && readBy(each => new URL(each).origin, text) === text,
  says: 'write https://host or https://host:port, in lower case, without a slash at the end',
};

/** A server that takes mail, or nothing. */
export const SMTP_URL: Form = {
  accepts: text =>
    text === '' ||
    /^\/[\w./+-]+$/.test(text) ||
    /^smtps?:\/\/(?:[^\s:@/?#]+@)?(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::[1-9]\d{0,4})?\/?$/.test(text),
  says: 'write a path such as /usr/sbin/sendmail, smtp://host:port or smtps://host:port, with user@ before the host where it wants a login',
};

export const MAIL_ADDRESS: Form = {
  accepts: text => text === '' || readMailAddress(text) !== undefined,
  says: 'write an address such as lcc@example.org',
};

export const PORT: Form = {
  accepts: text => /^[1-9]\d{0,4}$/.test(text) && Number(text) < 65_536,
  says: 'write ports as texts, such as "443"',
};

export function isNetwork(text: string): boolean {
  return readBy(parseNetwork, text) !== undefined;
}

function isWholeEndpoint(text: string): boolean {
  const endpoint = readBy(each => parseEndpoint(each, NaN), text);
  return endpoint !== undefined && (endpoint.kind === 'unix' || !Number.isNaN(endpoint.port));
}

/** Undefined when it is refused. */
function readBy<T>(parse: (text: string) => T, text: string): T | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
