/** A request of IndexNow that is refused. */
export class IndexNowRefused extends Error {
  readonly status: 400 | 403 | 405 | 413 | 422 | 429 | 503;
  readonly code: string;
  /** Urls that were sent, as far as they were counted. */
  sent = 0;
  /** When to come again, if ever. */
  readonly retryAfterS: number | undefined;

  /** @param message the fault and the help, without the key */
  constructor(status: IndexNowRefused['status'], code: string, message: string, retryAfterMs?: number) {
    super(message);
    this.name = 'IndexNowRefused';
    this.status = status;
    this.code = code;
    this.retryAfterS = retryAfterMs === undefined ? undefined : Math.max(1, Math.ceil(retryAfterMs / 1000));
  }
}

/** @param what is done too often */
export function tooMuch(what: string, waitMs: number): IndexNowRefused {
  return new IndexNowRefused(429, 'TooManyRequests', `too many ${what}; come again later`, waitMs);
}
