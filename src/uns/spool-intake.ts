/** The spool as the UNS sees it: is there room, and what waits in it for whom. */
import { bytesToKeep, describeRoom } from '../config/free-disk.js';
import type { SessionStore } from '../db/spools/sessions.js';
import type { Spool } from '../lib/spool.js';
import type { SpoolWriter } from '../lib/spool-writer.js';
import { step } from '../lib/steps.js';
import type { SetKind } from '../wire/cp-uns/names.js';
import type { WaitingSets } from './backlog.js';
import { limitOf, type UnsOptions } from './options.js';
import { Refusal } from '../wire/refusal.js';
import { formatLabel, type EntryLabel } from './spooled.js';

/** What is said of a set when it begins to be written. */
export interface IntakeHeader {
  pid: number;
  seq: number;
  set: SetKind;
  urlprefix: string;
  errseen: number;
  ip: string;
  atS: number;
  /** Which UNSes number connections together. */
  numbering: string;
}

export interface IntakeParts {
  spool: Spool;
  sessions: SessionStore;
  /** What waits in the spool. */
  waiting: (pid: number) => Readonly<WaitingSets>;
  /** Called whenever a set has been made durable. */
  onEntry: () => void;
}

export class SpoolIntake {
  readonly #spool: Spool;
  readonly #parts: IntakeParts;
  readonly #options: UnsOptions;

  constructor(parts: IntakeParts, options: UnsOptions) {
    this.#spool = parts.spool;
    this.#parts = parts;
    this.#options = options;
  }

  /** What is full, the spool or its disk. */
  noRoom(): string | undefined {
    const { limits } = this.#options;
    return this.#spool.bytes >= limits['uns.max_spool_bytes']
      ? `the spool is at its limit, ${limitOf(this.#options, 'uns.max_spool_bytes')}`
      : this.#diskShortage();
  }

  #diskShortage(): string | undefined {
    const { minFree } = this.#options;
    const space = this.#spool.space();
    if (space.freeBytes >= bytesToKeep(minFree, space.totalBytes)) return undefined;
    return `the spool's disk has too little room: ${describeRoom(minFree, space)}`;
  }

  /** @throws Refusal 102 when the spool or its disk is full */
  demandRoom(): void {
    const full = this.noRoom();
    if (full !== undefined) throw new Refusal(102, `temporarily off-line, try again later: ${full}`);
  }

  begin(header: Omit<IntakeHeader, 'numbering'>): SpoolWriter {
    const { numbering } = this.#parts.sessions;
    return this.#spool.create({ ...header, numbering } satisfies IntakeHeader);
  }

  /** Makes a set durable; it is promised from then on. */
  async commit(writer: SpoolWriter, label: Omit<EntryLabel, 'newest'>): Promise<void> {
    // Whatever connects from now on, to any UNS, is later.
    const newest = this.#parts.sessions.newest(label.pid);
    await writer.commit(formatLabel({ ...label, newest }));
    this.#parts.onEntry();
    step('uns.accepted');
  }

  /** What waits for the Queue Manager. */
  waiting(pid: number): Readonly<WaitingSets> {
    return this.#parts.waiting(pid);
  }
}
