/** Hits of an indexer that knows paths of the store, as browse URLs; what is no longer current is dropped. */
import { LccError } from '../lib/errors.js';

/** More than a path and what an indexer says of it; longer input is no list of hits. */
const MAX_LINE_BYTES = 64 * 1024;

const FILE_ID = '[0-9a-f]+/[0-9a-f]+/[0-9a-f.]+';

interface ResolverOptions {
  /** Absolute path of the store. */
  storeDir: string;
  /** Paths and URLs end with NUL instead of newline (-0). */
  endedByNul: boolean;
  /** Keep what stands around the path. */
  wholeLines: boolean;
  burlOf: (fileid: string) => string | undefined;
  write: (text: string) => void;
  /** A line without a path in it. */
  reject: (message: string) => void;
}

export class Resolver {
  readonly #options: ResolverOptions;
  readonly #path: RegExp;
  readonly #separator: '\n' | '\0';
  #rest = '';
  #line = 0;
  rejected = 0;

  constructor(options: ResolverOptions) {
    this.#options = options;
    this.#separator = options.endedByNul ? '\0' : '\n';
    const store = options.storeDir.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    // A path below the store, or the whole line as one relative to it.
    this.#path = new RegExp(`${store}/+(${FILE_ID})|^(${FILE_ID})$`);
  }

  /** @throws LccError `data.malformed` for a line that is too long */
  push(chunk: Buffer): void {
    const lines = (this.#rest + chunk.toString('latin1')).split(this.#separator);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#resolve(line);
    if (this.#rest.length > MAX_LINE_BYTES)
      throw new LccError(
        'data.malformed',
        `standard input:${this.#line + 1}:1: longer than ${MAX_LINE_BYTES} bytes; give one path a line, or -0`,
      );
  }

  /** A last line need not be ended. */
  end(): void {
    if (this.#rest !== '') this.#resolve(this.#rest);
    this.#rest = '';
  }

  #resolve(line: string): void {
    this.#line++;
    // Lines of search++ and swish-e besides their hits, swish-e's last line among them.
    if (line === '' || line === '.' || line.startsWith('#')) return;
    const found = this.#path.exec(line);
    const fileid = found?.[1] ?? found?.[2];
    if (found === null || fileid === undefined) {
      this.rejected++;
      this.#options.reject(
        `standard input:${this.#line}:1: no path below ${this.#options.storeDir} in "${printable(line)}"; index with lccq --format=paths`,
      );
      return;
    }
    const burl = this.#options.burlOf(fileid);
    if (burl === undefined) return;
    const separator = this.#separator;
    const { wholeLines, write } = this.#options;
    const url = separator === '\n' ? burl.replaceAll('\n', '%0A').replaceAll('\r', '%0D') : burl;
    if (!wholeLines) return write(url + separator);
    const bytes = (text: string) => Buffer.from(text, 'latin1').toString();
    const after = line.slice(found.index + found[0].length);
    write(bytes(line.slice(0, found.index)) + url + bytes(after) + separator);
  }
}

function printable(line: string): string {
  return line.slice(0, 80).replace(/[^ -~]/g, '?');
}
