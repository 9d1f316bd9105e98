/**
 * The inner loop of md5 over several messages at once, as a WebAssembly module that is put together here byte
 * by byte. Each step of md5 needs what the step before made, so a processor that hashes one message mostly
 * waits: steps of other messages fill that time (docs/design/md5.md).
 */

/** Messages in one vector of 32-bit numbers. */
const WIDTH = 4;
/** Vectors worked on in turn: two steps of one do not depend on each other's. */
const VECTORS = 2;
/** Messages hashed at once. */
export const LANES = WIDTH * VECTORS;

/** Where the state of a lane lies in memory: its number `n` (0 to 3) of four, 32 bits each. */
export function stateAt(lane: number, n: number): number {
  const vector = Math.floor(lane / WIDTH);
  return vector * STATE_BYTES + n * VECTOR_BYTES + (lane % WIDTH) * 4;
}

/** Memory from here on is the caller's. */
export const FREE_FROM = 2048;
export const BLOCK_BYTES = 64;
/** The state of a lane before its first block. */
export const FIRST_STATE = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476] as const;

export interface Kernel {
  /** Memory that the kernel reads and keeps its states in, of the size asked for. */
  memory: ArrayBuffer;
  /** Hashes N blocks (at least 1) of every lane, each from its own address on; the states go on from what
   * they are. */
  run: (...addressesThenBlocks: number[]) => void;
}

/** The parts of WebAssembly in use: the types of Node leave it out, those of browsers bring in all else of
 * theirs. */
declare const WebAssembly: {
  Memory: new (pages: { initial: number; maximum: number }) => { buffer: ArrayBuffer };
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: Record<string, unknown> };
};

const VECTOR_BYTES = 16;
const STATE_BYTES = 4 * VECTOR_BYTES;
const CONSTANTS_AT = 512;
const STEPS = 64;
const ROTATIONS = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
] as const;
const WORD_OF: readonly ((step: number) => number)[] = [
  step => step,
  step => (5 * step + 1) % 16,
  step => (3 * step + 5) % 16,
  step => (7 * step) % 16,
];

/**
 * @param pages of memory, 64 KiB each
 * @throws Error where WebAssembly, its vectors or the memory are not to be had
 */
export function startKernel(pages: number): Kernel {
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
  const constants = new Int32Array(memory.buffer, CONSTANTS_AT, STEPS * WIDTH);
  for (let i = 0; i < STEPS; i++)
    constants.fill(Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32), i * WIDTH, (i + 1) * WIDTH);
  const module = new WebAssembly.Module(moduleBytes());
  const { exports } = new WebAssembly.Instance(module, { lanes: { memory } });
  return { memory: memory.buffer, run: exports['run'] as Kernel['run'] };
}

// Instructions on vectors, named as in the text format of the specification.
const V128_LOAD = 0x00;
const V128_STORE = 0x0b;
const I8X16_SHUFFLE = 0x0d;
const V128_NOT = 0x4d;
const V128_AND = 0x4e;
const V128_OR = 0x50;
const V128_XOR = 0x51;
const I32X4_SHL = 0xab;
const I32X4_SHR_U = 0xad;
const I32X4_ADD = 0xae;
const I32 = 0x7f;
const V128 = 0x7b;

/** The words taken of two vectors, 0 to 3 and 4 to 7. */
const LOW_PAIRS = [0, 4, 1, 5] as const;
const HIGH_PAIRS = [2, 6, 3, 7] as const;
const LOW_HALVES = [0, 1, 4, 5] as const;
const HIGH_HALVES = [2, 3, 6, 7] as const;

/** More than the module has. */
const MOST_BYTES = 16 * 1024;

/** A module being written. It must be quick, not small: this runs at every start, before V8 has compiled any
 * of it. */
class ModuleWriter {
  readonly #bytes = new Uint8Array(MOST_BYTES);
  #end = 0;

  written(): Uint8Array {
    return this.#bytes.subarray(0, this.#end);
  }

  byte(byte: number): this {
    this.#bytes[this.#end++] = byte;
    return this;
  }

  put(...bytes: number[]): this {
    for (const byte of bytes) this.byte(byte);
    return this;
  }

  name(text: string): this {
    return this.put(text.length, ...Buffer.from(text));
  }

  /** The bytes that `write` writes, with their size in front. */
  sized(write: () => void): this {
    const at = this.#end;
    this.#end += 2;
    write();
    const size = this.#end - at - 2;
    this.#bytes[at] = (size & 0x7f) | 0x80;
    this.#bytes[at + 1] = size >> 7;
    return this;
  }

  get(local: number): this {
    return this.byte(0x20).byte(local);
  }

  set(local: number): this {
    return this.byte(0x21).byte(local);
  }

  tee(local: number): this {
    return this.byte(0x22).byte(local);
  }

  /** A number up to 63. */
  i32(value: number): this {
    return this.byte(0x41).byte(value);
  }

  vector(instruction: number): this {
    this.byte(0xfd).byte(instruction);
    return instruction < 0x80 ? this : this.byte(1);
  }

  /** Reads or writes what lies `offset` bytes (up to 16383) after an address. */
  memory(instruction: number, offset: number): this {
    const alignment = 2;
    return this.vector(instruction)
      .byte(alignment)
      .byte((offset & 0x7f) | 0x80)
      .byte(offset >> 7);
  }

  shuffle(words: readonly number[]): this {
    this.vector(I8X16_SHUFFLE);
    for (const word of words) for (let byte = 0; byte < 4; byte++) this.byte(4 * word + byte);
    return this;
  }
}

/** Local variables of one vector of lanes. */
interface Locals {
  state: number[];
  before: number[];
  words: number[];
  rows: number[];
  /** Parameters: where the blocks of its lanes lie. */
  addresses: number[];
}

function moduleBytes(): Uint8Array {
  const to = new ModuleWriter();
  to.put(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
  to.byte(1).sized(() => {
    to.put(1, 0x60, LANES + 1);
    for (let i = 0; i <= LANES; i++) to.byte(I32);
    to.byte(0);
  });
  to.byte(2).sized(() => to.byte(1).name('lanes').name('memory').put(2, 0, 1));
  to.byte(3).sized(() => to.put(1, 0));
  to.byte(7).sized(() => to.byte(1).name('run').put(0, 0));
  to.byte(10).sized(() => to.byte(1).sized(() => writeKernel(to)));
  return to.written();
}

function writeKernel(to: ModuleWriter): void {
  const blocks = LANES;
  let locals = LANES + 1;
  const fresh = (length: number) => Array.from({ length }, () => locals++);
  const vectors = Array.from({ length: VECTORS }, (_, vector): Locals => ({
    state: fresh(4),
    before: fresh(4),
    words: fresh(16),
    rows: fresh(4),
    addresses: Array.from({ length: WIDTH }, (_lane, lane) => vector * WIDTH + lane),
  }));
  to.put(1, locals - LANES - 1, V128);

  for (const [vector, { state }] of vectors.entries())
    for (let n = 0; n < 4; n++)
      to.i32(0)
        .memory(V128_LOAD, stateAt(vector * WIDTH, n))
        .set(state[n]!);
  to.put(0x03, 0x40); // loop
  for (const vector of vectors) writeWords(to, vector);
  for (let step = 0; step < STEPS; step++) for (const vector of vectors) writeStep(to, vector, step);
  for (const { state, before } of vectors)
    for (let n = 0; n < 4; n++) to.get(state[n]!).get(before[n]!).vector(I32X4_ADD).set(state[n]!);
  for (let lane = 0; lane < LANES; lane++)
    to.get(lane)
      .put(0x41, BLOCK_BYTES | 0x80, 0, 0x6a)
      .set(lane); // i32.add
  to.get(blocks).i32(1).byte(0x6b).tee(blocks).put(0x0d, 0, 0x0b); // i32.sub, br_if, end
  for (const [vector, { state }] of vectors.entries())
    for (let n = 0; n < 4; n++)
      to.i32(0)
        .get(state[n]!)
        .memory(V128_STORE, stateAt(vector * WIDTH, n));
  to.byte(0x0b); // end
}

/** Loads the lanes' blocks and turns them: word i of all lanes comes together in `words[i]`. */
function writeWords(to: ModuleWriter, { state, before, words, rows, addresses }: Locals): void {
  for (let n = 0; n < 4; n++) to.get(state[n]!).set(before[n]!);
  const [row0, row1, row2, row3] = rows as [number, number, number, number];
  const pick = (from: number, and: number, taken: readonly number[], into: number) =>
    to.get(from).get(and).shuffle(taken).set(into);
  for (let quarter = 0; quarter < 4; quarter++) {
    const [w0, w1, w2, w3] = words.slice(4 * quarter) as [number, number, number, number];
    for (let lane = 0; lane < WIDTH; lane++)
      to.get(addresses[lane]!)
        .memory(V128_LOAD, quarter * VECTOR_BYTES)
        .set(rows[lane]!);
    pick(row0, row1, LOW_PAIRS, w2);
    pick(row2, row3, LOW_PAIRS, w3);
    pick(w2, w3, LOW_HALVES, w0);
    pick(w2, w3, HIGH_HALVES, w1);
    pick(row0, row1, HIGH_PAIRS, row0);
    pick(row2, row3, HIGH_PAIRS, row2);
    pick(row0, row2, LOW_HALVES, w2);
    pick(row0, row2, HIGH_HALVES, w3);
  }
}

/** RFC 1321, section 3.4: a = b + ((a + f(b, c, d) + word + constant) <<< rotation). */
function writeStep(to: ModuleWriter, { state, words }: Locals, step: number): void {
  const round = step >> 4;
  const a = state[(STEPS - step) % 4]!;
  const b = state[(STEPS - step + 1) % 4]!;
  const c = state[(STEPS - step + 2) % 4]!;
  const d = state[(STEPS - step + 3) % 4]!;
  const rotation = ROTATIONS[round]![step % 4]!;
  to.get(a).get(words[WORD_OF[round]!(step)]!);
  to.i32(0).memory(V128_LOAD, CONSTANTS_AT + step * VECTOR_BYTES);
  to.vector(I32X4_ADD).vector(I32X4_ADD);
  if (round === 0) to.get(d).get(b).get(c).get(d).vector(V128_XOR).vector(V128_AND).vector(V128_XOR);
  else if (round === 1) to.get(c).get(d).get(b).get(c).vector(V128_XOR).vector(V128_AND).vector(V128_XOR);
  else if (round === 2) to.get(c).get(d).vector(V128_XOR).get(b).vector(V128_XOR);
  else to.get(d).vector(V128_NOT).get(b).vector(V128_OR).get(c).vector(V128_XOR);
  to.vector(I32X4_ADD).tee(a).i32(rotation).vector(I32X4_SHL);
  to.get(a)
    .i32(32 - rotation)
    .vector(I32X4_SHR_U)
    .vector(V128_OR);
  to.get(b).vector(I32X4_ADD).set(a);
}
