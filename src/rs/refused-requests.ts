/**
 * Requests that were refused, in the audit: of a network and a kind one row an hour, and 1000 rows in all.
 * The others are counted, and told at the end of the hour: who asks in a loop fills no database.
 */
import type { IncomingMessage } from 'node:http';
import type { Context } from 'hono';
import type { AuditEvent } from '../db/rs/audit.js';
import type { RsDatabase } from '../db/rs/database.js';
import { isPassing } from '../lib/errors.js';
import { oneLine } from '../lib/one-line.js';
import type { Network } from '../lib/network.js';
import { clientAddress } from '../web/client.js';
import { networkOf } from './limits.js';
import type { RsRequestRefused } from './refusal.js';

const HOUR_MS = 3_600_000;
const MAX_ACCOUNT = 64;
/** Others are mistakes, which the answer itself mends. */
const NOTED_STATUS: readonly number[] = [401, 403, 429];
const NOTED_CODES: readonly string[] = ['no-room', 'used-up'];
const CAPABILITY = /\/(pairs?|confirm|reset|password|websub)\/[^/]+/g;

/** A path as it may stand in a log or in the audit: what opens a page is left out. */
export function withoutCapability(path: string): string {
  return path.replace(CAPABILITY, '/$1/ID');
}

const REFUSED = new WeakMap<IncomingMessage, { error: RsRequestRefused; account: string }>();

/**
 * An answer that refuses its request: it says when to come again, and `RefusedRequests` hears of it.
 * @param account that was logged in to
 */
export function refusing(
  c: Pick<Context<{ Bindings: { incoming: IncomingMessage } }>, 'header' | 'env'>,
  error: RsRequestRefused,
  account = '',
): void {
  if (error.retryAfterS !== undefined) c.header('retry-after', String(error.retryAfterS));
  REFUSED.set(c.env.incoming, { error, account });
}

export interface RefusedRequestsOptions {
  db: Pick<RsDatabase, 'audit' | 'write'>;
  nowMs: () => number;
  /** As clientAddress has them. */
  proxies: readonly Network[] | undefined;
  by: AuditEvent['by'];
  limit: { most: number; text: string };
}

export class RefusedRequests {
  readonly #options: RefusedRequestsOptions;
  /** Networks with kinds that have a row in this hour. */
  readonly #noted = new Set<string>();
  #more = 0;
  #hour = 0;

  constructor(options: RefusedRequestsOptions) {
    this.#options = options;
  }

  /** A request is answered. */
  readonly answered = (request: IncomingMessage): void => {
    const refused = REFUSED.get(request);
    if (refused === undefined) return;
    const { error, account } = refused;
    const { status, code, named } = error;
    if (!NOTED_STATUS.includes(status) && !NOTED_CODES.includes(code)) return;
    const { proxies, limit } = this.#options;
    const network = networkOf(clientAddress(request, proxies));
    this.tidy();
    const kind = `${network} ${status} ${code}`;
    if (this.#noted.has(kind) || this.#noted.size >= limit.most) {
      this.#more++;
      return;
    }
    this.#noted.add(kind);
    const path = withoutCapability((request.url ?? '').replace(/\?.*/, '')).slice(0, 100);
    this.#note(
      status === 401 ? 'login refused' : 'request refused',
      `${status} ${code} from ${network}: ${request.method ?? ''} ${path}: ${named}${account === '' ? '' : ` (${oneLine(account, MAX_ACCOUNT)})`}`,
    );
  };

  /** At the end of an hour: what had no row of its own. */
  tidy(): void {
    const hour = Math.floor(this.#options.nowMs() / HOUR_MS);
    if (hour === this.#hour) return;
    const more = this.#more;
    this.#hour = hour;
    this.#more = 0;
    this.#noted.clear();
    if (more > 0) this.#note('requests refused', `${more} more in an hour: ${this.#options.limit.text}`);
  }

  #note(event: string, detail: string): void {
    const { db, by, nowMs } = this.#options;
    try {
      db.write(() => db.audit.add({ event, registration: null, pid: null, by, detail }, nowMs()));
    } catch (error) {
      // Without room for the row the request is refused all the same.
      if (!isPassing(error)) throw error;
    }
  }
}
