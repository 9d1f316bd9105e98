/**
 * Sinks of urls that no owner announced: the spider door, or a stream on standard output, to be looked at.
 */
import { Output } from '../lib/stdio.js';
import { formatAttributes } from '../lib/xml/escape.js';
import type { DoorSets } from '../wire/door-sets.js';
import { formatUrl } from '../wire/url.js';
import { STREAM_END, streamHead } from '../wire/url-stream.js';
import type { FoundLink, UnwantedPage } from './options.js';
import type { ScanRequest } from './types.js';

/** A promise is waited for before the next url comes. */
export interface UrlSink<Url> {
  add(url: Url): void | Promise<void>;
  /** A page that asks not to be kept. */
  unwanted(page: UnwantedPage): void | Promise<void>;
  /** Everything is where it shall be. */
  finish(): Promise<void>;
}

/** A url as a line. @param pid left out in a set, which says itself whose it is */
type LineOf<Url> = (url: Url, pid?: number) => string;

export const linkLine: LineOf<FoundLink> = ({ curl, furl, hops }, pid) =>
  lineOf({ curl, mimetype: '*/*', furl, ifabsent: 'yes', outofroot: 'drop', hops, pid });

export const requestLine: LineOf<ScanRequest> = ({ curl, mimetype, furl, hops }, pid) =>
  lineOf({ curl, mimetype, furl, hops, pid });

function lineOf(attributes: Parameters<typeof formatAttributes>[0]): string {
  return `<url${formatAttributes(attributes)}/>\n`;
}

/** The door, or where there is none a stream of the program `from` on `stdout`, a descriptor. */
export function sinkOf<Url extends { pid: number }>(
  door: DoorSets | undefined,
  { stdout, from }: { stdout: number; from: string },
  line: LineOf<Url>,
): UrlSink<Url> {
  return door === undefined ? streamSink(new Output(stdout), from, line) : doorSink(door, line);
}

export function doorSink<Url extends { pid: number }>(sets: DoorSets, line: LineOf<Url>): UrlSink<Url> {
  return {
    add: url => sets.put(url.pid, line(url)),
    unwanted: ({ pid, curl, mimetype, md5 }) =>
      sets.put(pid, formatUrl({ curl, mimetype, ...(md5 !== undefined && { md5 }), op: 'delete' })),
    finish: () => sets.finish(),
  };
}

function streamSink<Url extends { pid: number }>(out: Output, from: string, line: LineOf<Url>): UrlSink<Url> {
  out.write(streamHead({ from, set: 'partial' }));
  return {
    add: url => out.write(line(url, url.pid)),
    // Only the door can say so: from anywhere else it would be a deletion that nobody asked for.
    unwanted: () => undefined,
    finish() {
      out.write(STREAM_END);
      out.flush();
      return Promise.resolve();
    },
  };
}
