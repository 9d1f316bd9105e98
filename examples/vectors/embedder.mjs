// A program that makes vectors: it reads texts, a JSON string a line, and writes arrays of numbers, a line each, in order.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const WORDS = [process.execPath, join(dirname(fileURLToPath(import.meta.url)), 'embed-words.mjs')];
/** Texts that it has and has not answered. */
const IN_FLIGHT = 64;
const ANSWER_MS = Number(process.env.EMBED_TIMEOUT_MS ?? 120_000);

export class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** What an embedder is called in the table: the same name, the same vectors. */
export const nameOf = command => command ?? 'embed-words.mjs';

export class Embedder {
  #waiting = [];
  #failure;

  /** @param command divided at blanks; undefined: hashed words, without a model */
  constructor(command) {
    const [program, ...args] = command?.trim().split(/\s+/) ?? WORDS;
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.on('error', error => this.#fail(`cannot be run: ${error.message}`));
    this.#child.on('exit', (status, signal) => this.#fail(`ended with ${signal ?? status}`));
    this.#child.stdin.on('error', () => {});
    process.on('exit', () => this.#child.kill('SIGKILL'));
    const lines = createInterface({ input: this.#child.stdout });
    lines.on('line', line => this.#answered(line));
    lines.on('close', () => this.#fail('ended before it had answered'));
  }
  #child;

  #answered(line) {
    const next = this.#waiting.shift();
    try {
      const vector = JSON.parse(line);
      if (!Array.isArray(vector) || vector.length === 0 || !vector.every(Number.isFinite)) throw new Error();
      if (next === undefined) return this.#fail('answered more than it was asked');
      next.resolve(Float32Array.from(vector));
    } catch {
      next?.reject(new Failure(76, `the embedder wrote what is no vector: ${line.slice(0, 80)}`));
    }
  }

  #fail(what) {
    this.#failure ??= new Failure(75, `the embedder ${what}`);
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
  }

  /** @returns a vector for each text */
  async vectorsOf(texts) {
    const vectors = [];
    for (let at = 0; at < texts.length; at += IN_FLIGHT) {
      if (this.#failure) throw this.#failure;
      const timer = setTimeout(() => this.#fail(`did not answer within ${ANSWER_MS} ms`), ANSWER_MS);
      const some = texts.slice(at, at + IN_FLIGHT).map(text => {
        this.#child.stdin.write(`${JSON.stringify(text)}\n`);
        return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
      });
      try {
        vectors.push(...(await Promise.all(some)));
      } finally {
        clearTimeout(timer);
      }
    }
    return vectors;
  }

  /** @returns when it has ended */
  close() {
    this.#failure ??= new Failure(75, 'the embedder was closed');
    const { exitCode, signalCode } = this.#child;
    const ended = exitCode === null && signalCode === null && new Promise(resolve => this.#child.once('exit', resolve));
    this.#child.kill();
    return ended;
  }
}
