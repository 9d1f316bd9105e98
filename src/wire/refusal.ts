/** The end of a conversation that a server decided on: thrown inside a session, told to the client with its
 * code. */
import { codeText, type LccCode } from './codes.js';

export class Refusal extends Error {
  readonly code: LccCode;
  /** @param text for the person at the other end; the code's own text when left out */
  constructor(code: LccCode, text: string = codeText(code)) {
    super(text);
    this.name = 'Refusal';
    this.code = code;
  }
}
