/**
 * The Queue Manager's promises as a program of a page (semantics.md, rules 1 to 5, 11, 12, 17, 18), for one provider.
 * The real one is held against it by model.test.ts. A crash changes nothing here: that is the promise.
 */
export interface ModelUrl {
  key: string;
  op: 'update' | 'delete';
  /** What the CP says of the content; undefined: nothing. */
  len?: number | undefined;
}

export interface ModelSet {
  id: number;
  full: boolean;
  urls: ModelUrl[];
}

export interface ModelRow {
  place: number;
  set: number;
  key: string;
  named: number;
  gen: number;
  op: 0 | 1;
  len: number | undefined;
  tries: number;
}

export type ModelResult = 'ok' | 'unchanged' | 'gone' | 'later' | 'site';

export class Model {
  /** Urls waiting or being fetched, in the order in which they came. */
  waiting: ModelRow[] = [];
  held = new Map<string, { len: number; named: number }>();
  complete = new Set<number>();
  /** Changes of the LCC DB so far. */
  changes = 0;
  errors = 0;
  readonly #retries: number;

  constructor(retries: number) {
    this.#retries = retries;
  }

  /** One url of a set is absorbed. */
  absorb(set: ModelSet, url: ModelUrl, place: number): void {
    const row = this.waiting.find(r => r.key === url.key);
    if (url.op === 'delete') {
      if (row?.op === 1) Object.assign(row, { op: 0, gen: row.gen + 1, named: set.id });
      this.#letGo(url.key);
      return;
    }
    const held = this.held.get(url.key);
    if (held !== undefined) held.named = set.id;
    if (row !== undefined) {
      // The first place is kept; the last operation and attributes win.
      row.gen++;
      row.op = 1;
      row.len = url.len;
      row.named = set.id;
      row.tries = Math.min(row.tries, 1);
    } else if (held === undefined || url.len === undefined || url.len !== held.len) {
      this.waiting.push({
        place,
        set: set.id,
        key: url.key,
        named: set.id,
        gen: 1,
        op: 1,
        len: url.len,
        tries: 0,
      });
    }
  }

  /** Its last url was absorbed: a full set removes what it did not name. */
  finish(set: ModelSet): void {
    if (set.full) {
      this.waiting = this.waiting.filter(row => row.named >= set.id);
      for (const [key, held] of this.held) if (held.named < set.id) this.#letGo(key);
    }
    this.complete.add(set.id);
  }

  /** A fetch of a row as it was when it was sent has ended. @returns whether its file is now the one held */
  answer(
    sent: { place: number; gen: number; conditional: boolean },
    result: ModelResult,
    len: number,
  ): boolean {
    const row = this.waiting.find(r => r.place === sent.place);
    if (row === undefined) return false;
    if (row.gen !== sent.gen || row.op === 0) {
      if (row.op === 0) this.#drop(row);
      return false;
    }
    switch (result) {
      case 'ok':
        this.held.set(row.key, { len, named: row.named });
        this.changes++;
        this.#drop(row);
        return true;
      case 'unchanged': {
        const held = this.held.get(row.key);
        if (held === undefined) return false;
        held.named = row.named;
        this.#drop(row);
        return false;
      }
      case 'gone':
        this.#report(row);
        return false;
      case 'later':
        if (row.tries < this.#retries) row.tries++;
        else this.#report(row);
        return false;
      case 'site':
        return false;
    }
  }

  /** The turn of a row that was deleted while it waited. */
  pass(place: number): void {
    const row = this.waiting.find(r => r.place === place);
    if (row?.op === 0) this.#drop(row);
  }

  #report(row: ModelRow): void {
    this.errors++;
    this.#letGo(row.key);
    this.#drop(row);
  }

  #letGo(key: string): void {
    if (this.held.delete(key)) this.changes++;
  }

  #drop(row: ModelRow): void {
    this.waiting = this.waiting.filter(r => r !== row);
  }
}
