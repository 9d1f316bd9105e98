/** A result on its way up: what carries its content goes as the peer takes it, in parts. */
import { formatFetched, formatParts } from './fetch-messages.js';
import type { FetchResult, RobotResult } from './fetch.js';
import type { MessageChannel } from './messages.js';

export function sendFetched(channel: MessageChannel, result: FetchResult | RobotResult): void {
  if (result.status === 'inline')
    channel.sendInTurn([...formatParts(result, channel.partChars), formatFetched(result)]);
  else channel.send(formatFetched(result));
}
