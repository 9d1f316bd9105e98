/**
 * Transactions: a url that one spider was sent, until that is over.
 *
 *     out ──DONE──▶ done
 *      ├──no line for three periods──▶ silent
 *      ╰──the connection is closed──▶ lost
 *
 * Only the first is an end of the url; after the others it is another spider's, under another name, and what
 * the first one still says of it counts for nothing.
 */
import type { SpiderUrl } from './spider-url.js';

interface Transaction<Owner> {
  /** Never used again by this process. */
  readonly id: string;
  readonly url: SpiderUrl;
  readonly owner: Owner;
  heardMs: number;
}

export class Transactions<Owner> {
  readonly #silenceMs: number;
  /** Those that are out, the one longest silent first. */
  readonly #out = new Map<string, Transaction<Owner>>();
  readonly #byOwner = new Map<Owner, Set<Transaction<Owner>>>();
  #last = 0;

  /** @param silenceMs after which a transaction is over */
  constructor(silenceMs: number) {
    this.#silenceMs = silenceMs;
  }

  /** Number of transactions that are out. */
  get size(): number {
    return this.#out.size;
  }

  /** Number of all so far. */
  get begun(): number {
    return this.#last;
  }

  /** When the first will have been silent for too long; undefined when none is out. */
  get nextMs(): number | undefined {
    for (const { heardMs } of this.#out.values()) return heardMs + this.#silenceMs;
    return undefined;
  }

  sizeOf(owner: Owner): number {
    return this.#byOwner.get(owner)?.size ?? 0;
  }

  begin(url: SpiderUrl, owner: Owner, nowMs: number): Transaction<Owner> {
    const id = (++this.#last).toString(36);
    const transaction: Transaction<Owner> = { id, url, owner, heardMs: nowMs };
    this.#out.set(id, transaction);
    const own = this.#byOwner.get(owner);
    if (own === undefined) this.#byOwner.set(owner, new Set([transaction]));
    else own.add(transaction);
    return transaction;
  }

  /** @returns whether that is one of the owner's */
  working(id: string, owner: Owner, nowMs: number): boolean {
    const transaction = this.#out.get(id);
    if (transaction?.owner !== owner) return false;
    transaction.heardMs = nowMs;
    // To the end of the line.
    this.#out.delete(id);
    this.#out.set(id, transaction);
    return true;
  }

  /** @returns the transaction; undefined when that is none of the owner's */
  done(id: string, owner: Owner): Transaction<Owner> | undefined {
    const transaction = this.#out.get(id);
    if (transaction?.owner !== owner) return undefined;
    this.#end(transaction);
    return transaction;
  }

  /** One that has been silent for too long; undefined when there is none. */
  silent(nowMs: number): Transaction<Owner> | undefined {
    for (const transaction of this.#out.values()) {
      if (transaction.heardMs + this.#silenceMs > nowMs) return undefined;
      this.#end(transaction);
      return transaction;
    }
    return undefined;
  }

  /** The owner is gone. @returns what it had */
  lost(owner: Owner): Transaction<Owner>[] {
    const own = [...(this.#byOwner.get(owner) ?? [])];
    for (const transaction of own) this.#end(transaction);
    return own;
  }

  #end(transaction: Transaction<Owner>): void {
    this.#out.delete(transaction.id);
    const own = this.#byOwner.get(transaction.owner);
    own?.delete(transaction);
    if (own?.size === 0) this.#byOwner.delete(transaction.owner);
  }
}
