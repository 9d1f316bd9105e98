/** How a reader says that nothing more can be read of a client: the code, and in words that help the author
 * of that client. */
import { LccError } from '../lib/errors.js';
import type { LccCode } from './codes.js';

export interface Problem {
  kind: 'problem';
  /** 103, 104 or 106. */
  code: LccCode;
  text: string;
}

/** Text that says something: what stands between elements must not. */
export const STRAY_TEXT = /[^ \t\r\n]/;

/** An error of the peer that the conversation does not allow, for `problemOf`. */
export function violation(what: string): LccError {
  return new LccError('peer.protocol', what);
}

/**
 * @param where the name of the client, with which messages of an XmlReader begin: it knows who it is
 * @param position how far was read, for messages that do not say it
 */
export function problemOf(
  error: LccError,
  where: string,
  position: { line: number; column: number },
): Problem {
  const code = error.code === 'limit' ? 106 : error.code === 'peer.protocol' ? 104 : 103;
  const located = error.message.startsWith(`${where}:`)
    ? error.message.slice(where.length + 1)
    : `${position.line}:${position.column}: ${error.message}`;
  return { kind: 'problem', code, text: located.replace(/^(\d+):(\d+):/, 'line $1, column $2:') };
}
