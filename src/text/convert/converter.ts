/**
 * Documents that are no text, made into text by programs that others wrote: pdftotext, pandoc. A program has
 * the verified bytes on its standard input, and what it writes to its standard output is the text. Content is
 * by strangers: it runs bounded and apart (sandbox.ts), and whatever it does costs its own row at most.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.js';
import { errnoOf, LccError } from '../../lib/errors.js';
import { closeOutput, killGroup } from '../../lib/process-group.js';
import { parseRules, type ConvertRule } from './rules.js';
import { commandOf, ENVIRONMENT, whyNotApart, type ConvertLimits } from './sandbox.js';

interface ConvertOptions extends ConvertLimits {
  commands: readonly string[];
  sandbox: string;
  jobs: number;
  clock: Clock;
  /** Said once, where programs cannot run apart. */
  note(message: string): void;
}

export type Converted = { bytes: Buffer; mimetype: string } | { problem: string };

export class Converter {
  readonly #options: ConvertOptions;
  readonly #rules: readonly ConvertRule[];
  #isApart: boolean | undefined;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** @throws LccError `config` for a rule that is none, and where a sandbox is required and cannot be had */
  constructor(options: ConvertOptions) {
    this.#options = options;
    this.#rules = parseRules(options.commands);
    if (options.sandbox === 'required' && this.#rules.length > 0) this.#findSandbox();
  }

  /** True if text is made of documents of that type. */
  takes(mimetype: string): boolean {
    return this.#ruleFor(mimetype) !== undefined;
  }

  /**
   * @param pieces of the document, asked for once it is its turn; they may be overwritten once the next is
   * asked for
   * @returns what is wrong, where there is no text
   */
  async convert(mimetype: string, pieces: () => Iterable<Buffer>): Promise<Converted> {
    const rule = this.#ruleFor(mimetype);
    if (rule === undefined) return { problem: `convert: nothing makes text of ${mimetype}` };
    if (this.#running >= this.#options.jobs) await new Promise<void>(resolve => this.#waiting.push(resolve));
    else this.#running++;
    try {
      return await this.#run(rule, pieces);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  #ruleFor(mimetype: string): ConvertRule | undefined {
    return this.#rules.find(({ matches }) => matches(mimetype));
  }

  #findSandbox(): boolean {
    const { sandbox } = this.#options;
    if (this.#isApart !== undefined || sandbox === 'off') return this.#isApart ?? false;
    const why = whyNotApart(this.#options);
    if (why !== undefined && sandbox === 'required')
      throw new LccError('config', `convert.sandbox: ${why}; make it work, or set auto`);
    if (why !== undefined) this.#options.note(`documents are converted without a sandbox: ${why}`);
    this.#isApart = why === undefined;
    return this.#isApart;
  }

  async #run(rule: ConvertRule, pieces: () => Iterable<Buffer>): Promise<Converted> {
    const isApart = this.#findSandbox();
    const [program = '', ...args] = commandOf(rule, this.#options, isApart);
    const cwd = mkdtempSync(join(tmpdir(), 'lcc-convert-'));
    try {
      const env = isApart
        ? { PATH: process.env['PATH'] }
        : { ...ENVIRONMENT, HOME: cwd, PATH: process.env['PATH'] };
      // A group of its own, which ends with it.
      const child = spawn(program, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
      const end = await this.#watched(child, pieces);
      return 'problem' in end
        ? { problem: `convert: ${rule.program} ${end.problem}` }
        : { ...end, mimetype: rule.output };
    } finally {
      rmSync(cwd, { recursive: true, force: true });
    }
  }

  async #watched(
    child: ChildProcess,
    pieces: () => Iterable<Buffer>,
  ): Promise<{ bytes: Buffer } | { problem: string }> {
    const { clock, timeoutMs, maxOutputBytes } = this.#options;
    const output: Buffer[] = [];
    let length = 0;
    let problem: string | undefined;
    const stop = (why: string) => {
      problem ??= why;
      killGroup(child.pid);
    };
    const enough = clock.after(timeoutMs, () =>
      stop(`took more than ${timeoutMs / 1000} s (convert.timeout_ms)`),
    );
    child.stdout?.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxOutputBytes) stop(`wrote more than ${maxOutputBytes} bytes (cu.max_text_bytes)`);
      else output.push(chunk);
    });
    const ended = new Promise<string | undefined>(resolve => {
      child.on('error', error =>
        resolve(errnoOf(error) === 'ENOENT' ? 'cannot be run: prlimit is missing' : error.message),
      );
      child.on('exit', (status, signal) => {
        killGroup(child.pid);
        closeOutput(child.stdout, clock);
        const how = signal === null ? exited(status) : `was killed by ${signal}`;
        child.on('close', () => resolve(status === 0 ? undefined : how));
      });
    });
    try {
      await fed(child, pieces);
      const how = await ended;
      problem ??= how;
    } finally {
      enough();
      killGroup(child.pid);
    }
    return problem === undefined ? { bytes: Buffer.concat(output) } : { problem };
  }
}

/** Writes all of it, unless the program does not want it. */
async function fed({ stdin }: ChildProcess, pieces: () => Iterable<Buffer>): Promise<void> {
  if (stdin === null) return;
  const gone = new Promise<void>(resolve => stdin.on('close', resolve).on('error', () => resolve()));
  for (const piece of pieces()) {
    if (stdin.destroyed) break;
    await Promise.race([new Promise(resolve => stdin.write(piece, resolve)), gone]);
  }
  stdin.end();
}

/** As prlimit(1) says that there is no such program. */
const NOT_FOUND = 127;

function exited(status: number | null): string {
  return status === NOT_FOUND ? 'was not found' : `exited with ${status}`;
}
