/**
 * Requests to one rail, over an engine of its own: connections, certificates and deadlines of rails have
 * nothing to do with each other. What is asked is the driver's; what an answer means is the table's
 * (outcomes.ts).
 */
import type { RailSetup } from '../../db/clear/rails.js';
import type { FetchEngine } from '../../fetch/engine.js';
import { familyOf } from '../../fetch/failure.js';
import type { FetchOutcome } from '../../fetch/outcome.js';
import { CallbackSink } from '../../fetch/sink.js';
import type { Clock } from '../../lib/clock.js';
import { LccError, messageOf } from '../../lib/errors.js';
import { driverOf } from '../drivers/index.js';
import type { RailRequest, Driver, PageToClear, Way } from '../drivers/types.js';
import type { SenderLimits } from '../options.js';
import { outcomeOf, type RailOutcome } from '../outcomes.js';
import { isFolder } from '../page-url.js';
import { railEngine, railJob, requireSafeUrl, secretFor } from './rail-requests.js';
import type { Secret, Secrets } from './secrets.js';
import type { PageTask } from './unit.js';

export interface RailAnswer {
  outcome: RailOutcome;
  /** True if it came from the rail: any status. */
  isAnswered: boolean;
  tookMs: number;
}

/** The rail was to be told of a page, and is now one that pages are put on. */
const WITHOUT_CONTENT: RailAnswer = {
  outcome: { kind: 'config', error: 'its driver has changed: the page is generated for it' },
  isAnswered: false,
  tookMs: 0,
};

/** The rail was a cache when the page was left for it. */
const FOLDER: RailAnswer = {
  outcome: { kind: 'dead', error: 'a folder: a server with files would remove all of it' },
  isAnswered: false,
  tookMs: 0,
};

export interface Sender {
  /** How pages may be sent together; undefined: one by one. */
  batchOf(task: PageTask): Way | undefined;
  /** Requests a second, where the rail limits them. */
  readonly rate: Driver['rate'];
  /** Sends what is to be done with the pages, in one request; `heard` is called once, maybe before this
   * returns. */
  send(tasks: readonly PageTask[], heard: (answer: RailAnswer) => void): void;
  /** Gives up what is under way, which is heard of, and closes connections. */
  close(): void;
}

/** Content of answers, which nobody reads; a page that a cache gets again is dropped, however long it is. */
const MAX_CONTENT_BYTES = 4 * 1024 * 1024;

/** A rail that cannot be asked as it is set up answers everything with what is wrong. */
export function senderFor(rail: RailSetup, secrets: Secrets, limits: SenderLimits, clock: Clock): Sender {
  try {
    return new HttpSender(rail, secretFor(rail, secrets), limits, clock);
  } catch (error) {
    if (!(error instanceof LccError)) throw error;
    return brokenSender(messageOf(error));
  }
}

function brokenSender(error: string): Sender {
  const answer: RailAnswer = { outcome: { kind: 'config', error }, isAnswered: false, tookMs: 0 };
  return { rate: undefined, batchOf: () => undefined, send: (_tasks, heard) => heard(answer), close() {} };
}

class HttpSender implements Sender {
  readonly #rail: RailSetup;
  readonly #driver: Driver;
  readonly #secret: Secret | undefined;
  readonly #engine: FetchEngine;

  /** @throws LccError `usage` for what its driver does not take */
  constructor(rail: RailSetup, secret: Secret | undefined, limits: SenderLimits, clock: Clock) {
    requireSafeUrl(rail, limits.allowPlain);
    this.#rail = rail;
    this.#driver = driverOf(rail);
    this.#secret = secret;
    this.#engine = railEngine(rail, secret, limits, clock);
  }

  get rate(): Driver['rate'] {
    return this.#driver.rate;
  }

  batchOf(task: PageTask): Way | undefined {
    const way = this.#wayOf(task);
    return way?.most === undefined ? undefined : way;
  }

  send(tasks: readonly PageTask[], heard: (answer: RailAnswer) => void): void {
    const [task] = tasks;
    if (task === undefined) throw new LccError('bug', `rail ${this.#rail.name}: nothing to send`);
    if (this.#driver.renew === 'put' && isFolder(task.url)) return heard(FOLDER);
    const way = this.#wayOf(task);
    if (way !== undefined) this.#ask(way.ask(tasks), heard);
    else if (task.body?.sha === '') heard(WITHOUT_CONTENT);
    else this.#put(task, heard);
  }

  close(): void {
    this.#engine.close();
  }

  /** Undefined: the page is put there. */
  #wayOf({ op, body }: PageTask): Way | undefined {
    const { clear, renew } = this.#driver;
    if (op === 'D') return clear;
    if (renew !== 'put') return renew ?? clear;
    if (body === undefined) throw new LccError('bug', `rail ${this.#rail.name}: a page without its content`);
    return undefined;
  }

  /** Puts a page; where its folder is missing that is made, with those above, and the page put once more. */
  #put(task: PageTask, heard: (answer: RailAnswer) => void): void {
    const ask: RailRequest = {
      method: 'PUT',
      path: task.url,
      headers: [],
      verb: 'put',
      ...(task.body !== undefined && { body: task.body.bytes }),
    };
    this.#ask(ask, first => {
      if (first.outcome.kind !== 'no-folder') return heard(first);
      const { error } = first.outcome;
      // A server that makes folders itself misses none.
      if (!this.#driver.makesFolders) return heard({ ...first, outcome: noFile(error) });
      this.#makeFolders(foldersOf(task.url), made => {
        if (made.outcome.kind !== 'done') return heard(made);
        this.#ask(ask, second =>
          heard(
            // The folders of the page are there.
            second.outcome.kind === 'no-folder' ? { ...second, outcome: noFile(error) } : second,
          ),
        );
      });
    });
  }

  #makeFolders(folders: readonly string[], heard: (answer: RailAnswer) => void): void {
    const [folder, ...rest] = folders;
    if (folder === undefined) return heard({ outcome: { kind: 'done' }, isAnswered: true, tookMs: 0 });
    // 405: it is there. 404: the server has it some other way; the page will show.
    const ask: RailRequest = {
      method: 'MKCOL',
      path: folder,
      headers: [],
      verb: 'put',
      done: [201, 404, 405],
    };
    this.#ask(ask, answer => {
      const { outcome } = answer;
      if (outcome.kind === 'done') return this.#makeFolders(rest, heard);
      // 409: the folders above it are there, so one of them is a file.
      heard(outcome.kind === 'no-folder' ? { ...answer, outcome: noFile(outcome.error) } : answer);
    });
  }

  #ask(request: RailRequest, heard: (answer: RailAnswer) => void): void {
    this.#fetch(request, this.#secret, answer => {
      const { verb, done, asReaders, path, isOfFile } = request;
      const status = statusOf(answer);
      const [isThere, tookMs] = [isAnswered(answer), answer.elapsedMs];
      const outcome = outcomeOf(answer, verb, done);
      if (asReaders !== undefined && status !== undefined && asReaders.statuses.includes(status))
        return this.#fetch({ ...request, headers: asReaders.headers }, undefined, seen =>
          heard({
            outcome: asReadersSee(seen, status),
            isAnswered: isThere,
            tookMs: tookMs + seen.elapsedMs,
          }),
        );
      if (isOfFile === true && 'error' in outcome && isInPlaceOf(answer, path))
        return heard({ outcome: noFile(outcome.error), isAnswered: isThere, tookMs });
      heard({ outcome, isAnswered: isThere, tookMs });
    });
  }

  #fetch(
    { method, path, headers, body, verb }: RailRequest,
    secret: Secret | undefined,
    done: (answer: FetchOutcome) => void,
  ): void {
    this.#engine.fetch(
      railJob(this.#rail, secret, {
        method,
        path,
        headers,
        ...(body !== undefined && { body }),
        isRaw: true,
        ...(verb !== 'refresh' && { maxBytes: MAX_CONTENT_BYTES }),
      }),
      new CallbackSink(() => undefined, false),
      { done },
    );
  }
}

function statusOf(answer: FetchOutcome): number | undefined {
  if (answer.status !== 'error') return answer.http;
  const { failure, http } = answer;
  if (failure.kind === 'status') return failure.status;
  // A redirect that leads nowhere is an answer of the site all the same.
  return ['redirect', 'location'].includes(familyOf(failure.kind)) ? http : undefined;
}

/** The outcome for a page for which the site answers something else, by what readers are answered. */
function asReadersSee(seen: FetchOutcome, status: number): RailOutcome {
  const got = statusOf(seen);
  if (got === status) return { kind: 'done' };
  if (got === undefined) return outcomeOf(seen, 'refresh');
  return {
    kind: 'config',
    error: `status ${status}, and readers get ${got}: the cache keeps the page (proxy_cache_valid ${status})`,
  };
}

/** True if an answer says that a folder, or what lies below a file, was asked for: 409, or the same path with
 * a slash. */
function isInPlaceOf({ status, ...answer }: FetchOutcome, path: string): boolean {
  if (status !== 'error' || !('failure' in answer) || answer.failure.kind !== 'status') return false;
  const { status: said, location } = answer.failure;
  if (said === 409) return true;
  return location !== undefined && new URL(location).pathname.endsWith(`${path}/`);
}

function noFile(error: string): RailOutcome {
  return { kind: 'dead', error: `${error}: a folder is in its place, or a file in that of its folder` };
}

function isAnswered(answer: FetchOutcome): boolean {
  return answer.status !== 'error' || answer.failure.kind === 'status';
}

/** `/a/`, `/a/b/` of `/a/b/c.html`. */
function foldersOf(url: string): string[] {
  const names = url.split('/').slice(1, -1);
  return names.map((_, i) => `/${names.slice(0, i + 1).join('/')}/`);
}

/** The characters that pages add to a request. */
export function charsOf(way: Way, page: PageToClear): number {
  return way.charsOf?.(page) ?? page.url.length;
}
