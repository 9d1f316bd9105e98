/**
 * Room on the disk of a store for more content. The disk is asked now and then, and at once when what was
 * stored since may have taken the room; what is being fetched counts with the size that contents had of late.
 * Robots may have stored more than they have said, as much as they were given ahead: near the limit nothing
 * is given ahead. So the free space ends at its limit and not far below it, however fast content comes.
 */
import { bytesToKeep, type FreeDisk } from '../config/free-disk.js';
import type { DiskSpace } from '../lib/disk-space.js';

/** Contents over which their size is averaged. */
const REMEMBERED = 32;
/** Files occupy a multiple of this, on most disks. */
const BLOCK_BYTES = 4096;

export class Room {
  readonly #ask: (this: void) => DiskSpace;
  readonly #keep: FreeDisk;
  #freeBytes = 0;
  #totalBytes = 0;
  #limitBytes = 0;
  /** Bytes that a stored file takes on average. */
  #usualBytes = 0;
  /** Free bytes from which on there is room again; 0 while there is. */
  #neededBytes = 0;

  /** @param ask the disk: some microseconds */
  constructor(ask: (this: void) => DiskSpace, keep: FreeDisk) {
    this.#ask = ask;
    this.#keep = keep;
  }

  /** The disk as it was asked last, less what was stored since, and what it must have free for content to be
   * stored. */
  get figures(): DiskSpace & { neededBytes: number } {
    const neededBytes = this.#neededBytes || this.#limitBytes;
    return { freeBytes: Math.max(0, this.#freeBytes), totalBytes: this.#totalBytes, neededBytes };
  }

  /** A content was stored. */
  stored(bytes: number): void {
    const taken = Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;
    this.#freeBytes -= taken;
    this.#usualBytes =
      this.#usualBytes === 0 ? taken : this.#usualBytes + (taken - this.#usualBytes) / REMEMBERED;
  }

  /**
   * Asks the disk whether it has less room than it must keep. Contents being fetched count for as much as the
   * limit at most: a few large ones must not keep a small disk half empty.
   * @param fetching contents being fetched
   */
  isShort(fetching: number): boolean {
    const { freeBytes, totalBytes } = this.#ask();
    this.#freeBytes = freeBytes;
    this.#totalBytes = totalBytes;
    this.#limitBytes = bytesToKeep(this.#keep, totalBytes);
    // In between it stays as it is: what was being fetched takes its room, and fetching must not begin again
    // for that.
    const isShort = freeBytes < (this.#neededBytes || this.#limitBytes + this.#onItsWay(fetching));
    if (!isShort) this.#neededBytes = 0;
    else this.#neededBytes ||= this.#limitBytes + this.#onItsWay(fetching) / 2;
    return isShort;
  }

  /** True if `contents` more may leave less than the limit, by what is known of the disk and of sizes. Does
   * not ask the disk. They count for as much as the limit at most. */
  isNear(contents: number): boolean {
    return this.#freeBytes < this.#limitBytes + this.#onItsWay(contents);
  }

  #onItsWay(fetching: number): number {
    return Math.min(this.#limitBytes, fetching * this.#usualBytes);
  }
}
