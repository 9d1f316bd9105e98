/** What an XML reader reports and what bounds it. */
import { LccError } from '../errors.js';

export type Attributes = Record<string, string>;

export interface XmlEvents {
  /**
   * A start tag. `empty`: it was `<name …/>` and no `close` follows. `raw` is the tag as it came, so that validated
   * input can be passed on without writing it anew.
   */
  open(name: string, attributes: Attributes, empty: boolean, raw: string): void;
  close(name: string): void;
  /** Character data, entities resolved; may come in pieces. White space between elements is reported too. */
  text?(text: string): void;
  /** A processing instruction; where this is missing they are refused (the XML declaration excepted). */
  instruction?(target: string, body: string): void;
}

export interface XmlLimits {
  maxTokenBytes: number;
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
