/** The spool as the UNS sees it: is there room, and what waits in it for whom. */
import type { Spool } from '../lib/spool.js';
import type { SpoolEntry } from '../lib/spool-frames.js';
import type { SpoolWriter } from '../lib/spool-writer.js';
import { step } from '../lib/steps.js';
import type { SetKind } from '../wire/cp-uns/names.js';
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

/** What an entry's name says of it, so that it is known without opening the file, and when that is damaged. */
export interface EntryLabel {
  pid: number;
  seq: number;
  set: SetKind;
  received: number;
  /** How many of them ask for removal; undefined in entries of earlier releases. */
  deletes: number | undefined;
}

const LABEL = /^(\d+)\.(\d+)\.(full|partial)\.(\d+)(?:\.(\d+))?$/;

export function readLabel(entry: SpoolEntry): EntryLabel | undefined {
  const found = LABEL.exec(entry.label);
  if (found === null) return undefined;
  const [, pid, seq, set, received, deletes] = found;
  return {
    pid: Number(pid),
    seq: Number(seq),
    set: set as SetKind,
    received: Number(received),
    deletes: deletes === undefined ? undefined : Number(deletes),
  };
}

export class Intake {
  readonly #spool: Spool;
  readonly #options: UnsOptions;
  readonly #onEntry: () => void;

  /** @param onEntry called whenever a set has been made durable */
  constructor(spool: Spool, options: UnsOptions, onEntry: () => void) {
    this.#spool = spool;
    this.#options = options;
    this.#onEntry = onEntry;
  }

  /** @throws Refusal 102 when the spool or its disk is full */
  demandRoom(): void {
    const { limits } = this.#options;
    const full =
      this.#spool.bytes >= limits['uns.max_spool_bytes']
        ? `the spool is at its limit, ${limitOf(this.#options, 'uns.max_spool_bytes')}`
        : this.#spool.freePercent() < limits['uns.min_free_disk_percent']
          ? `less than ${limitOf(this.#options, 'uns.min_free_disk_percent')} of the spool's disk is free`
          : undefined;
    if (full !== undefined) throw new Refusal(102, `temporarily off-line, try again later: ${full}`);
  }

  begin(header: IntakeHeader): SpoolWriter {
    return this.#spool.create({ ...header });
  }

  /** Makes a set durable; it is promised from then on. */
  async commit(writer: SpoolWriter, label: EntryLabel & { deletes: number }): Promise<void> {
    const { pid, seq, set, received, deletes } = label;
    await writer.commit([pid, seq, set, received, deletes].join('.'));
    this.#onEntry();
    step('uns.accepted');
  }

  /** Urls in the spool for a provider. */
  waitingUrls(pid: number): number {
    return this.#waiting(pid).reduce((sum, { received }) => sum + received, 0);
  }

  waitingFullSets(pid: number): number {
    return this.#waiting(pid).filter(({ set }) => set === 'full').length;
  }

  #waiting(pid: number): EntryLabel[] {
    const prefix = `${pid}.`;
    return this.#spool.entries
      .filter(entry => entry.label.startsWith(prefix))
      .map(readLabel)
      .filter(label => label !== undefined);
  }
}
