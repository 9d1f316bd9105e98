/** lccd-rs put together: the database, the door for applicants, what goes to the Queue Manager. */
import { Hono } from 'hono';
import ipaddr from 'ipaddr.js';
import { endpointsToListen } from '../daemon/listen-all.js';
import { startLocked } from '../daemon/locked.js';
import type { Running, Services } from '../daemon/types.js';
import { RsDatabase } from '../db/rs/database.js';
import type { ShownProvider } from '../db/providers/registered.js';
import type { Marks } from '../db/sqlite/marks.js';
import { DatabaseWatch } from '../db/sqlite/watch.js';
import { makeDirectoryDurably } from '../lib/durable.js';
import { formatEndpoint, type Endpoint } from '../lib/endpoint.js';
import { errnoOf, LccError, messageOf, type ErrorCode } from '../lib/errors.js';
import { isIn } from '../lib/network.js';
import { step } from '../lib/steps.js';
import { WEB_PLACES } from '../web/limits.js';
import { serveWeb } from '../web/server.js';
import type { RsQuestion } from '../wire/qm-rs.js';
import { Account } from './account.js';
import { apiOf, type NodeBindings } from './api.js';
import { logAudit } from './audit-log.js';
import type { RsStatus } from './figures.js';
import { Health, healthz } from './health.js';
import { rsOptions, type RsOptions } from './options.js';
import { LoginGuard } from './limits.js';
import { listenerOf } from './listener.js';
import { operatorDoor } from './operator/door.js';
import { operatorEndpoints } from './operator/endpoints.js';
import { mailServerOf } from './mail/options.js';
import { handOver } from './mail/server.js';
import { RunningMail } from './mail/start.js';
import { OutboxSender } from './outbox-sender.js';
import { pagesOf } from './pages/pages.js';
import { RefusedRequests, withoutCapability } from './refused-requests.js';
import { Registrar } from './registrar.js';
import { WebSessions } from './sessions.js';
import { Transitions } from './transitions.js';
import { UnsDoor } from './uns-door.js';

/** Where applicants connect when an endpoint names no port. */
export const DEFAULT_RS_PORT = 9080;
/** Others write for long, or there is no room: the next time will do. */
const PASSING: readonly ErrorCode[] = ['try.later', 'io.full'];
/** A request waits so long for an answer of the Queue Manager. */
const PATIENCE_MS = 3000;
const TIDY_MS = 60_000;
/** Between two questions that keep the connection to the Queue Manager. */
const PING_MS = 60_000;

/**
 * @throws LccError `usage` where no endpoint is given, `config` without rs.url; `peer.unavailable` when
 *   another lccd-rs has the database; as RsDatabase.open
 */
export async function startRs(services: Services): Promise<Running> {
  const { home, settings, log } = services;
  const endpoints = endpointsToListen('rs.listen', settings.rs.listen, DEFAULT_RS_PORT);
  const operatorAt = operatorEndpoints(settings.rs.operatorListen);
  const options = rsOptions(services);
  if (options.url === '')
    throw new LccError('config', 'rs.url is missing: the public address of the Registration Server');
  makeDirectoryDurably(home.rs, 0o750);
  return startLocked(options.lockPath, log, async () => {
    const db = RsDatabase.open(options.path);
    const old = db.wentBack();
    if (old !== undefined) log.error(old, { path: options.path });
    const marks = marksOf(db, services);
    const running = await run(services, options, db, endpoints, operatorAt);
    return {
      ...running,
      async stop() {
        await running.stop();
        marks.stop();
        db.close();
      },
    };
  });
}

/** Marks of how far the database has come, as beside lcc.db. */
function marksOf(db: RsDatabase, services: Services): Marks {
  const { clock, log } = services;
  const failed = (error: unknown) => {
    const isPassing = error instanceof LccError && PASSING.includes(error.code);
    if (!isPassing) services.fail(error);
    return isPassing;
  };
  const marks = db.newMarks({ clock, log, failed, noted: () => step('rs.mark.noted') });
  marks.start();
  db.onCommit = () => marks.committed();
  return marks;
}

async function run(
  services: Services,
  options: RsOptions,
  db: RsDatabase,
  endpoints: readonly Endpoint[],
  operatorAt: readonly Endpoint[],
): Promise<Running> {
  const { settings, clock, log } = services;
  const fail = (error: unknown) => services.fail(error);
  const logged = logAudit(db, log);
  const transitions = new Transitions(db, () => clock.nowMs(), options.slots);
  transitions.putBack();
  const sender = new OutboxSender({
    db,
    clock,
    log,
    ...options.qm,
    answered(operation, answer) {
      transitions.settle(operation, answer, options.firstPid);
      account.settled(operation, answer);
      mail.stir();
    },
    fail,
  });
  const ask = (question: RsQuestion) => sender.ask(question);
  const applied = () => sender.stir();
  const door = new UnsDoor({
    ...options.unsDoor,
    clock,
    async leaveAt(pid) {
      const told = await ask({ op: 'show', pid });
      return told === undefined ? undefined : ((told['provider'] as ShownProvider | null)?.leaveat ?? null);
    },
  });
  const mailServer = mailServerOf(settings.rs);
  const mail = new RunningMail({
    db,
    options: options.mail,
    handOver: mailServer && (letter => handOver(letter, mailServer)),
    clock,
    log,
    async show(pid) {
      const told = await ask({ op: 'show', pid });
      const provider = told?.['provider'];
      return typeof provider === 'object' && provider !== null
        ? (provider as Record<string, unknown>)
        : undefined;
    },
    applied,
    fail,
  });
  const { mailing } = mail;
  const registrar = new Registrar({ db, options, clock, log, mailing, ask, applied, fail });
  const account = new Account({ db, options, registrar, door, ask, clock, applied, patienceMs: PATIENCE_MS });

  const limits = settings.web;
  const maxBodyBytes = limits.maxBodyBytes;
  const within = (over: Promise<void>, delayMs: number) =>
    Promise.race([over, new Promise<void>(resolve => clock.after(delayMs, resolve))]);
  const failed = (path: string, error: unknown) =>
    // A client that goes away while it sends has not failed here.
    log[errnoOf(error) === 'ECONNRESET' ? 'debug' : 'error']('request failed', {
      path: withoutCapability(path),
      error: messageOf(error),
    });
  const app = new Hono<{ Bindings: NodeBindings }>({ strict: false });
  const view = { door, ask };
  const sessions = new WebSessions(db, () => clock.nowMs(), options.sessions);
  const guard = new LoginGuard(clock, options.uses.login);
  const api = apiOf({
    guard,
    view,
    registrar,
    account,
    options,
    maxBodyBytes,
    nowMs: () => clock.nowMs(),
    within,
    failed,
  });
  const health = new Health({ db, door, ask, clock });
  app.get('/healthz', c => healthz(c, health));
  app.get('/robots.txt', c => c.text('User-agent: *\nDisallow: /\n'));
  const base = new URL(options.url).pathname.replace(/\/$/, '');
  app.route(`${base}/api/v1`, api);
  const pages = pagesOf({
    guard,
    registrar,
    account,
    hoursOf: pid => db.providers.get(pid),
    moreRootsOf: pid => db.registrations.moreRootsOf(pid),
    mail,
    sessions,
    view,
    options,
    clock,
    maxBodyBytes,
    within,
    failed,
  });
  app.route(base === '' ? '/' : base, pages.app);
  app.onError(pages.onError);
  app.notFound(c => c.text('there is nothing here\n', 404));
  const noted = { db, nowMs: () => clock.nowMs(), limit: options.refusals };
  const refused = new RefusedRequests({ ...noted, proxies: options.proxies, by: 'applicant' });
  const operatorsRefused = new RefusedRequests({ ...noted, proxies: undefined, by: 'operator' });
  // A proxy speaks for all of its clients.
  const except = (address: string) =>
    ipaddr.isValid(address) && isIn(options.proxies, ipaddr.process(address));
  const bound = { ...WEB_PLACES, ofAddress: { key: 'web.max_connections_per_address', except } } as const;
  const web = await serveWeb(services, endpoints, listenerOf(app, log, refused.answered), limits, bound);
  for (const endpoint of web.endpoints) log.info('listening', { endpoint: formatEndpoint(endpoint) });

  const operators = operatorDoor({
    services,
    options,
    db,
    sessions,
    transitions,
    health,
    maxBodyBytes,
    applied: () => sender.stir(),
    ask: question => sender.ask(question),
    mailTrouble: () => mail.trouble,
    failed,
  });
  // Operators have places of their own: applicants cannot keep them out.
  const operatorPlaces = { ...WEB_PLACES };
  const operatorListener = listenerOf(operators.app, log, operatorsRefused.answered);
  const operatorWeb = await serveWeb(services, operatorAt, operatorListener, limits, operatorPlaces);
  const looking = operatorAt.length === 0 ? undefined : operators.start();
  for (const endpoint of operatorWeb.endpoints) log.info('operators', { endpoint: formatEndpoint(endpoint) });

  const ending = new AbortController();
  const peer = services.connect(
    { kind: 'unix', path: options.qmSocket },
    each => sender.serve(each),
    'Queue Manager',
  );
  const tidy = () => {
    transitions.tidy(options.keepMs, options.auditMs);
    sessions.tidy();
    if (transitions.mapHours()) sender.stir();
    mail.tidy();
    refused.tidy();
    operatorsRefused.tidy();
  };
  every(TIDY_MS, tidy);
  // Pairs that ended while it was away.
  clock.after(0, () =>
    carefully(() => {
      transitions.tidy(options.keepMs, options.auditMs);
      if (transitions.mapHours()) sender.stir();
    }),
  );
  every(PING_MS, () => void sender.ask({ op: 'status' }).catch(fail));
  void watch().catch(fail);

  /** Decisions of lccrs are sent; sessions that somebody has taken out of rs.db end. */
  async function watch(): Promise<void> {
    const watcher = new DatabaseWatch(
      db.path,
      () => db.version(),
      clock,
      () => 'start lccd-rs again',
    );
    try {
      while (!ending.signal.aborted) {
        const seen = db.version();
        sessions.forget();
        logged();
        sender.stir();
        mail.stir();
        await watcher.changedSince(seen, ending.signal);
      }
    } finally {
      watcher.close();
    }
  }

  function every(delayMs: number, action: () => void): void {
    clock.after(delayMs, () => {
      carefully(action);
      if (!ending.signal.aborted) every(delayMs, action);
    });
  }

  function carefully(action: () => void): void {
    if (ending.signal.aborted) return;
    try {
      action();
    } catch (error) {
      if (!(error instanceof LccError) || !['try.later', 'io.full'].includes(error.code)) fail(error);
    }
  }

  return {
    status(): RsStatus {
      const { registrations, outbox } = db;
      const waiting = outbox.count;
      return {
        idle: registrar.checking === 0 && (waiting === 0 || !sender.isConnected),
        qm_connected: sender.isConnected,
        operations_later: sender.later ?? null,
        pairs_open: registrations.open,
        checks: registrar.checking,
        sites_waiting: registrations.count('waiting'),
        sites_applying: registrations.count('applying'),
        operations_waiting: waiting,
        registered: db.providers.count,
        mails_waiting: db.mails.size,
        mail_trouble: mail.trouble ?? null,
        no_room: registrar.shortage ?? null,
        listens: [...web.endpoints, ...operatorWeb.endpoints].map(each => formatEndpoint(each)),
      };
    },
    async stop() {
      ending.abort();
      await Promise.all([web.close(), operatorWeb.close()]);
      looking?.stop();
      await registrar.idle();
      await mail.stop();
      peer.close();
      sender.stop();
    },
  };
}
