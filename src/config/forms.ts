/** What texts among the settings must look like. */

/** What a text, or every text of a list, must match, and how to say that. */
export interface Form {
  pattern: RegExp;
  says: string;
}

/** Names of files and of parts of messages. */
export const NAME: Form = {
  pattern: /^(?!\.+$)[\w.-]{1,64}$/,
  says: 'use letters, digits, dots, dashes; at most 64',
};

export const MIMETYPES: Form = {
  pattern: /^(?:\*\/\*|[\w!#$&^.+-]+\/(?:\*|[\w!#$&^.+-]+))$/,
  says: 'write text/html, text/* or */*',
};

/** The value of a header (RFC 9110, section 5.5). */
export const HEADER: Form = {
  pattern: /^[\t\x20-\x7e\x80-\xff]+$/,
  says: 'use one line of Latin characters',
};

/** A whole endpoint (lib/endpoint.ts), or nothing: what gives metrics has no port of its own. */
export const METRICS_ENDPOINT: Form = {
  pattern: /^(?:|unix:.{1,107}|(?:tls:)?(?:(?:\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]|[^:[\]\s]*):)?\d{1,5})$/,
  says: 'write host:port or unix:/path; empty: none',
};
