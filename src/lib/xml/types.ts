/** Events of an XML reader, and its bounds. */
import { LccError } from '../errors.js';

export type Attributes = Record<string, string>;

export interface XmlEvents {
  /** A start tag. `empty`: it was `<name …/>` and no `close` follows. `raw` is the tag as it came, so that
   * validated input can be passed on without writing it again. */
  open(name: string, attributes: Attributes, empty: boolean, raw: string): void;
  close(name: string): void;
  /** Character data inside elements, entities resolved; may come in pieces. White space is reported too. */
  text?(text: string): void;
  /** A processing instruction; where this is missing they are refused (the XML declaration excepted). */
  instruction?(target: string, body: string): void;
}

/** Sizes are counted in UTF-16 units of the decoded text: never more than the bytes. */
export interface XmlLimits {
  /** Longest tag, comment, instruction, or run of text. */
  maxTokenBytes: number;
  /** Longest run of text, where that is another. */
  maxTextBytes?: number;
  maxDepth: number;
  maxAttributes: number;
  maxNameBytes: number;
}

/** Malformed XML (`data.malformed`) or a limit exceeded (`limit`); where it happened, counted from 1. */
export class XmlError extends LccError {
  readonly line: number;
  readonly column: number;
  constructor(code: 'data.malformed' | 'limit', where: string, line: number, column: number, what: string) {
    super(code, `${where}:${line}:${column}: ${what}`);
    this.line = line;
    this.column = column;
  }
}
