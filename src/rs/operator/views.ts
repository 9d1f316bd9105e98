/** Views of the operators' pages and their API, as plain values: one source for both. */
import type { AuditRow } from '../../db/rs/audit.js';
import { directoriesOf, type Registration, type RegistrationState } from '../../db/rs/registrations.js';
import type { SeriesMoment, SeriesStep } from '../../db/rs/series.js';
import { MAX_URL_LENGTH, type KeptError, type RsErrorsWanted } from '../../wire/qm-rs.js';
import type { RsDaemon, RsMachine, RsOverview, RsProviderPage, RsQueue } from '../../wire/rs-looks.js';
import type { UrlLife } from '../../wire/url-life.js';
import { pushView } from '../push/shown.js';
import { RsRequestRefused } from '../refusal.js';
import type { QmLooks } from './qm-looks.js';
import type { GraphTimes } from './graph.js';
import { spanOf, type SeriesRecorder, type SeriesTimes } from './recorder.js';
import { shownBy, type RsGround } from '../ground.js';

const UNDER_WAY: readonly RegistrationState[] = ['issued', 'checking', 'applying'];
const OVER: readonly RegistrationState[] = ['active', 'refused', 'expired', 'cancelled'];
/** Most rows of those that do not wait; all that wait are shown. */
const SHOWN = 50;
const WAITING_SHOWN = 1000;
export const AUDIT_PAGE = 100;
const SILENT = 'lccd-qm does not answer';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export type Application = ReturnType<typeof applicationOf>;

/** One of them, with what an operator has to know before a decision. */
export type DecidedApplication = Application & Others;

interface Others {
  /** Other providers that crawl this site: its pages would be fetched for both. Null: not known. */
  crawled_by: readonly number[] | null;
  /** Other providers that announce something of it. Null: not known. */
  had_by: readonly number[] | null;
}

export interface AuditEntry extends Omit<AuditRow, 'atMs'> {
  at: string;
}

export interface AuditPage {
  rows: AuditEntry[];
  /** `before` of the next page; null: this is the last. */
  next: number | null;
}

/** How fresh what is shown of the whole LCC is. */
export interface Freshness {
  /** ISO 8601; null: nothing was seen yet. */
  at: string | null;
  /** Why there is nothing newer. */
  problem: string | null;
}

export type Overview = ReturnType<OperatorViews['overview']>;

export interface SeriesView {
  step_ms: number;
  /** Milliseconds since 1970, of all figures alike. */
  times: number[];
  figures: Record<string, (number | null)[]>;
}

export interface OperatorViewsOptions extends Pick<RsGround, 'db' | 'ask'> {
  looks: Pick<QmLooks, 'overview' | 'problem' | 'providers'>;
  recorder: Pick<SeriesRecorder, 'moments'>;
  times: SeriesTimes;
  /** Why the mail server has taken none last. */
  mailTrouble: () => string | undefined;
  nowMs: () => number;
}

export class OperatorViews {
  readonly #options: OperatorViewsOptions;
  #isSilent = false;

  constructor(options: OperatorViewsOptions) {
    this.#options = options;
  }

  /** True if the Queue Manager answers now, before what was seen of it is shown: one that hangs looks well
   * until the next look at it. */
  async hear(): Promise<void> {
    this.#isSilent = (await this.#options.ask({ op: 'status' })) === undefined;
  }

  get #seen(): RsOverview | undefined {
    return this.#options.looks.overview;
  }

  overview() {
    const { db, mailTrouble } = this.#options;
    const seen = this.#seen;
    const size = db.mails.size();
    const oldestMs = db.mails.oldestMs();
    return {
      ...this.#freshness(),
      summary: seen?.summary ?? 'not known yet',
      /** Reasons that an operator should know, a sentence each. */
      reasons: seen?.reasons ?? [],
      sites_waiting: db.registrations.count('waiting'),
      /** Changes of providers that the Queue Manager has not answered. */
      operations_waiting: db.outbox.count(),
      /** Mails that the server of rs.smtp has not taken, since when the oldest one waits (ISO 8601), and why
       * none was taken last. */
      mails_waiting: size,
      mail_since: oldestMs === undefined ? null : new Date(oldestMs).toISOString(),
      mail_trouble: size === 0 ? null : (mailTrouble() ?? null),
      providers: seen?.providers ?? 0,
      registered: db.providers.count(),
      /** The providers to look at. */
      sites: seen?.sites ?? [],
      /** Figures of now, by name; what is not known is missing. */
      figures: this.moments('fine').at(-1)?.figures ?? {},
    };
  }

  /** The same array as long as nothing changes. */
  moments(step: SeriesStep): readonly SeriesMoment[] {
    return this.#options.recorder.moments(step, this.#options.nowMs());
  }

  /** Time that a graph of a step covers. */
  spanOf(step: SeriesStep): GraphTimes {
    return spanOf(this.#options.times, step, this.#options.nowMs());
  }

  series(step: SeriesStep): SeriesView {
    const moments = this.moments(step);
    const names = [...new Set(moments.flatMap(({ figures }) => Object.keys(figures)))].sort();
    return {
      step_ms: this.spanOf(step).stepMs,
      times: moments.map(({ atMs }) => atMs),
      figures: Object.fromEntries(
        names.map(name => [name, moments.map(({ figures }) => figures[name] ?? null)]),
      ),
    };
  }

  queue(): Freshness & RsQueue {
    const empty = { waiting: 0, ages: [], exact: true };
    const none = { age_minutes: [], total: empty, providers: [], left_off: { providers: 0, waiting: 0 } };
    return { ...this.#freshness(), ...(this.#seen?.queue ?? none) };
  }

  daemons(): Freshness & { daemons: readonly RsDaemon[]; machines: readonly RsMachine[] } {
    const { daemons = [], machines = [] } = this.#seen ?? {};
    return { ...this.#freshness(), daemons, machines };
  }

  /** Several homes: rows of those that answer; `problem` names the others. @throws RsRequestRefused 503 */
  async providers(search: string, after: number): Promise<RsProviderPage & { problem: string | null }> {
    const { looks } = this.#options;
    const page = await looks.providers(search, after);
    if (page === undefined) throw this.#away();
    return { ...page, problem: looks.problem ?? null };
  }

  /**
   * A provider as the Queue Manager shows it, its registrations, and what happened to it.
   * @throws RsRequestRefused 404, 503
   */
  async provider(pid: number) {
    const { db, ask } = this.#options;
    const provider = await shownBy(ask, pid);
    if (provider === undefined) throw this.#away();
    const applications = db.registrations.ofPid(pid).map(applicationOf);
    if (provider === null && applications.length === 0)
      throw new RsRequestRefused(404, 'unknown', `there is no provider ${pid}`, 'look for it in the list');
    const pushes = pushView(db, pid, provider ?? undefined);
    const feeds = db.feeds.of(pid);
    return { provider, applications, feeds, audit: this.audit(undefined, pid).rows, pushes };
  }

  /** Errors that a provider has not received. @throws RsRequestRefused 503 */
  async errors(pid: number, wanted: RsErrorsWanted): Promise<readonly KeptError[]> {
    const told = await this.#options.ask({ op: 'errors', pid, ...wanted });
    if (told === undefined) throw this.#away();
    return told['errors'] as KeptError[];
  }

  /** Life of a url at each provider with a root around it. @throws RsRequestRefused 503 */
  async lives(url: string): Promise<readonly UrlLife[]> {
    const told = await this.#options.ask({ op: 'life', pid: 0, url: url.slice(0, MAX_URL_LENGTH) });
    if (told === undefined) throw this.#away();
    return told['lives'] as UrlLife[];
  }

  /** Waiting for a decision, the oldest first; under way and over, the newest first. */
  applications(): Record<'waiting' | 'under_way' | 'over', Application[]> {
    const { registrations } = this.#options.db;
    const shown = (states: readonly RegistrationState[], limit: number) =>
      registrations.inStates(states, limit).map(applicationOf);
    return {
      waiting: shown(['waiting'], WAITING_SHOWN).toReversed(),
      under_way: shown(UNDER_WAY, SHOWN),
      over: shown(OVER, SHOWN),
    };
  }

  /** @throws RsRequestRefused 404 */
  async application(id: number): Promise<DecidedApplication> {
    const registration = this.#options.db.registrations.get(id);
    if (registration === undefined)
      throw new RsRequestRefused(404, 'unknown', `there is no registration ${id}`, 'look for it in the list');
    return { ...applicationOf(registration), ...(await this.#othersOf(registration)) };
  }

  async #othersOf(registration: Registration): Promise<Others> {
    const [crawlers, announcers] = [new Set<number>(), new Set<number>()];
    for (const url of directoriesOf(registration)) {
      const told = await this.#options.ask({ op: 'find', url });
      if (!Array.isArray(told?.['crawlers'])) return { crawled_by: null, had_by: null };
      for (const pid of told['crawlers'] as number[]) crawlers.add(pid);
      for (const pid of (told['announcers'] ?? []) as number[]) announcers.add(pid);
    }
    const others = (pids: Set<number>) =>
      [...pids].filter(pid => pid !== registration.pid).sort((x, y) => x - y);
    return { crawled_by: others(crawlers), had_by: others(announcers) };
  }

  /**
   * Events, the newest first, a page of them. @param before id of the last row of the page before this one
   */
  audit(before?: number, pid?: number): AuditPage {
    return pageOf(this.#options.db.audit.page(AUDIT_PAGE + 1, { before, pid }));
  }

  /** Refusals and failed checks: how often, and each. */
  refusals(before?: number): AuditPage & { counts: { event: string; hour: number; day: number }[] } {
    const { db, nowMs } = this.#options;
    return {
      counts: db.audit.refusedSince({ hourMs: nowMs() - HOUR_MS, dayMs: nowMs() - DAY_MS }),
      ...pageOf(db.audit.page(AUDIT_PAGE + 1, { before, isRefusal: true })),
    };
  }

  get #problem(): string | undefined {
    return this.#options.looks.problem ?? (this.#isSilent ? SILENT : undefined);
  }

  #freshness(): Freshness {
    const seen = this.#seen;
    return {
      at: seen === undefined ? null : new Date(seen.at_ms).toISOString(),
      problem: this.#problem ?? null,
    };
  }

  #away(): RsRequestRefused {
    return new RsRequestRefused(
      503,
      'away',
      this.#problem ?? SILENT,
      'load this page again in a minute; lccstat says more',
      10,
    );
  }
}

function pageOf(rows: AuditRow[]): AuditPage {
  const shown = rows.slice(0, AUDIT_PAGE);
  return {
    rows: shown.map(({ atMs, ...row }) => ({ ...row, at: new Date(atMs).toISOString() })),
    next: rows.length > AUDIT_PAGE ? (shown.at(-1)?.id ?? null) : null,
  };
}

/** A registration without its secrets; times as ISO 8601. */
function applicationOf(registration: Registration) {
  const { id, kind, state, pid, prefix, proven, wishes, network, tries, reason, madeMs, changedMs, endsMs } =
    registration;
  return {
    id,
    /** `root`: another directory of a provider that there is; `reset`, `rotation`: another password. */
    kind,
    state,
    pid,
    url: prefix,
    proven,
    wishes,
    network,
    checks: tries,
    reason: reason ?? null,
    begun: new Date(madeMs).toISOString(),
    since: new Date(changedMs).toISOString(),
    ends: endsMs === undefined ? null : new Date(endsMs).toISOString(),
  };
}
