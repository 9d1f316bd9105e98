import { formatDuration } from '../config/words.js';

/** Settings that a text names, as limitText has them. */
const SETTINGS = / \((?:rs|web|qm|uns|bot)\.[a-z_]+\)/g;

/** As somebody reads it who has no lcc.toml: without the settings. */
export function plainWords(text: string): string {
  return text.replace(SETTINGS, '');
}

/** Refusal of a request: for programs a code, for people the fault and the advice. The setting of a limit is
 * for the operator alone: `message` and `named` have it, `what` and `advice` have not. */
export class RsRequestRefused extends Error {
  readonly status: 400 | 401 | 403 | 404 | 405 | 409 | 410 | 413 | 415 | 422 | 429 | 503;
  readonly code: string;
  readonly what: string;
  /** As `what`, with the setting. */
  readonly named: string;
  readonly advice: string;
  /** When to come again, if ever. */
  readonly retryAfterS: number | undefined;

  constructor(
    status: RsRequestRefused['status'],
    code: string,
    what: string,
    advice: string,
    retryAfterS?: number,
  ) {
    super(`${what}; ${advice}`);
    this.name = 'RsRequestRefused';
    this.status = status;
    this.code = code;
    this.what = plainWords(what);
    this.named = what;
    this.advice = plainWords(advice);
    this.retryAfterS = retryAfterS;
  }
}

const BUSY_S = 10;

/** The Queue Manager or the UNS is away, or too slow to be waited for. */
export function busy(): RsRequestRefused {
  return new RsRequestRefused(503, 'away', 'the LCC is busy', `try again in ${BUSY_S} s`, BUSY_S);
}

/** Something is asked for too often: it says when it may be again. */
export function tooOften(
  code: 'too-many' | 'too-often',
  what: string,
  waitMs: number,
  or = '',
): RsRequestRefused {
  const waitS = Math.max(1, Math.ceil(waitMs / 1000));
  return new RsRequestRefused(429, code, what, `try again in ${inWords(waitS)}${or}`, waitS);
}

/** Never less than it is. */
function inWords(seconds: number): string {
  const unit = seconds >= 172_800 ? 86_400 : seconds >= 7200 ? 3600 : seconds >= 120 ? 60 : 1;
  return formatDuration(Math.ceil(seconds / unit) * unit);
}
