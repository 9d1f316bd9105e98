/**
 * QM ↔ BM, and BM ↔ BM: fetch requests and deletions down, results and slots up (lcc-protocol(5)).
 *
 *     up:   <lococa:bm machineid="m1" slots="64" store="…"/>  first, and again whenever slots change
 *           <fetched id="17" status="ok" md5="…" len="5123" … machineid="m1" fileid="ab/cd/1f.0"/>
 *           <fetched id="18" status="error" code="404" reach="real" …>Not Found</fetched>
 *           <fetched id="20" status="recalled"/>          not begun when its lane was recalled
 *           <deleted id="19" status="ok"/>  <pong/>
 *     down: <fetch id="17" lane="7" url="http://…" roots="http://…" …/>
 *           <recall lane="7"/>                            whatever of the lane has not begun is to come back
 *           <delete id="19" machineid="m1" fileid="ab/cd/1e.0"/>  <ping/>
 */
import type { Duplex } from 'node:stream';
import { limitText } from '../config/settings.js';
import { LccError } from '../lib/errors.js';
import { escapeText, formatAttribute, formatAttributes } from '../lib/xml/escape.js';
import type { Attributes } from '../lib/xml/types.js';
import { optionalFlag, optionalInteger, requiredInteger, requiredText, requiredWord } from './fields.js';
import type { DeleteRequest, DeleteResult, ErrorReach, FetchRequest, FetchResult } from './fetch.js';
import { MessageChannel, type ChannelOptions } from './messages.js';

export interface LinkOptions extends ChannelOptions {
  /** The upper side pings this often and gives up a peer silent for twice as long. */
  pingIntervalMs: number;
  /** How long a new connection may take to say who it is. */
  helloTimeoutMs: number;
}

const REACHES: readonly ErrorReach[] = ['provider', 'url', 'real'];
const STATUSES: readonly FetchResult['status'][] = ['ok', 'unchanged', 'error', 'recalled'];

export function formatFetch(request: FetchRequest): string {
  return (
    `<fetch id="${request.id}"` +
    formatAttribute('lane', request.lane) +
    formatAttribute('url', request.url) +
    (request.roots.length === 0 ? '' : formatAttribute('roots', formatRoots(request.roots))) +
    formatAttribute('mimetype', request.mimetype) +
    formatAttribute('lastmodified', request.lastModified) +
    formatAttribute('etag', request.etag) +
    formatAttribute('md5', request.md5) +
    formatAttribute('len', request.len) +
    (request.enforce === true ? ' enforce="yes"' : '') +
    formatAttribute('maxbytes', request.maxBytes) +
    formatAttribute('timeoutms', request.timeoutMs) +
    '/>\n'
  );
}

/** @throws LccError `peer.protocol` */
export function readFetch(attributes: Attributes): FetchRequest {
  const element = 'fetch';
  const request: FetchRequest = {
    id: requiredInteger(element, attributes, 'id'),
    lane: requiredText(element, attributes, 'lane'),
    url: requiredText(element, attributes, 'url'),
    roots: readRoots(attributes['roots']),
  };
  const { mimetype, lastmodified, etag, md5 } = attributes;
  if (mimetype !== undefined) request.mimetype = mimetype;
  if (lastmodified !== undefined) request.lastModified = lastmodified;
  if (etag !== undefined) request.etag = etag;
  if (md5 !== undefined) request.md5 = md5.toLowerCase();
  const len = optionalInteger(element, attributes, 'len');
  if (len !== undefined) request.len = len;
  if (optionalFlag(element, attributes, 'enforce') === true) request.enforce = true;
  const maxBytes = optionalInteger(element, attributes, 'maxbytes');
  if (maxBytes !== undefined) request.maxBytes = maxBytes;
  const timeoutMs = optionalInteger(element, attributes, 'timeoutms');
  if (timeoutMs !== undefined) request.timeoutMs = timeoutMs;
  return request;
}

export function formatFetched(result: FetchResult): string {
  const { id, status } = result;
  if (status === 'recalled') return formatRecalled(id);
  const cost = ` wirebytes="${result.wireBytes}" elapsedms="${Math.round(result.elapsedMs)}"`;
  switch (status) {
    case 'ok':
      return (
        `<fetched id="${id}" status="ok" http="${result.http}"` +
        formatAttribute('md5', result.md5) +
        ` len="${result.len}"` +
        formatAttribute('mimetype', result.mimetype) +
        formatAttribute('lastmodified', result.lastModified) +
        formatAttribute('etag', result.etag) +
        formatAttribute('finalurl', result.finalUrl) +
        (result.verified ? '' : ' verified="no"') +
        cost +
        formatAttribute('machineid', result.machineId) +
        formatAttribute('fileid', result.fileId) +
        '/>\n'
      );
    case 'unchanged':
      return (
        `<fetched id="${id}" status="unchanged" http="304"` +
        formatAttribute('lastmodified', result.lastModified) +
        formatAttribute('etag', result.etag) +
        `${cost}/>\n`
      );
    case 'error':
      return (
        `<fetched id="${id}" status="error" code="${result.code}" reach="${result.reach}"${cost}` +
        formatAttribute('retryafterms', result.retryAfterMs) +
        `>${escapeText(result.message)}</fetched>\n`
      );
  }
}

/** Both conversations say it the same way, as they do `recall`. */
export function formatRecalled(id: number): string {
  return `<fetched id="${id}" status="recalled"/>\n`;
}

export function formatRecall(lane: string): string {
  return `<recall${formatAttribute('lane', lane)}/>\n`;
}

/** @throws LccError `peer.protocol` */
export function readFetched(attributes: Attributes, text: string): FetchResult {
  const element = 'fetched';
  const id = requiredInteger(element, attributes, 'id');
  const status = requiredWord(element, attributes, 'status', STATUSES);
  if (status === 'recalled') return { id, status };
  const wireBytes = requiredInteger(element, attributes, 'wirebytes');
  const elapsedMs = requiredInteger(element, attributes, 'elapsedms');
  const { lastmodified, etag } = attributes;
  switch (status) {
    case 'ok': {
      const { mimetype, finalurl, machineid, fileid } = attributes;
      return {
        id,
        status,
        http: requiredInteger(element, attributes, 'http'),
        md5: requiredText(element, attributes, 'md5').toLowerCase(),
        len: requiredInteger(element, attributes, 'len'),
        wireBytes,
        elapsedMs,
        verified: optionalFlag(element, attributes, 'verified') ?? true,
        ...(mimetype === undefined ? undefined : { mimetype }),
        ...(lastmodified === undefined ? undefined : { lastModified: lastmodified }),
        ...(etag === undefined ? undefined : { etag }),
        ...(finalurl === undefined ? undefined : { finalUrl: finalurl }),
        ...(machineid === undefined ? undefined : { machineId: machineid }),
        ...(fileid === undefined ? undefined : { fileId: fileid }),
      };
    }
    case 'unchanged':
      return {
        id,
        status,
        http: 304,
        wireBytes,
        elapsedMs,
        ...(lastmodified === undefined ? undefined : { lastModified: lastmodified }),
        ...(etag === undefined ? undefined : { etag }),
      };
    case 'error': {
      const retryAfterMs = optionalInteger(element, attributes, 'retryafterms');
      return {
        id,
        status,
        code: requiredInteger(element, attributes, 'code'),
        message: text,
        reach: requiredWord(element, attributes, 'reach', REACHES),
        wireBytes,
        elapsedMs,
        ...(retryAfterMs === undefined ? undefined : { retryAfterMs }),
      };
    }
  }
}

/** Roots as one attribute value: urls hold no white space. */
export function formatRoots(roots: readonly string[]): string {
  return roots.length === 1 && roots[0] !== undefined && !roots[0].includes(' ')
    ? roots[0]
    : roots.map(root => root.replaceAll(' ', '%20')).join(' ');
}

export function readRoots(text: string | undefined): string[] {
  return text === undefined || text === '' ? [] : text.trim().split(/\s+/);
}

/** What a Bot Manager asks of the code that serves its connection to the source. */
export interface SourceHandlers {
  fetch(request: FetchRequest): void;
  /** What has not begun of the lane is to be given back. */
  recall(lane: string): void;
  delete(request: DeleteRequest): void;
  closed(reason: LccError | undefined): void;
}

/** The lower side's end: a Bot Manager talking to its source, a QM or another Bot Manager. */
export class SourcePeer {
  readonly channel: MessageChannel;
  readonly #handlers: SourceHandlers;

  constructor(stream: Duplex, handlers: SourceHandlers, options: ChannelOptions) {
    this.#handlers = handlers;
    this.channel = new MessageChannel(
      stream,
      {
        message: (name, attributes) => this.#message(name, attributes),
        closed: reason => handlers.closed(reason),
      },
      options,
    );
  }

  /** Says who is here and how much can be done at a time; the first message, and again whenever that changes. */
  hello(machineIds: readonly string[], slots: number, storeIds: readonly string[] = []): void {
    const store = formatAttribute('store', storeIds.length === 0 ? undefined : storeIds.join(' '));
    this.channel.send(
      `<lococa:bm${formatAttributes({ machineid: machineIds.join(' '), slots })}${store}/>\n`,
    );
  }
  fetched(result: FetchResult): void {
    this.channel.send(formatFetched(result));
  }
  deleted(result: DeleteResult): void {
    this.channel.send(`<deleted id="${result.id}" status="${result.status}"/>\n`);
  }

  #message(name: string, attributes: Attributes): void {
    switch (name) {
      case 'fetch':
        return this.#handlers.fetch(readFetch(attributes));
      case 'recall':
        return this.#handlers.recall(requiredText(name, attributes, 'lane'));
      case 'delete':
        return this.#handlers.delete({
          id: requiredInteger(name, attributes, 'id'),
          machineId: requiredText(name, attributes, 'machineid'),
          fileId: requiredText(name, attributes, 'fileid'),
        });
      case 'ping':
        return this.channel.send('<pong/>\n');
      default:
        throw this.channel.violation(
          `<${name}> is not a message of a source; fetch, recall, delete and ping are`,
        );
    }
  }
}

/** What a source asks of the code that serves a Bot Manager below it. */
export interface BotManagerHandlers {
  /**
   * First of all, and again whenever it changes.
   * @param storeIds the store of each machine, in their order; empty when it was not said
   */
  hello(machineIds: string[], slots: number, storeIds: string[]): void;
  fetched(result: FetchResult): void;
  deleted(result: DeleteResult): void;
  closed(reason: LccError | undefined): void;
}

/** The upper side's end: a QM (or a relaying Bot Manager) talking to a Bot Manager below it. */
export class BotManagerPeer {
  readonly channel: MessageChannel;
  readonly #handlers: BotManagerHandlers;
  readonly #options: LinkOptions;
  #greeted = false;
  #heard = true;
  #cancelTimer: () => void;

  constructor(stream: Duplex, handlers: BotManagerHandlers, options: LinkOptions) {
    this.#handlers = handlers;
    this.#options = options;
    this.channel = new MessageChannel(
      stream,
      {
        message: (name, attributes, text) => this.#message(name, attributes, text),
        closed: reason => {
          this.#cancelTimer();
          handlers.closed(reason);
        },
      },
      options,
    );
    this.#cancelTimer = options.clock.after(options.helloTimeoutMs, () => {
      const limit = limitText('wire.hello_timeout_ms', options.helloTimeoutMs);
      this.channel.refuse(this.channel.violation(`has not said who it is for ${limit}`));
    });
  }

  fetch(request: FetchRequest): void {
    this.channel.send(formatFetch(request));
  }
  /** Asks for what has not begun of the lane; each such request comes back as `recalled`, any other as it ends. */
  recall(lane: string): void {
    this.channel.send(formatRecall(lane));
  }
  delete(request: DeleteRequest): void {
    const { id, machineId: machineid, fileId: fileid } = request;
    this.channel.send(`<delete${formatAttributes({ id, machineid, fileid })}/>\n`);
  }

  #message(name: string, attributes: Attributes, text: string): void {
    this.#heard = true;
    if (name === 'bm') {
      const words = (text = '') => text.split(' ').filter(id => id !== '');
      const machineIds = words(attributes['machineid']);
      const storeIds = words(attributes['store']);
      if (storeIds.length > 0 && storeIds.length !== machineIds.length)
        throw this.channel.violation(`<bm>: ${storeIds.length} stores of ${machineIds.length} machines`);
      this.#handlers.hello(machineIds, requiredInteger(name, attributes, 'slots'), storeIds);
      if (!this.#greeted) this.#watch();
      this.#greeted = true;
      return;
    }
    if (!this.#greeted) throw this.channel.violation(`<${name}> before <lococa:bm>`);
    switch (name) {
      case 'fetched':
        return this.#handlers.fetched(readFetched(attributes, text));
      case 'deleted':
        return this.#handlers.deleted({
          id: requiredInteger(name, attributes, 'id'),
          status: requiredWord(name, attributes, 'status', ['ok', 'away']),
        });
      case 'pong':
        return;
      default:
        throw this.channel.violation(`<${name}> is not a message of a Bot Manager; fetched and deleted are`);
    }
  }

  #watch(): void {
    this.#cancelTimer();
    if (!this.channel.open) return;
    if (!this.#heard) {
      const limit = limitText('wire.ping_interval_ms', this.#options.pingIntervalMs);
      this.channel.destroy(
        new LccError('peer.unavailable', `${this.channel.where}: silent for two intervals of ${limit}`),
      );
      return;
    }
    this.#heard = false;
    this.channel.send('<ping/>\n');
    // One interval to ping again, one more to be heard.
    this.#cancelTimer = this.#options.clock.after(this.#options.pingIntervalMs * 2, () => this.#watch());
  }
}
