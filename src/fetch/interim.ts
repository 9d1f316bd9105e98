/**
 * 100 Continue is an interim answer like any other (RFC 9110, section 15.2), also where nobody asked for it. undici 7.30.2
 * ends the connection over it, before the caller that made the request hears of it: its parser gets 102 instead.
 */
import type { Socket } from 'node:net';
import symbols from 'undici/lib/core/symbols.js';

interface Parser {
  onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number;
}

const CONTINUE = 100;
const PROCESSING = 102;

/** Mends a connection that undici has taken over; further calls do nothing. */
export function takeContinue(socket: Socket): void {
  const parser = (socket as { [symbols.kParser]?: Parser | null })[symbols.kParser];
  if (parser == null || Object.hasOwn(parser, 'onHeadersComplete')) return;
  const read = parser.onHeadersComplete.bind(parser);
  parser.onHeadersComplete = (status, upgrade, keepAlive) =>
    read(status === CONTINUE ? PROCESSING : status, upgrade, keepAlive);
}
