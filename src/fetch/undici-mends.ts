/**
 * Where undici 7.30.2 takes an answer for something else than it is, its parser is mended.
 *
 * 100 Continue is an interim answer like any other (RFC 9110, section 15.2), also where nobody asked for it.
 * undici ends the connection over it, before the caller that made the request hears of it: its parser gets
 * 102 instead.
 *
 * What is wrong in headers that have a Content-Length among them is told as a body that ended early: the
 * parser forgets that length when no headers have been read to their end.
 */
import type { Socket } from 'node:net';
import symbols from 'undici/lib/core/symbols.js';

interface Parser {
  statusCode: number;
  contentLength: string;
  onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number;
  createError(code: number, rest: Buffer): Error;
}

const CONTINUE = 100;
const PROCESSING = 102;

/** Parts of the answers of a connection that undici does not pass on. */
export interface ParserNotes {
  /** The last interim status, 0 without one. */
  interim: number;
}

/**
 * Mends the parser of a connection that undici has taken over; further calls do nothing, and return nothing.
 */
export function mendParser(socket: Socket): ParserNotes | undefined {
  const parser = (socket as { [symbols.kParser]?: Parser | null })[symbols.kParser];
  if (parser == null || Object.hasOwn(parser, 'onHeadersComplete')) return undefined;
  const notes = { interim: 0 };
  const read = parser.onHeadersComplete.bind(parser);
  parser.onHeadersComplete = (status, upgrade, keepAlive) => {
    if (status < 200) notes.interim = status;
    return read(status === CONTINUE ? PROCESSING : status, upgrade, keepAlive);
  };
  const explain = parser.createError.bind(parser);
  parser.createError = (code, rest) => {
    if (parser.statusCode < 200) parser.contentLength = '';
    return explain(code, rest);
  };
  return notes;
}
