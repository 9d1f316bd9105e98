/** The contents that come in parts before their results (fetch-messages.ts): those that were asked for, and
 * no more of each. */
import { LccError } from '../lib/errors.js';
import type { Attributes } from '../lib/xml/types.js';
import { requiredInteger } from './fields.js';
import type { FetchTerms, FetchResult, RobotResult } from './fetch.js';
import { formatFetched, formatParts } from './fetch-messages.js';
import type { MessageChannel } from './messages.js';

interface Coming {
  mostBytes: number;
  bytes: number;
  parts: Buffer[];
}

export class InlineParts {
  readonly #coming = new Map<number, Coming>();

  /** A request was sent under that id. */
  asked(id: number, { inline }: FetchTerms): void {
    if (inline !== undefined) this.#coming.set(id, { mostBytes: inline, bytes: 0, parts: [] });
  }

  /** A message `<part id="22">base64</part>`. @throws LccError `peer.protocol` for what was not asked for */
  add(attributes: Attributes, text: string): void {
    const id = requiredInteger('part', attributes, 'id');
    const coming = this.#coming.get(id);
    if (coming === undefined)
      throw new LccError('peer.protocol', `<part id="${id}">: no content was asked for`);
    const part = Buffer.from(text, 'base64');
    coming.bytes += part.length;
    if (coming.bytes > coming.mostBytes)
      throw new LccError('peer.protocol', `<part id="${id}">: more than ${coming.mostBytes} bytes`);
    coming.parts.push(part);
  }

  /** The content that came for the result that is here now; undefined: no content was asked for under that
   * id. */
  take({ id }: Attributes): Uint8Array | undefined {
    if (this.#coming.size === 0) return undefined;
    const coming = this.#coming.get(Number(id));
    if (coming === undefined) return undefined;
    this.#coming.delete(Number(id));
    return Buffer.concat(coming.parts);
  }
}

export function sendFetched(channel: MessageChannel, result: FetchResult | RobotResult): void {
  if (result.status === 'inline')
    channel.sendInTurn([...formatParts(result, channel.partChars), formatFetched(result)]);
  else channel.send(formatFetched(result));
}
