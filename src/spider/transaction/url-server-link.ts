/** One connection to a URL server: its urls, the credit it has, what it is told. A server may say its last
 * word and still listen: it hears of what it has asked for, and the connection ends with the last of that. */
import type { Socket } from 'node:net';
import type { Connection } from '../../daemon/types.js';
import type { Clock } from '../../lib/clock.js';
import type { Log } from '../../lib/log.js';
import {
  formatErr,
  formatGet,
  formatWorking,
  ServerLineReader,
  type ServerLine,
} from '../../wire/spider-lines.js';
import type { SpiderTransaction, TransactionOwner } from './transaction.js';

interface UrlServerSessionOptions {
  /** Lines that the server has not read at which its connection is given up. */
  maxUnsentBytes: number;
  /** Lines of the server that cost an ERR at which its connection is given up. */
  maxBadLines: number;
  clock: Clock;
  log: Log;
  /** Called for each line that makes no sense; the session answers it. */
  senseless: (line: Extract<ServerLine, { kind: 'bad' }>, peer: string) => void;
  /** A url, or a line that is none but of a document. */
  line: (line: Extract<ServerLine, { docId?: number }>) => void;
  closed: () => void;
}

/** The reset of a server that is gone is waited for so long, so that the next write fails. */
const PROBE_MS = 100;

export class UrlServerSession implements TransactionOwner {
  readonly #options: UrlServerSessionOptions;
  readonly #socket: Socket;
  readonly #peer: string;
  readonly #transactions = new Map<string, SpiderTransaction>();
  readonly #reader = new ServerLineReader();
  /** Urls that the server may still send. */
  credit = 0;
  #unsent = '';
  #willSend = false;
  badLines = 0;
  /** The server has said its last word. */
  #hasEnded = false;
  #isOver = false;

  constructor({ socket, peer }: Connection, options: UrlServerSessionOptions) {
    this.#socket = socket;
    this.#peer = peer;
    this.#options = options;
    const { clock } = options;
    socket.allowHalfOpen = true;
    socket
      .on('data', (bytes: Buffer) => this.#hear(bytes))
      .on('error', () => undefined)
      .on('end', () => {
        this.#hasEnded = true;
        this.#probe();
        clock.after(PROBE_MS, () => this.#probe());
        this.#endIfDone();
      })
      .on('close', () => this.#close());
  }

  /** Asks for more urls. */
  grant(count: number): void {
    if (this.#hasEnded) return;
    this.credit += count;
    this.say(formatGet(count));
  }

  /** True if a transaction of this name is under way. */
  has(transId: string): boolean {
    return this.#transactions.has(transId);
  }

  add(transaction: SpiderTransaction): void {
    this.#transactions.set(transaction.task.transId, transaction);
  }

  /** The end of the transaction has been told. */
  remove({ task }: SpiderTransaction): void {
    this.#transactions.delete(task.transId);
    this.#endIfDone();
  }

  /** A line with its end; sent with others of the same moment. */
  say(line: string): void {
    if (this.#isOver) return;
    this.#unsent += line;
    if (this.#willSend) return;
    this.#willSend = true;
    setImmediate(() => this.#send());
  }

  /** For a person at the other end: what is odd, but costs nothing. */
  remark(what: string): void {
    this.say(formatErr(what));
  }

  /** The same of a line that is good for nothing. */
  complain(what: string): void {
    this.badLines++;
    this.say(formatErr(what));
    if (this.badLines <= this.#options.maxBadLines) return;
    this.#giveUp('URL server: too many bad lines, connecting again');
  }

  /** Says what is left to be said, and ends. Resolves when the server has ended as well. */
  end(): Promise<void> {
    this.#send();
    this.#socket.end();
    return new Promise(resolve => {
      if (this.#isOver) resolve();
      else this.#socket.once('close', () => resolve());
    });
  }

  /** A server that was killed has ended as well: it resets what it is sent, and the next write fails. */
  #probe(): void {
    const [transId] = this.#transactions.keys();
    if (transId !== undefined) this.say(formatWorking(transId));
  }

  #endIfDone(): void {
    if (this.#hasEnded && this.#transactions.size === 0) void this.end();
  }

  #send(): void {
    this.#willSend = false;
    const lines = this.#unsent;
    this.#unsent = '';
    if (this.#isOver || lines === '' || !this.#socket.writable) return;
    this.#socket.write(lines, 'latin1');
    if (this.#socket.writableLength > this.#options.maxUnsentBytes)
      this.#giveUp('URL server: it does not read, connecting again');
  }

  #hear(bytes: Buffer): void {
    for (const line of this.#reader.read(bytes)) {
      if (this.#isOver) return;
      if (line.kind === 'bad') this.#options.senseless(line, this.#peer);
      if (line.kind === 'err')
        this.#options.log.warn('URL server: error', { peer: this.#peer, text: line.text });
      else if (line.kind === 'bad' && (line.transId === undefined || line.docId === undefined))
        this.complain(line.why);
      else if (this.credit === 0) this.complain(`${line.transId}: a url without credit`);
      else {
        this.credit--;
        this.#options.line(line);
      }
    }
  }

  #giveUp(event: string): void {
    this.#options.log.warn(event, { peer: this.#peer });
    this.#socket.destroy();
    this.#close();
  }

  #close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const transaction of this.#transactions.values()) transaction.session = undefined;
    this.#transactions.clear();
    this.#options.closed();
  }
}
