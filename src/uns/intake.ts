/** The spool as the UNS sees it: is there room, and what waits in it for whom. */
import { bytesToKeep, describeRoom } from '../config/free-disk.js';
import type { OrderStore } from '../db/order.js';
import type { Spool } from '../lib/spool.js';
import type { SpoolWriter } from '../lib/spool-writer.js';
import { step } from '../lib/steps.js';
import type { SetKind } from '../wire/cp-uns/names.js';
import { formatLabel } from './label.js';
import { limitOf, type UnsOptions } from './options.js';
import { Refusal } from './refusal.js';

/** What is said of a set when it begins to be written. */
export interface IntakeHeader {
  pid: number;
  seq: number;
  set: SetKind;
  urlprefix: string;
  errseen: number;
  ip: string;
  atS: number;
}

export class Intake {
  readonly #spool: Spool;
  readonly #order: OrderStore;
  readonly #options: UnsOptions;
  readonly #onEntry: () => void;

  /** @param onEntry called whenever a set has been made durable */
  constructor(spool: Spool, order: OrderStore, options: UnsOptions, onEntry: () => void) {
    this.#spool = spool;
    this.#order = order;
    this.#options = options;
    this.#onEntry = onEntry;
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

  begin(header: IntakeHeader): SpoolWriter {
    return this.#spool.create({ ...header });
  }

  /** Makes a set durable; it is promised from then on. */
  async commit(writer: SpoolWriter, label: Parameters<typeof formatLabel>[0]): Promise<void> {
    await writer.commit(formatLabel(label));
    this.#onEntry();
    step('uns.accepted');
  }

  /** What waits for the Queue Manager in the spools of all UNSes. */
  waiting(pid: number): { sets: number; urls: number; fullSets: number } {
    return this.#order.waiting(pid);
  }
}
