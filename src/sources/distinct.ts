/**
 * Lines of which each has a key, and of those with one key the one of the highest rank, in the order in which
 * they came. They wait in a file; in memory are a hash of 96 bits a key, and a bit a line. Of more keys than
 * the table may hold a part is looked at at a time, and the file is read for each part: memory is bounded,
 * whatever comes.
 *
 * Two keys with one hash pass for one; with 96 bits, and a seed of each run's own, that will not happen by
 * chance.
 */
import { randomFillSync } from 'node:crypto';
import { closeSync, openSync, unlinkSync } from 'node:fs';
import { Output, readChunksAt } from '../lib/stdio.js';
import { readLinesAt } from '../lib/line-sequences.js';

export interface KeyOfLine {
  key: string;
  /** A whole number from 0 to 2³² − 1. */
  rank: number;
}

/** Most places of the table: 80 MB. */
const MOST_PLACES = 2 ** 22;
const FEWEST_PLACES = 2 ** 12;
/** Numbers of 32 bits in a place: three of the hash, the rank, and the number of the line, counted from 1. */
const STRIDE = 5;
/** Eighths that are taken: a fuller table is made larger. */
const FULLEST = 7;
const NEWLINE = 0x0a;

export class DistinctLines {
  readonly #path: string;
  readonly #fd: number;
  readonly #out: Output;
  readonly #keyOf: (line: string) => KeyOfLine;
  readonly #mostPlaces: number;
  readonly #seed = randomFillSync(new Int32Array(3));
  readonly #hash = new Int32Array(3);
  #table = new Int32Array(STRIDE * FEWEST_PLACES);
  #held = 0;
  #lines = 0;
  /** More keys came than the table may hold. */
  #isOver = false;
  /** A bit a line: another one of its key stands for it. */
  #dropped = new Uint8Array(1024);
  #drops = 0;

  /** @param path of the file, which has no name once it is open @param keyOf reads a line that was added */
  constructor(path: string, keyOf: (line: string) => KeyOfLine, mostPlaces = MOST_PLACES) {
    this.#path = path;
    this.#fd = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    this.#keyOf = keyOf;
    this.#mostPlaces = mostPlaces;
    this.#out = new Output(this.#fd, { encoding: 'latin1', where: path, blockLength: 256 * 1024 });
  }

  /** @param line of ASCII, with its newline */
  add(line: string, { key, rank }: KeyOfLine): void {
    this.#out.write(line);
    this.#lines += 1;
    if (!this.#isOver) this.#look(key, rank, this.#lines);
  }

  /** The lines that are left. To be called once, at the end. @returns how many */
  *chunks(): Generator<Buffer, number, undefined> {
    this.#out.flush();
    if (this.#isOver) this.#lookAtParts();
    this.#table = new Int32Array(0);
    const chunks = readChunksAt(this.#fd, 0, this.#path);
    if (this.#drops === 0) yield* chunks;
    else yield* this.#without(chunks);
    return this.#lines - this.#drops;
  }

  close(): void {
    closeSync(this.#fd);
  }

  *#without(chunks: Iterable<Buffer>): Generator<Buffer, void, undefined> {
    let number = 1;
    for (const chunk of chunks) {
      let from = 0;
      for (let at = 0; at < chunk.length;) {
        const newline = chunk.indexOf(NEWLINE, at);
        const end = newline < 0 ? chunk.length : newline + 1;
        if (this.#isDropped(number)) {
          if (from < at) yield chunk.subarray(from, at);
          from = end;
        }
        if (newline >= 0) number += 1;
        at = end;
      }
      if (from < chunk.length) yield chunk.subarray(from);
    }
  }

  /** Looks at all lines again: those of a part of the keys at a time. */
  #lookAtParts(): void {
    const most = (this.#mostPlaces * FULLEST) / 8;
    const parts = Math.ceil(this.#lines / most) + 1;
    this.#dropped.fill(0);
    this.#drops = 0;
    for (let part = 0; part < parts; part++) {
      this.#table.fill(0);
      this.#held = 0;
      let number = 0;
      for (const line of readLinesAt(this.#fd, 0, this.#path)) {
        number += 1;
        const { key, rank } = this.#keyOf(line);
        this.#hashOf(key);
        if ((this.#hash[2]! >>> 0) % parts === part) this.#place(rank, number);
      }
    }
  }

  #look(key: string, rank: number, number: number): void {
    this.#hashOf(key);
    this.#place(rank, number);
  }

  /** The place of the key hashed last. */
  #place(rank: number, number: number): void {
    const [a, b, c] = this.#hash as unknown as [number, number, number];
    const table = this.#table;
    const places = table.length / STRIDE;
    for (let place = a & (places - 1); ; place = (place + 1) & (places - 1)) {
      const at = place * STRIDE;
      const held = table[at + 4]!;
      if (held === 0) {
        table[at] = a;
        table[at + 1] = b;
        table[at + 2] = c;
        table[at + 3] = rank;
        table[at + 4] = number;
        this.#held += 1;
        if (this.#held * 8 > places * FULLEST) this.#grow();
        return;
      }
      if (table[at] !== a || table[at + 1] !== b || table[at + 2] !== c) continue;
      if (rank > table[at + 3]! >>> 0) {
        this.#drop(held);
        table[at + 3] = rank;
        table[at + 4] = number;
      } else this.#drop(number);
      return;
    }
  }

  #grow(): void {
    const before = this.#table;
    if (before.length / STRIDE >= this.#mostPlaces) {
      this.#isOver = true;
      return;
    }
    const table = (this.#table = new Int32Array(2 * before.length));
    const mask = table.length / STRIDE - 1;
    for (let at = 0; at < before.length; at += STRIDE) {
      if (before[at + 4] === 0) continue;
      let place = before[at]! & mask;
      while (table[place * STRIDE + 4] !== 0) place = (place + 1) & mask;
      const to = place * STRIDE;
      for (let i = 0; i < STRIDE; i++) table[to + i] = before[at + i]!;
    }
  }

  #drop(number: number): void {
    const byte = number >> 3;
    if (byte >= this.#dropped.length) {
      const larger = new Uint8Array(Math.max(2 * this.#dropped.length, byte + 1));
      larger.set(this.#dropped);
      this.#dropped = larger;
    }
    this.#dropped[byte]! |= 1 << (number & 7);
    this.#drops += 1;
  }

  #isDropped(number: number): boolean {
    return (((this.#dropped[number >> 3] ?? 0) >> (number & 7)) & 1) === 1;
  }

  #hashOf(key: string): void {
    let a = this.#seed[0]!;
    let b = this.#seed[1]!;
    let c = this.#seed[2]!;
    for (let i = 0; i < key.length; i++) {
      const code = key.charCodeAt(i);
      a = Math.imul(a ^ code, 0x9e3779b1);
      a ^= a >>> 15;
      b = Math.imul((b + code) | 0, 0x85ebca6b);
      b = (b << 13) | (b >>> 19);
      c = Math.imul(c ^ code, 0xc2b2ae35) + b;
      c ^= c >>> 16;
    }
    a = Math.imul(a ^ (a >>> 16), 0x85ebca6b);
    this.#hash[0] = a ^ (a >>> 13);
    this.#hash[1] = b;
    this.#hash[2] = c;
  }
}
