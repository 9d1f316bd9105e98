/** What stands around the Queue Manager in a history: spools of UNSes, and Bot Managers with their disks. */
import { fileIdOf } from '../../src/db/names/naming.js';
import type { SetHead } from '../../src/wire/uns-qm.js';
import type { SetAbsorption } from '../../src/qm/set-absorption.js';
import { BMS, UNSES } from './history.js';
import type { ProviderSet, Row, Sent, Url } from './model.js';

/** The root of every provider. */
export const BASE = 'http://127.0.0.1/';

/** The Queue Manager asks the wall clock at least once a minute. */
export const LOOK_MS = 61_000;

/** A set that a CP was told is accepted. */
export interface Entry {
  uns: string;
  head: SetHead;
  urls: Url[];
  full: boolean;
  /** In the order of acceptance, over all UNSes. */
  number: number;
  /** Known once the Queue Manager has begun it. */
  set?: ProviderSet;
  firstpos: number;
  /** Urls that the Queue Manager has committed. */
  done: number;
  complete: boolean;
  /** Its file is unreadable. */
  damaged: boolean;
  /** It removes more than the fuse lets pass. */
  mustHold: boolean;
  /** What it answered. */
  answer?: string;
}

export class Uns {
  readonly id: string;
  /** Oldest first. */
  readonly spool: Entry[] = [];
  open: { intake: SetAbsorption; sent: number; ending: boolean } | undefined;

  constructor(id: string) {
    this.id = id;
  }

  /** The connection is gone. */
  cut(): void {
    this.open?.intake.cut();
    this.open = undefined;
  }
}

/** A url on its way. */
export interface Request {
  id: number;
  bm: Bm;
  lane: string;
  row: Row;
  /** Its hours when it was sent. */
  tod: string | undefined;
  sent: Sent;
}

export class Bm {
  readonly machine: string;
  /** Its connection; 0: it is not there. */
  link = 0;
  slots = 0;
  /** Its store was full: it is left without work until then. */
  restUntilMs = 0;
  requests: Request[] = [];
  /** Lanes that are to come back as far as they have not begun. */
  recalls: string[] = [];
  /** Deletions it was asked for. */
  unlinks: { id: number; file: string }[] = [];
  target: object = {};

  constructor(machine: string) {
    this.machine = machine;
  }

  lanes(): Set<string> {
    return new Set(this.requests.map(r => r.lane));
  }

  /** Requests of lanes that were recalled, but for those being fetched: they are given back. */
  takeRecalled(): Request[] {
    const back: Request[] = [];
    for (const lane of this.recalls.splice(0))
      back.push(...this.requests.filter(r => r.lane === lane && !back.includes(r)).slice(1));
    this.requests = this.requests.filter(r => !back.includes(r));
    return back;
  }

  gone(): void {
    this.link = 0;
    this.slots = 0;
    this.restUntilMs = 0;
    this.requests = [];
    this.recalls = [];
    this.unlinks = [];
  }
}

export class World {
  readonly unses = Array.from({ length: UNSES }, (_, i) => new Uns(`u${i + 1}`));
  readonly bms = Array.from({ length: BMS }, (_, i) => new Bm(`m${i + 1}`));
  /** Files that arrived and were not deleted: `machine/file`. */
  readonly disk = new Set<string>();
  /** Files of results that nobody heard: a crash may leave them, nothing else. */
  readonly orphans = new Set<string>();
  #numbers = 0;
  #files = 0;

  accept(uns: Uns, head: SetHead, full: boolean, urls: Url[]): void {
    const number = ++this.#numbers;
    const untouched = { firstpos: 0, done: 0, complete: false, damaged: false, mustHold: false };
    uns.spool.push({ uns: uns.id, head, full, urls, number, ...untouched });
  }

  /** Sets of one provider go in the order they were accepted, over all UNSes. */
  mayForward(entry: Entry): boolean {
    return !this.unses.some(uns =>
      uns.spool.some(other => other.head.pid === entry.head.pid && other.number < entry.number),
    );
  }

  newFile(bm: Bm): string {
    const file = fileIdOf({ id: ++this.#files, gen: 0 });
    this.disk.add(`${bm.machine}/${file}`);
    return file;
  }

  requests(): Request[] {
    return this.bms.flatMap(bm => bm.requests);
  }
}
