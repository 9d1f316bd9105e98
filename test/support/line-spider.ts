/** A spider that a test plays: it asks, and says what it is told to of each url. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { formatDone, formatGet, ServerLineReader, type UrlLine } from '../../src/wire/spider-lines.js';
import { until, within } from './until.js';

export class LineSpider {
  readonly socket: Socket;
  /** Urls it was sent. */
  readonly urls: UrlLine[] = [];
  readonly errs: string[] = [];
  /** Resolves when the connection is closed, however. */
  readonly closed: Promise<unknown>;
  /** What it does with a url; left out: nothing. */
  #meet: (line: UrlLine) => void = () => undefined;

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('error', () => undefined);
    this.closed = once(this.socket, 'close').catch(() => undefined);
    const lines = new ServerLineReader();
    this.socket.on('data', bytes => {
      for (const line of lines.read(bytes)) {
        if (line.kind === 'err') this.errs.push(line.text);
        else if (line.kind === 'bad') throw new Error(`the server sent a bad line: ${line.why}`);
        else {
          this.urls.push(line);
          this.#meet(line);
        }
      }
    });
  }

  say(text: string): void {
    this.socket.write(text);
  }

  /** Calls `meet` with each url that comes from now on. */
  onUrl(meet: (line: UrlLine) => void): void {
    this.#meet = meet;
  }

  /** Has `count` urls under way at a time, each done at once. */
  work(count: number): void {
    this.onUrl(line => this.done(line));
    this.say(formatGet(count));
  }

  /** @param more urls it then has room for */
  done({ transId }: UrlLine, more = 1): void {
    this.say(formatDone(transId) + (more === 0 ? '' : formatGet(more)));
  }

  /** @returns its urls once there are `count` */
  async until(count: number): Promise<UrlLine[]> {
    await until(`${count} urls for a spider`, () => this.urls.length >= count);
    return this.urls;
  }

  async end(): Promise<void> {
    this.socket.destroy();
    await within('a spider closes', this.closed);
  }
}
