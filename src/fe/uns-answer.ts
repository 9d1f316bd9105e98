/**
 * The answer of a UNS, passed on so that a front end can say the last word in good order at any time, though
 * the UNS is lost: a part that is one word to a CP is passed on as a whole.
 *
 *     silent ──init_accepted──▶ admitted ──set_result, errors──▶ result ──/errors, set_accepted──▶ over
 *        ╰──init_rejected──▶ over   ╰──set_result, set_rejected──▶ over
 */
import { initRejected, setRejected } from '../wire/cp-uns/server.js';

type Stage = 'silent' | 'admitted' | 'result' | 'over';
/** Ends of lines that end a word, each with the stage after it. */
type Ends = readonly (readonly [end: string, then: Stage])[];

const RESULT_END = '</lococa:set_result>';
/** By stage: how the first line of a word begins, and how its last one may end. */
const WORDS: Readonly<Record<Stage, readonly { begins: string; ends: Ends }[]>> = {
  silent: [
    { begins: '<lococa:init_accepted>', ends: [['</lococa:init_accepted>', 'admitted']] },
    { begins: '<lococa:init_rejected>', ends: [['</lococa:init_rejected>', 'over']] },
  ],
  admitted: [
    {
      begins: '<lococa:set_result>',
      ends: [
        ['<errors>', 'result'],
        [RESULT_END, 'over'],
      ],
    },
  ],
  result: [
    { begins: '</errors>', ends: [[RESULT_END, 'over']] },
    { begins: '<', ends: [['>', 'result']] },
  ],
  over: [],
};
/** Longer than what a line is known by. */
const LOOK_BYTES = 64;
/** Bytes of one word that are held; of a longer one no part is kept back, and nothing can be said in it. */
const MAX_HELD_BYTES = 1 << 20;
const NEWLINE = 0x0a;

export class UnsAnswer {
  #stage: Stage = 'silent';
  #held: Buffer = Buffer.alloc(0);
  /** Lines of the held bytes that have been looked at end here. */
  #looked = 0;
  #ends: Ends | undefined;
  #isTooLong = false;

  /** True once the CP has been let in. */
  get isAdmitted(): boolean {
    return this.#stage !== 'silent' && this.#stage !== 'over';
  }

  /** True if all of it has been passed on. */
  get isOver(): boolean {
    return this.#stage === 'over';
  }

  /** The bytes that may be passed on with these. */
  pass(chunk: Buffer): Buffer {
    if (this.#isTooLong || this.isOver) return chunk;
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let whole = 0;
    for (let end; (end = bytes.indexOf(NEWLINE, this.#looked)) >= 0; this.#looked = end + 1)
      if (this.#endsWord(bytes.subarray(this.#looked, end))) whole = end + 1;
    this.#isTooLong = bytes.length - whole > MAX_HELD_BYTES;
    if (this.#isTooLong || this.isOver) whole = bytes.length;
    this.#held = bytes.subarray(whole);
    this.#looked -= whole;
    return bytes.subarray(0, whole);
  }

  /** The last word in place of the UNS; undefined: none can be said here. */
  lastWord(code: number, text: string): string | undefined {
    if (this.#isTooLong || this.isOver) return undefined;
    return this.#stage === 'silent'
      ? initRejected(code, text)
      : setRejected(code, text, this.#stage === 'result');
  }

  /** True if a word has begun and not ended. */
  get isInWord(): boolean {
    return this.#held.length > 0 || this.#isTooLong;
  }

  /** True if nothing is begun after this line. */
  #endsWord(line: Buffer): boolean {
    const begin = line.toString('latin1', 0, LOOK_BYTES);
    this.#ends ??= WORDS[this.#stage].find(({ begins }) => begin.startsWith(begins))?.ends;
    const end = line.toString('latin1', Math.max(0, line.length - LOOK_BYTES));
    const [, then] = this.#ends?.find(([ending]) => end.endsWith(ending)) ?? [];
    if (then !== undefined) [this.#stage, this.#ends] = [then, undefined];
    return this.#ends === undefined;
  }
}
