/** The spool as the UNS sees it: its room, what is written to it, and what waits in it for whom. */
import { bytesToKeep, describeRoom } from '../config/free-disk.js';
import type { SessionStore } from '../db/spools/sessions.js';
import type { Spool } from '../lib/spool.js';
import type { SpoolEntry } from '../lib/spool-frames.js';
import type { SpoolWriter } from '../lib/spool-writer.js';
import { step } from '../lib/steps.js';
import type { SetKind } from '../wire/cp-uns/names.js';
import type { SetOrigin } from '../wire/origin.js';
import { Refusal } from '../wire/refusal.js';
import type { WaitingSets } from './backlog.js';
import { limitOf, type UnsOptions } from './options.js';
import { formatLabel, type EntryLabel } from './spool-names.js';

/** A set that begins, as its header has it. */
export interface SetStart {
  set: SetKind;
  urlprefix: string;
  /** The CP's address. */
  ip: string;
  /** Now, seconds since 1970. */
  atS: number;
  /** Source of the set, where its owner did not send it. */
  origin?: SetOrigin;
}

interface IntakeParts {
  spool: Spool;
  sessions: SessionStore;
  /** The provider's sets in the spool. */
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

  /** The place that is full, the spool or its disk. */
  shortage(): string | undefined {
    const { limits, minFree } = this.#options;
    if (this.#spool.bytes >= limits.maxSpoolBytes)
      return `the spool is at its limit, ${limitOf(this.#options, 'uns.max_spool_bytes')}`;
    const space = this.#spool.space();
    if (space.freeBytes >= bytesToKeep(minFree, space.totalBytes)) return undefined;
    return `the spool's disk has too little room: ${describeRoom(minFree, space)}`;
  }

  /** @throws Refusal 102 when the spool or its disk is full */
  demandRoom(): void {
    const full = this.shortage();
    if (full !== undefined) throw new Refusal(102, `temporarily off-line, try again later: ${full}`);
  }

  begin(header: SetStart & { pid: number; seq: number; errseen: number }): SpoolWriter {
    // Which UNSes number connections together.
    const { numbering } = this.#parts.sessions;
    return this.#spool.create({ ...header, numbering });
  }

  /** Makes a set durable; without an engine it is promised from then on. */
  async commit(writer: SpoolWriter, label: Omit<EntryLabel, 'newest'>): Promise<SpoolEntry> {
    // Whatever connects from now on, to any UNS, is later.
    const newest = this.#parts.sessions.newest(label.pid);
    const entry = await writer.commit(formatLabel({ ...label, newest }));
    this.#parts.onEntry();
    step('uns.accepted');
    return entry;
  }

  /** The provider's sets that wait for the Queue Manager. */
  waiting(pid: number): Readonly<WaitingSets> {
    return this.#parts.waiting(pid);
  }
}
