/**
 * Sets from the spool to the Queue Manager, each provider's oldest first, over several connections: one set
 * at a time on each, one of a provider at a time, and only one large one, so that nobody waits for somebody
 * else's million. Which is next is for backlog.ts to say. The Queue Manager commits those that come at the
 * same time together.
 *
 *     idle ──an entry──▶ verified ──▶ sent ──absorbed──▶ removed
 *                           │           ├──refused──▶ set aside; for now: removed, or sent again later
 *                           │           ╰──connection lost: sent again, from its beginning
 *                           ╰──damaged──▶ QM told ──noted──▶ set aside
 *
 * An entry goes only after the QM has answered, so a crash anywhere sends it again; the QM knows it by its
 * id. It is verified whole before anything of it is sent, for half of a damaged set must not reach the queue:
 * a small one is read into memory, a large one is read twice.
 */
import { createHash, hash } from 'node:crypto';
import type { Connection } from '../daemon/types.js';
import type { SessionStore, Unnoted } from '../db/spools/sessions.js';
import type { Clock } from '../lib/clock.js';
import type { DutyCycle } from '../lib/duty-cycle.js';
import { LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import type { Spool } from '../lib/spool.js';
import type { SpoolHeader } from '../lib/spool-frames.js';
import { step } from '../lib/steps.js';
import { damageNote, SET_END, sessionNote, setStart, unsHello, type SetHead } from '../wire/uns-qm.js';
import { readOrigin } from '../wire/origin.js';
import { isCode } from '../wire/codes.js';
import { Refusal } from '../wire/refusal.js';
import type { Absorptions } from './absorptions.js';
import { Backlog, type SpooledSet, type WaitingSets } from './backlog.js';
import type { UnsOptions } from './options.js';
import { QmLink } from './qm-link.js';

/** Code of what is refused for now, such as all sets of a provider that moves … */
const LATER = 102;
/** … and the time until such a set is sent again. */
const LATER_MS = 10_000;
/** Notes sent between two sets. */
const NOTES_AT_A_TIME = 100;

interface ForwarderParts {
  options: UnsOptions;
  spool: Spool;
  sessions: SessionStore;
  duty: DutyCycle<number>;
  clock: Clock;
  log: Log;
}

/** Who waits to hear what came of a set. */
type Awaiting = Pick<Absorptions, 'absorbed' | 'refused'>;

/** An entry of which nothing is damaged. */
interface Verified {
  header: SpoolHeader;
  /** Md5 of its content. */
  md5: string;
}

/** One connection to the Queue Manager. */
interface Stream {
  link: QmLink;
  /** The set that it is sending. */
  set: SpooledSet | undefined;
  /** Ends its idleness; undefined while it has something to do. */
  wake: (() => void) | undefined;
}

export class Forwarder {
  readonly #parts: ForwarderParts;
  readonly #streams = new Set<Stream>();
  readonly #backlog: Backlog;
  /** Providers with a session that must be reported to the QM … */
  readonly #toNote = new Set<number>();
  /** … and those with a session that their own waiting sets may report. */
  readonly #noteLater = new Set<number>();
  /** Any provider may have one. */
  #noteAll = true;
  /** Why connections were refused, as was said already. */
  #refusal: string | undefined;
  #absorbed = 0;
  #noting = false;
  /** Sets that are being removed, or set aside. */
  readonly #leaving = new Set<Promise<void>>();
  #stopped = false;
  /** There in a kept home. */
  awaiting: Awaiting | undefined;

  constructor(parts: ForwarderParts) {
    this.#parts = parts;
    this.#backlog = new Backlog(() => parts.spool.entries);
  }

  get connected(): boolean {
    return this.#streams.size > 0;
  }

  /** Sets the QM has taken since the start. */
  get absorbed(): number {
    return this.#absorbed;
  }

  /** The sets that the provider has in the spool. */
  waiting(pid: number): Readonly<WaitingSets> {
    return this.#backlog.waiting(pid);
  }

  /** Takes an entry out of the spool, unless it is being sent. */
  async withdraw(id: string): Promise<void> {
    if (this.#backlog.withdraw(id)) await this.#parts.spool.remove(id);
  }

  /** There may be something new to send: one connection that is idle looks for it. */
  wake(): void {
    for (const { wake } of this.#streams) if (wake !== undefined) return wake();
  }

  /** There was a session of the provider. A set of it that waits tells the QM of that, too. */
  noteSession(pid: number): void {
    // All are looked at when there is a connection again.
    if (!this.connected) return;
    if (this.#backlog.has(pid)) return void this.#noteLater.add(pid);
    if (this.#parts.sessions.unnotedOf(pid) === undefined) return;
    this.#toNote.add(pid);
    this.wake();
  }

  /** Serves a new connection to the QM until it closes; never rejects but for a bug. */
  async serve(connection: Connection): Promise<void> {
    const { options, clock } = this.#parts;
    const link = new QmLink(connection.socket, { xml: options.xml, timeoutMs: options.qmTimeoutMs, clock });
    const stream: Stream = { link, set: undefined, wake: undefined };
    try {
      await link.ask(unsHello(`${options.id}.${this.#parts.spool.id}`), 'qm');
      this.#join(stream);
      while (!this.#stopped) await this.#step(stream);
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      this.#away(error, stream);
    } finally {
      connection.socket.destroy();
      this.#leave(stream);
    }
  }

  /** Begins nothing any more; resolves when what the QM has answered for has left the spool. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.allSettled(this.#leaving);
  }

  /** Logs one refusal for all connections and tries, and one loss, of the last connection: each is like the
   * other. */
  #away(error: LccError, stream: Stream): void {
    const { log, spool } = this.#parts;
    const reason = messageOf(error);
    const isRefusal = error.code === 'peer.rejected';
    const others = this.#streams.size - (this.#streams.has(stream) ? 1 : 0);
    const isRepeated = isRefusal ? reason === this.#refusal : others > 0;
    const level = isRepeated ? 'debug' : isRefusal ? 'warn' : 'info';
    if (isRefusal) this.#refusal = reason;
    log[level](isRefusal ? 'the Queue Manager refuses a connection' : 'Queue Manager away', {
      reason,
      waiting: spool.entries.length,
    });
  }

  #join(stream: Stream): void {
    this.#streams.add(stream);
    // Whatever was confirmed over the connection before may have been lost with it.
    this.#noteAll = true;
  }

  #leave(stream: Stream): void {
    if (!this.#streams.delete(stream)) return;
    if (stream.set !== undefined) this.#backlog.back(stream.set);
    if (this.#streams.size === 0) this.#refusal = undefined;
    // The set that was being sent can go over another link.
    this.wake();
  }

  async #step(stream: Stream): Promise<void> {
    const set = this.#backlog.take();
    if (set !== undefined) {
      stream.set = set;
      // There may be more.
      this.wake();
      await this.#forward(stream.link, set);
      stream.set = undefined;
    }
    if (this.#stopped) return;
    if ((this.#noteAll || this.#toNote.size > 0) && !this.#noting) await this.#sendNotes(stream.link);
    else if (set === undefined) await this.#idle(stream);
  }

  async #idle(stream: Stream): Promise<void> {
    const woken = new Promise<void>(resolve => (stream.wake = resolve));
    try {
      await stream.link.unlessClosed(woken);
    } finally {
      stream.wake = undefined;
    }
  }

  async #done(set: SpooledSet, how: 'remove' | 'setAside'): Promise<void> {
    const left = this.#takeOut(set, how);
    this.#leaving.add(left);
    try {
      await left;
    } finally {
      this.#leaving.delete(left);
    }
  }

  /** The set will not be sent again. */
  async #takeOut(set: SpooledSet, how: 'remove' | 'setAside'): Promise<void> {
    await this.#parts.spool[how](set.entry.id);
    this.#backlog.done(set);
    const pid = set.label?.pid;
    if (pid === undefined || this.#backlog.has(pid) || !this.#noteLater.delete(pid)) return;
    if (this.#parts.sessions.unnotedOf(pid) !== undefined) this.#toNote.add(pid);
  }

  async #forward(link: QmLink, spooled: SpooledSet): Promise<void> {
    const { entry, label } = spooled;
    const { spool, log, duty } = this.#parts;
    if (label !== undefined) duty.note(label.pid);
    let head: SetHead;
    let last: string | Uint8Array = SET_END;
    try {
      const small = spool.readSmall(entry);
      head = headOf(spooled, small === undefined ? await this.#verify(spooled) : digested(small));
      if (small !== undefined)
        last = Buffer.concat([Buffer.from(setStart(head)), ...small.content, Buffer.from(SET_END)]);
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      return this.#reportDamage(link, spooled, error);
    }
    if (last === SET_END) {
      await link.send(setStart(head));
      for (const piece of spool.read(entry.id).content) await link.send(piece);
    }
    const answer = await link.ask(last, 'absorbed', 'refused');
    step('uns.forwarded');
    if (answer.kind === 'refused') return this.#refused(spooled, answer);
    if (answer.kind !== 'absorbed' || answer.entry !== entry.id) {
      throw new LccError('peer.protocol', `Queue Manager: answered another set than ${entry.id}`);
    }
    this.#absorbed += 1;
    this.awaiting?.absorbed(entry.id);
    if (head.origin === undefined) this.#parts.sessions.confirm(head.pid, head.seq, head.errseen);
    const { queued, duplicate, unchanged, deleted } = answer;
    await this.#done(spooled, 'remove');
    log.info('set absorbed', { entry: entry.id, pid: head.pid, queued, duplicate, unchanged, deleted });
  }

  /** A set refused for now goes where its CP hears that; another may have been accepted, and stays. */
  async #refused(spooled: SpooledSet, { code, reason }: { code: number; reason: string }): Promise<void> {
    const { log, clock } = this.#parts;
    const { entry, label } = spooled;
    const fields = { entry: entry.id, pid: label?.pid, code, reason };
    const why = new Refusal(isCode(code) ? code : LATER, reason);
    const isTold = this.awaiting?.refused(entry.id, why) === true;
    if (code !== LATER) {
      log.error('set refused by the Queue Manager: moved to bad/', fields);
      return this.#done(spooled, 'setAside');
    }
    log.info('set refused by the Queue Manager for now', fields);
    if (isTold) return this.#done(spooled, 'remove');
    this.#backlog.rest(spooled);
    clock.after(LATER_MS, () => {
      this.#backlog.again(spooled);
      this.wake();
    });
  }

  /** Reads a large entry once before anything of it is sent. */
  async #verify({ entry, label, isLarge }: SpooledSet): Promise<Verified> {
    const { spool, duty, clock } = this.#parts;
    let startedMs = clock.monotonicMs();
    // Taken here, not while the CP waits for its answer.
    const md5 = createHash('md5');
    const { header, content } = spool.read(entry.id);
    for (const piece of content) {
      md5.update(piece);
      // Others have their turn between two pieces.
      if (isLarge && label !== undefined) await duty.rest(label.pid, clock.monotonicMs() - startedMs);
      else await new Promise<void>(resolve => void setImmediate(resolve));
      startedMs = clock.monotonicMs();
    }
    return { header, md5: md5.digest('hex') };
  }

  /** The provider must be asked for everything: what it was promised can no longer be read. */
  async #reportDamage(link: QmLink, damaged: SpooledSet, error: LccError): Promise<void> {
    const { log } = this.#parts;
    const { entry, label } = damaged;
    const pid = label?.pid;
    log.error('set damaged: moved to bad/', { entry: entry.id, pid, error: messageOf(error) });
    this.awaiting?.refused(entry.id, new Refusal(102, 'the set was damaged on its way, try again later'));
    if (pid !== undefined) await link.ask(damageNote({ entry: entry.id, pid }), 'noted');
    await this.#done(damaged, 'setAside');
  }

  #nextNotes(): Unnoted[] {
    const pids = [...this.#toNote].slice(0, NOTES_AT_A_TIME);
    for (const pid of pids) this.#toNote.delete(pid);
    return pids.flatMap(pid => this.#parts.sessions.unnotedOf(pid) ?? []);
  }

  async #sendNotes(link: QmLink): Promise<void> {
    const { sessions } = this.#parts;
    const notes = this.#noteAll ? sessions.unnoted(NOTES_AT_A_TIME) : this.#nextNotes();
    this.#noting = true;
    this.#noteAll &&= notes.length === NOTES_AT_A_TIME;
    try {
      for (const note of notes) {
        await link.ask(sessionNote(note), 'noted');
        sessions.confirm(note.pid, note.seq, note.errseen);
      }
    } catch (error) {
      this.#noteAll = true;
      throw error;
    } finally {
      this.#noting = false;
    }
  }
}

function digested({ header, content }: { header: SpoolHeader; content: readonly Buffer[] }): Verified {
  const [only = ''] = content;
  return { header, md5: hash('md5', content.length > 1 ? Buffer.concat(content) : only, 'hex') };
}

/** The head of a set, as its entry has it. */
function headOf({ entry, label }: SpooledSet, { header, md5 }: Verified): SetHead {
  const set = header['set'] === 'full' ? 'full' : 'partial';
  const urlprefix = String(header['urlprefix'] ?? '');
  const origin = readOrigin({
    origin: header['origin'] === undefined ? undefined : String(header['origin']),
  });
  return {
    entry: entry.id,
    pid: Number(header['pid']),
    seq: Number(header['seq']),
    set,
    urlprefix,
    received: label?.received ?? 0,
    errseen: Number(header['errseen'] ?? 0),
    ip: String(header['ip'] ?? ''),
    atS: Number(header['atS'] ?? 0),
    newest: label?.newest ?? 0,
    numbering: String(header['numbering'] ?? ''),
    after: label?.after ?? 0,
    ...(label === undefined ? {} : { deletes: label.deletes }),
    digest: digestOf(set, urlprefix, md5),
    ...(origin === undefined ? {} : { origin }),
  };
}

/** Sets that ask for the same have the same: urls mean nothing without what stands in front of them. */
function digestOf(set: string, urlprefix: string, content: string): string {
  return hash('md5', `${set} ${urlprefix} ${content}`, 'hex');
}
