/**
 * The spider door (lcc-protocol(5)), what a daemon of ours sends and hears there: sets of urls that no owner
 * announced, each for one provider, and for each an answer, in their order.
 *
 *     <lococa:set set="partial" pid="7" origin="links"> <url …/>… </lococa:set>
 *     <lococa:set_result> <errors> <url code="304" …/>… </errors> <set_accepted received="2"/>
 *     </lococa:set_result>
 */
import { formatAttributes } from '../lib/xml/escape.js';
import { XmlReader } from '../lib/xml/reader.js';
import type { Attributes, XmlLimits } from '../lib/xml/types.js';
import { requiredInteger } from './fields.js';
import { originAttributes, type SetOrigin } from './origin.js';
import { violation } from './problem.js';
import { isUrlTag } from './url-read.js';
import { localName, NAMESPACE, PREFIX } from './xml-prefix.js';

/** Urls follow, then `SPIDER_SET_END`. */
export function spiderSetStart(pid: number, origin: SetOrigin): string {
  return `<${PREFIX}set xmlns:lococa="${NAMESPACE}"${formatAttributes({ set: 'partial', pid, ...originAttributes(origin) })}>\n`;
}

export const SPIDER_SET_END = `</${PREFIX}set>\n`;

/** @param refused urls of the set that are in error */
export type SpiderAnswer =
  | { kind: 'accepted'; received: number; refused: number }
  | { kind: 'rejected'; code: number; text: string };

const MAX_REASON_LENGTH = 4096;

export class SpiderAnswers {
  readonly #reader: XmlReader;
  readonly #emit: (answer: SpiderAnswer) => void;
  #refused = 0;
  #code: number | undefined;
  #text = '';

  /** @param where names the door in messages */
  constructor(emit: (answer: SpiderAnswer) => void, limits: XmlLimits, where: string) {
    this.#emit = emit;
    this.#reader = new XmlReader(
      {
        open: (name, attributes) => this.#open(name, attributes),
        close: name => this.#close(localName(name)),
        text: text => {
          if (this.#code !== undefined && this.#text.length < MAX_REASON_LENGTH) this.#text += text;
        },
      },
      limits,
      { where },
    );
  }

  /**
   * @throws LccError `peer.protocol` for what was not agreed, `data.malformed` or `limit` from the XML reader
   */
  write(chunk: Uint8Array): void {
    this.#reader.write(chunk);
  }

  #open(name: string, attributes: Attributes): void {
    const local = localName(name);
    if (isUrlTag(name)) this.#refused++;
    else if (local === 'set_result') this.#refused = 0;
    else if (local === 'set_rejected' || local === 'reason') {
      this.#code = requiredInteger(local, attributes, 'code');
      this.#text = '';
    } else if (local === 'set_accepted') {
      const received = requiredInteger('set_accepted', attributes, 'received');
      this.#emit({ kind: 'accepted', received, refused: this.#refused });
    } else if (local !== 'errors' && local !== 'init_rejected')
      throw violation(`<${name}> is not expected here`);
  }

  #close(local: string): void {
    if ((local !== 'set_rejected' && local !== 'reason') || this.#code === undefined) return;
    this.#emit({ kind: 'rejected', code: this.#code, text: this.#text.trim() });
    this.#code = undefined;
  }
}
