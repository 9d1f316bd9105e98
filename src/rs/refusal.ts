/** What a request is refused with: for programs a code, for people what is wrong and what to do. */
export class RsRequestRefused extends Error {
  readonly status: 400 | 401 | 403 | 404 | 409 | 410 | 413 | 415 | 429 | 503;
  readonly code: string;
  readonly what: string;
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
    this.what = what;
    this.advice = advice;
    this.retryAfterS = retryAfterS;
  }
}
