/**
 * QM ↔ BM, and BM ↔ BM: fetch requests and deletions down, results and slots up (lcc-protocol(5)).
 *
 *     up:   <lococa:bm machineid="m1" slots="64" store="…"/>  first, and again whenever that changes
 *           <lococa:bm machineid="m1 m2" slots="96" store="… …" relay="yes"/>  of a relay: all below it
 *           <lococa:bm … unasked="yes"/>                    all of its robots understand redirects and inline
 *           <fetched id="17" status="ok" … machineid="m1" fileid="ab/cd/1f.0"/>   fetch-messages.ts
 *           <deleted id="19" status="ok"/>  <checked …/>  <synced …/> (upkeep.ts)  <pong/>
 *     down: <lococa:qm epoch="7"/>                          first, where others may own the home: 7th owner
 *           <fetch id="17" lane="7" url="http://…" roots="http://…" …/>  <recall lane="7"/>
 *           <delete id="19" machineid="m1" fileid="ab/cd/1e.0"/>  <ping intervalms="15000"/>
 *           <check …/>  <sync …/> (upkeep.ts)
 *           <refuse machineid="m2">why</refuse>          to a relay: that machine is kept out of this LCC
 *
 * A link can be cut without either side being told: both notice by pings (pinged-link.ts).
 */
import type { Duplex } from 'node:stream';
import type { LccError } from '../lib/errors.js';
import { escapeText, formatAttribute, formatAttributes } from '../lib/xml/escape.js';
import type { Attributes } from '../lib/xml/types.js';
import { optionalFlag, requiredInteger, requiredSlots, requiredText, requiredWord } from './fields.js';
import type { DeleteRequest, DeleteResult, FetchRequest, FetchResult } from './fetch.js';
import { formatFetch, formatRecall, readFetch, readFetched, readRecall } from './fetch-messages.js';
import { InlineParts } from './inline-parts.js';
import { LowerEnd, UpperEnd } from './pinged-link.js';
import { sendFetched } from './inline-parts.js';
import type { LinkOptions } from './messages.js';
import {
  formatUpkeep,
  formatUpkept,
  readUpkeep,
  readUpkept,
  type UpkeepRequest,
  type UpkeepResult,
} from './upkeep.js';

/** Handlers of a Bot Manager for what its source says. */
interface SourceHandlers {
  /**
   * First of all; 0 from a source that did not say: nobody else may own its home.
   * @throws LccError where the source is not to be served
   */
  epoch?(epoch: number): void;
  fetch(request: FetchRequest): void;
  /** The urls of the lane that have not begun must be given back. */
  recall(lane: string, begun: boolean): void;
  delete(request: DeleteRequest): void;
  upkeep(request: UpkeepRequest): void;
  /** A machine below may not be one of this LCC; a Bot Manager is told that by the end of its connection
   * (code 107). */
  refused(machineId: string, why: string): void;
  closed(reason: LccError | undefined): void;
}

/** Who is at the lower end of a connection, or below it. */
export interface Offer {
  machineIds: readonly string[];
  /** Fetches at a time, of all together. */
  slots: number;
  /** The store of each machine, in their order; empty when it was not said. */
  storeIds: readonly string[];
  /** True if the Bot Manager passes on what others do. */
  relays: boolean;
  /** True if the Bot Manager takes requests for urls that nobody announced. */
  takesUnasked?: boolean;
}

/** The lower side's end: a Bot Manager talking to its source, a QM or another Bot Manager. */
export class SourcePeer extends LowerEnd<SourceHandlers> {
  #isEpochHeard = false;

  /**
   * Says who is here and how much can be done at a time; the first message, and again whenever that changes.
   */
  hello({ machineIds, slots, storeIds, relays, takesUnasked = false }: Offer): void {
    const store = formatAttribute('store', storeIds.length === 0 ? undefined : storeIds.join(' '));
    const flags = `${relays ? ' relay="yes"' : ''}${takesUnasked ? ' unasked="yes"' : ''}`;
    this.channel.send(
      `<lococa:bm${formatAttributes({ machineid: machineIds.join(' '), slots })}${store}${flags}/>\n`,
    );
  }
  fetched(result: FetchResult): void {
    sendFetched(this.channel, result);
  }
  deleted(result: DeleteResult): void {
    this.channel.send(`<deleted id="${result.id}" status="${result.status}"/>\n`);
  }
  upkept(result: UpkeepResult): void {
    this.channel.send(formatUpkept(result));
  }

  protected message(name: string, attributes: Attributes, text: string): void {
    if (name === 'qm' || !this.#isEpochHeard)
      this.handlers.epoch?.(name === 'qm' ? requiredInteger(name, attributes, 'epoch') : 0);
    this.#isEpochHeard = true;
    switch (name) {
      case 'qm':
        return;
      case 'fetch':
        return this.handlers.fetch(readFetch(attributes));
      case 'recall':
        return this.handlers.recall(...readRecall(attributes));
      case 'delete':
        return this.handlers.delete({
          id: requiredInteger(name, attributes, 'id'),
          machineId: requiredText(name, attributes, 'machineid'),
          fileId: requiredText(name, attributes, 'fileid'),
        });
      case 'refuse':
        return this.handlers.refused(requiredText(name, attributes, 'machineid'), text);
      default: {
        const request = readUpkeep(name, attributes);
        if (request !== undefined) return this.handlers.upkeep(request);
        throw this.channel.violation(
          `<${name}> is not a message of a source; fetch, recall, delete, check, adopt, sync and ping are`,
        );
      }
    }
  }
}

/** Handlers of a source for what a Bot Manager below it says. */
interface BotManagerHandlers {
  /** First of all, and again whenever it changes. */
  hello(offer: Offer): void;
  fetched(result: FetchResult): void;
  deleted(result: DeleteResult): void;
  upkept(result: UpkeepResult): void;
  closed(reason: LccError | undefined): void;
}

/** The upper side's end: a QM (or a relaying Bot Manager) talking to a Bot Manager below it. */
export class BotManagerPeer extends UpperEnd<BotManagerHandlers> {
  readonly #parts = new InlineParts();

  constructor(stream: Duplex, handlers: BotManagerHandlers, options: LinkOptions) {
    super(stream, 'bm', handlers, options);
  }

  /** Says which owner of the home asks; 0: nobody else may own it. */
  greet(epoch: number): void {
    if (epoch > 0) this.channel.send(`<lococa:qm${formatAttributes({ epoch })}/>\n`);
  }
  fetch(request: FetchRequest): void {
    this.#parts.asked(request.id, request);
    this.channel.send(formatFetch(request.id, request));
  }
  /** Asks for what has not begun of the lane; each such request comes back as `recalled`, any other as it
   * ends. */
  recall(lane: string, begun = false): void {
    this.channel.send(formatRecall(lane, begun));
  }
  delete(request: DeleteRequest): void {
    const { id, machineId: machineid, fileId: fileid } = request;
    this.channel.send(`<delete${formatAttributes({ id, machineid, fileid })}/>\n`);
  }
  upkeep(request: UpkeepRequest): void {
    this.channel.send(formatUpkeep(request));
  }
  /** Tells a relay that a machine below it may not be one of this LCC. */
  refuse(machineid: string, why: string): void {
    this.channel.send(`<refuse${formatAttributes({ machineid })}>${escapeText(why)}</refuse>\n`);
  }

  protected greeted(attributes: Attributes): boolean {
    const words = (list = '') => list.split(' ').filter(id => id !== '');
    const machineIds = words(attributes['machineid']);
    const storeIds = words(attributes['store']);
    if (storeIds.length > 0 && storeIds.length !== machineIds.length)
      throw this.channel.violation(`<bm>: ${storeIds.length} stores of ${machineIds.length} machines`);
    const slots = requiredSlots('bm', attributes);
    const relays = optionalFlag('bm', attributes, 'relay') === true;
    const takesUnasked = optionalFlag('bm', attributes, 'unasked') === true;
    this.handlers.hello({ machineIds, slots, storeIds, relays, takesUnasked });
    return true;
  }

  protected override tooEarly(name: string): LccError {
    return name === 'bot'
      ? this.channel.violation(
          '<bot>: robots connect to an lccd-bm with a store (--store or --machineid); here Bot Managers do',
        )
      : super.tooEarly(name);
  }

  protected message(name: string, attributes: Attributes, text: string): void {
    switch (name) {
      case 'fetched':
        return this.handlers.fetched(readFetched(attributes, text, this.#parts.take(attributes)));
      case 'part':
        return this.#parts.add(attributes, text);
      case 'deleted':
        return this.handlers.deleted({
          id: requiredInteger(name, attributes, 'id'),
          status: requiredWord(name, attributes, 'status', ['ok', 'away']),
        });
      default: {
        const result = readUpkept(name, attributes);
        if (result !== undefined) return this.handlers.upkept(result);
        throw this.channel.violation(
          `<${name}> is not a message of a Bot Manager; fetched, deleted, checked, adopted and synced are`,
        );
      }
    }
  }
}

/** The fields of a status for a Bot Manager that does not answer. */
export function silence({ silentMs }: Pick<BotManagerPeer, 'silentMs'>): { silent_ms?: number } {
  return silentMs === 0 ? {} : { silent_ms: silentMs };
}
