/**
 * md5 of many small contents, eight side by side (md5-kernel.ts): one of 4 KiB takes a fifth of the time that
 * it takes alone (docs/design/md5.md). Contents are put into the memory that the kernel reads, hashed
 * together, and answered in the order they came in.
 */
import {
  BLOCK_BYTES,
  FIRST_STATE,
  FREE_FROM,
  LANES,
  startKernel,
  stateAt,
  type Kernel,
} from './md5-kernel.js';

/** Contents hashed together at most. */
const MOST_CONTENTS = 512;
const DIGEST_BYTES = 16;
const CONTENTS_AT = FREE_FROM + MOST_CONTENTS * DIGEST_BYTES;
/** Pages of 64 KiB: for 2 MiB of contents. */
const PAGES = 33;
/** md5 ends a content with one bit, zeros, and its length in bits. */
const LENGTH_BYTES = 8;
const END_BYTES = 1 + LENGTH_BYTES;

const MD5_OF_NOTHING = 'd41d8cd98f00b204e9800998ecf8427e';

/** A lane without work; what it hashes meanwhile is not looked at. */
const IDLE = -1;

export class Md5Lanes {
  /** Buffer that contents are put into, at `at`. */
  readonly memory: Buffer;
  /** Where the next content goes. */
  at = CONTENTS_AT;
  readonly #numbers: Int32Array;
  readonly #run: Kernel['run'];
  /** Contents waiting: where each lies, and how many blocks it has. */
  readonly #starts: number[] = [];
  readonly #blocks: number[] = [];

  /** @throws Error where WebAssembly, its vectors or the memory are not to be had */
  private constructor() {
    const { memory, run } = startKernel(PAGES);
    this.memory = Buffer.from(memory);
    this.#numbers = new Int32Array(memory);
    this.#run = run;
  }

  /**
   * Undefined on a machine that cannot: an old processor, Node without WebAssembly, an address space kept
   * small. All lanes are tried, as nobody would notice a wrong md5 (numbers of WebAssembly and of JavaScript
   * may differ in their order of bytes).
   */
  static start(): Md5Lanes | undefined {
    try {
      const lanes = new Md5Lanes();
      for (let lane = 0; lane < LANES; lane++) lanes.add(0);
      return lanes.digests().every(md5 => md5 === MD5_OF_NOTHING) ? lanes : undefined;
    } catch {
      return undefined;
    }
  }

  /** True if a content of `bytes` bytes can be put at `at`; always true while none waits and it is at most 2
   * MiB. */
  hasRoom(bytes: number): boolean {
    return (
      this.#starts.length < MOST_CONTENTS && this.at + blocksOf(bytes) * BLOCK_BYTES <= this.memory.length
    );
  }

  /** Takes the content of `bytes` bytes that was put at `at`; there must be room for it. */
  add(bytes: number): void {
    const blocks = blocksOf(bytes);
    const end = this.at + blocks * BLOCK_BYTES;
    this.memory[this.at + bytes] = 0x80;
    this.memory.fill(0, this.at + bytes + 1, end);
    this.#numbers[(end - LENGTH_BYTES) >> 2] = bytes * 8;
    this.#starts.push(this.at);
    this.#blocks.push(blocks);
    this.at = end;
  }

  /** Digests, in hex, of all contents added since the last time. */
  digests(): string[] {
    const count = this.#starts.length;
    this.#hashAll();
    this.#starts.length = this.#blocks.length = 0;
    this.at = CONTENTS_AT;
    const hex = this.memory.toString('hex', FREE_FROM, FREE_FROM + count * DIGEST_BYTES);
    return Array.from({ length: count }, (_, i) =>
      hex.slice(i * 2 * DIGEST_BYTES, (i + 1) * 2 * DIGEST_BYTES),
    );
  }

  #hashAll(): void {
    const blocks = this.#blocks;
    // The longest first, so that all lanes end at about the same time.
    const order = Array.from(blocks.keys()).sort((a, b) => blocks[b]! - blocks[a]!);
    const contents = Array.from({ length: LANES }, () => IDLE);
    const left = Array.from({ length: LANES }, () => 0);
    const parameters = Array.from({ length: LANES + 1 }, () => CONTENTS_AT);
    let next = 0;
    for (let busy = 0; ;) {
      let stretch = Infinity;
      for (let lane = 0; lane < LANES; lane++) {
        if (left[lane] === 0 && next < order.length) {
          const content = (contents[lane] = order[next++]!);
          left[lane] = blocks[content]!;
          parameters[lane] = this.#starts[content]!;
          for (let n = 0; n < 4; n++) this.#numbers[stateAt(lane, n) >> 2] = FIRST_STATE[n]!;
          busy += 1;
        }
        if (contents[lane] !== IDLE) stretch = Math.min(stretch, left[lane]!);
      }
      if (busy === 0) return;
      parameters[LANES] = stretch;
      this.#run(...parameters);
      for (let lane = 0; lane < LANES; lane++) {
        const content = contents[lane]!;
        if (content === IDLE) continue;
        parameters[lane]! += stretch * BLOCK_BYTES;
        left[lane]! -= stretch;
        if (left[lane] !== 0) continue;
        for (let n = 0; n < 4; n++)
          this.#numbers[((FREE_FROM + content * DIGEST_BYTES) >> 2) + n] =
            this.#numbers[stateAt(lane, n) >> 2]!;
        contents[lane] = IDLE;
        parameters[lane] = CONTENTS_AT;
        busy -= 1;
      }
    }
  }
}

function blocksOf(bytes: number): number {
  return Math.ceil((bytes + END_BYTES) / BLOCK_BYTES);
}
