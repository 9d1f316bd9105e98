/** A file of lines `KEY VALUE`, replaced whole by whoever changes it, and looked at again by those who read
 * it when it has changed. */
import { readFileSync, statSync } from 'node:fs';
import { writeFileDurably } from './durable.js';
import { errnoOf, LccError, messageOf } from './errors.js';

interface LineForm {
  /** Mode of a new file; one that is there keeps its own where that is stricter. */
  mode: number;
  fits(key: string, value: string): boolean;
  /** The fault of a line that does not fit, and what writes such lines. */
  misfit: string;
}

export class KeyedLines {
  readonly path: string;
  readonly #form: LineForm;
  #seen = '';
  #read = new Map<string, string>();

  constructor(path: string, form: LineForm) {
    this.path = path;
    this.#form = form;
  }

  /**
   * As the file has them now, in its order; none where there is no file. Lines that begin with # are passed
   * over.
   * @throws LccError `io` when the file cannot be read, `config` with the line that does not fit
   */
  all(): ReadonlyMap<string, string> {
    const version = versionOf(this.path);
    if (version !== this.#seen) {
      this.#read = this.#parse();
      this.#seen = version;
    }
    return this.#read;
  }

  /** Durably. One at a time is the caller's to see to. @throws what the file system throws */
  replace(lines: ReadonlyMap<string, string>): void {
    const text = [...lines].map(([key, value]) => `${key} ${value}\n`).join('');
    writeFileDurably(this.path, text, this.#form.mode);
  }

  #parse(): Map<string, string> {
    let text: string;
    try {
      text = readFileSync(this.path, 'utf8');
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return new Map();
      throw new LccError('io', `${this.path}: ${messageOf(error)}`, { cause: error });
    }
    const lines = new Map<string, string>();
    for (const [i, line] of text.split('\n').entries()) {
      if (line.trim() === '' || line.startsWith('#')) continue;
      const [key = '', value = ''] = /^(\S*) (.*)$/.exec(line)?.slice(1) ?? [];
      if (!this.#form.fits(key, value))
        throw new LccError('config', `${this.path}:${i + 1}: ${this.#form.misfit}`);
      lines.set(key, value);
    }
    return lines;
  }
}

/** Another one after each change; 'none': there is no file. */
export function versionOf(path: string): string {
  try {
    const { ino, mtimeNs, size } = statSync(path, { bigint: true });
    return `${ino} ${mtimeNs} ${size}`;
  } catch {
    return 'none';
  }
}
