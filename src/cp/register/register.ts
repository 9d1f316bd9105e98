/**
 * A registration from the side of the site, as far as it goes in one run; the next run goes on where this one
 * stopped.
 *
 *     pair ──synced──▶ file in place ──▶ checked ──proven──▶ file away ──▶ active: the crontab line
 *                                          │                   ╰──▶ waits for approval: later
 *                                          ╰──not proven: mend it, later
 */
import { existsSync, statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { doubledMs } from '../../lib/backoff.js';
import { EXIT, LccError, messageOf, type ExitStatus } from '../../lib/errors.js';
import { oneLine } from '../../lib/one-line.js';
import {
  dropPending,
  forgetPending,
  keepPassword,
  keepPending,
  pendingFileOf,
  readPending,
  replacePassword,
  type PendingKind,
  type PendingRegistration,
} from './pending.js';
import { pathsOf, place, takeAway } from './proof-file.js';
import { RegistrationRefused, type PairMade, type PairStanding, type RegistrationServer } from './server.js';

export interface RegisterOptions {
  server: RegistrationServer;
  serverUrl: string;
  kind: PendingKind;
  /** The directory that is applied for. */
  url: string;
  pwdfile: string;
  /** Where that directory lies here; none: somebody else puts the file in place. A reset has one for each
   * root. */
  docroots: readonly string[];
  /** Asks the server for the pair. */
  make: () => Promise<PairMade>;
  /** True for a reset in which roots without the file are taken off. */
  givesUp: boolean;
  /** For which approval, or the server, is waited for. */
  waitMs: number;
  nowMs: () => number;
  sleep: (ms: number) => Promise<void>;
}

/** How far it has come. */
export interface Registered {
  status: ExitStatus;
  /** The message about it; undefined when it is active. */
  message: string | undefined;
  pending: PendingRegistration;
  standing: PairStanding | undefined;
}

const SECOND = 1000;
/** Between two looks at how it stands: at first, doubled each time, and at most. */
const LOOKS = { minMs: 100, maxMs: 2 * SECOND };
/** One that is applied for is a provider in a moment, as a rule. */
const MOMENT_MS = 3 * SECOND;
/** Between two checks a server wants ten seconds (`rs.check_interval_ms`): nobody has to run this again for
 * that. */
const CHECK_PAUSE_MS = 11 * SECOND;

/** The fault of the file, by the server's code → exit status. */
const STATUS_OF_REASON: Readonly<Record<string, ExitStatus>> = {
  missing: EXIT.noinput,
  forbidden: EXIT.noinput,
  html: EXIT.dataerr,
  empty: EXIT.dataerr,
  long: EXIT.dataerr,
  binary: EXIT.dataerr,
  other: EXIT.dataerr,
  password: EXIT.dataerr,
  tls: EXIT.dataerr,
  elsewhere: EXIT.dataerr,
  'catch-all': EXIT.dataerr,
  // A reset: some of the roots have not the file; the number has no such root.
  roots: EXIT.noinput,
  'not-a-root': EXIT.dataerr,
  status: EXIT.dataerr,
  broken: EXIT.dataerr,
  address: EXIT.dataerr,
  robots: EXIT.noperm,
};

/**
 * Begins a registration, or goes on with the one that is under way.
 * @throws LccError `output.create`, `usage` for one of another site; as RegistrationServer
 */
export async function register(options: RegisterOptions): Promise<Registered> {
  const pending = await pairOf(options);
  return goOn(pending, options);
}

/** Goes on with a registration that is under way. */
export async function continueRegistration(
  pending: PendingRegistration,
  options: RegisterOptions,
): Promise<Registered> {
  for (const docroot of options.docroots) requireSafe(docroot, options.pwdfile);
  keepPassword(options.pwdfile, options.kind, pending);
  return goOn(pending, options);
}

async function pairOf(options: RegisterOptions): Promise<PendingRegistration> {
  const { serverUrl, kind, url, pwdfile, docroots, make } = options;
  for (const docroot of docroots) requireSafe(docroot, pwdfile);
  const known = readPending(pwdfile, kind);
  if (known !== undefined) {
    if (known.server !== serverUrl || known.asked !== url)
      throw new LccError(
        'usage',
        `${pendingFileOf(pwdfile, kind)}: ${known.asked} is being registered at ${known.server}; give another --pwdfile, or remove that`,
      );
    keepPassword(pwdfile, kind, known);
    return known;
  }
  if (kind === 'pair' && existsSync(pwdfile))
    throw new LccError(
      'output.create',
      `${pwdfile}: exists, and may hold a password that is in use; give another file`,
    );
  const made = await make();
  const { id, pid, file, secret, password } = made;
  const pending: PendingRegistration = {
    server: serverUrl,
    id,
    pid,
    url: made.url,
    asked: url,
    file,
    secret,
    password,
    ...(docroots.length > 0 && { docroots: docroots.map(docroot => resolve(docroot)) }),
  };
  return keep(pending, options);
}

function keep(pending: PendingRegistration, { pwdfile, kind }: RegisterOptions): PendingRegistration {
  try {
    keepPending(pwdfile, kind, pending);
  } catch (error) {
    throw new LccError('output.create', `${pwdfile}: ${messageOf(error)}`, { cause: error });
  }
  return pending;
}

/** @throws LccError `input.missing`, or `usage` when everybody could read the password */
export function requireSafe(docroot: string, pwdfile: string): void {
  if (statSync(docroot, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new LccError('input.missing', `--docroot=${docroot}: there is no such directory`);
  if (!relative(resolve(docroot), resolve(pwdfile)).startsWith('..'))
    throw new LccError(
      'usage',
      `--pwdfile=${pwdfile}: it lies below the pages, where everybody could read it`,
    );
}

/** The directories of this run take the place of those before, which may be wrong; those of a reset are
 * added, as it has several. One that a site was proven by stays. */
function moved(
  pending: PendingRegistration,
  options: RegisterOptions,
  isProven: boolean,
): PendingRegistration {
  const { docroots: before } = pending;
  const here = options.docroots.map(docroot => resolve(docroot));
  if (here.length === 0 || (isProven && before !== undefined)) return pending;
  const docroots = [...new Set(options.kind === 'reset' ? [...(before ?? []), ...here] : here)];
  const left = before?.filter(docroot => !docroots.includes(docroot)) ?? [];
  takeAway({ ...pending, docroots: left });
  return keep({ ...pending, docroots }, options);
}

async function goOn(begun: PendingRegistration, options: RegisterOptions): Promise<Registered> {
  const endMs = options.nowMs() + options.waitMs;
  let pending = begun;
  try {
    let standing = await options.server.look(pending.id);
    pending = moved(pending, options, standing.state !== 'issued');
    if (standing.state === 'issued') {
      place(pending);
      standing = await check(pending, options, endMs);
    }
    standing = await settled(standing, pending, options, endMs);
    return outcome(standing, pending, options);
  } catch (error) {
    if (!(error instanceof RegistrationRefused) || ![404, 410].includes(error.status)) throw error;
    const { pwdfile, kind } = options;
    takeAway(pending);
    dropPending(pwdfile, kind);
    const removed = kind === 'pair' ? pwdfile : pendingFileOf(pwdfile, kind);
    throw new LccError('auth.refused', `${error.message} (${removed} is removed)`);
  }
}

/** Asks for the check; one that is too early is asked for again in a few seconds, or while there is time. */
async function check(
  pending: PendingRegistration,
  { server, givesUp, nowMs, sleep }: RegisterOptions,
  endMs: number,
): Promise<PairStanding> {
  const patientMs = Math.max(endMs, nowMs() + CHECK_PAUSE_MS);
  for (;;) {
    try {
      let standing = await server.check(pending.id, givesUp);
      for (let looks = 0; standing.state === 'checking'; looks++) {
        await sleep(doubledMs(LOOKS, looks + 1));
        standing = await server.look(pending.id);
      }
      return standing;
    } catch (error) {
      if (!(error instanceof RegistrationRefused) || error.status !== 429) throw error;
      const waitMs = (error.retryAfterS ?? 1) * SECOND;
      if (nowMs() + waitMs > patientMs) throw error;
      await sleep(waitMs);
    }
  }
}

/** Waits for approval and the provider, while there is time. */
async function settled(
  first: PairStanding,
  pending: PendingRegistration,
  { server, nowMs, sleep }: RegisterOptions,
  endMs: number,
): Promise<PairStanding> {
  let standing = first;
  const momentMs = nowMs() + MOMENT_MS;
  const isWorthWaiting = () =>
    (standing.state === 'waiting' && nowMs() < endMs) ||
    (standing.state === 'applying' && nowMs() < Math.max(endMs, momentMs));
  for (let looks = 0; isWorthWaiting(); looks++) {
    await sleep(doubledMs(LOOKS, looks + 1));
    standing = await server.look(pending.id);
  }
  return standing;
}

function outcome(
  standing: PairStanding,
  pending: PendingRegistration,
  { pwdfile, kind }: RegisterOptions,
): Registered {
  const { state, reason } = standing;
  const of = { pending, standing };
  const why = reason === undefined ? '' : `: ${oneLine(reason.what)}; ${oneLine(reason.do)}`;
  switch (state) {
    case 'active':
      takeAway(pending);
      if (kind === 'reset') replacePassword(pwdfile, pending);
      forgetPending(pwdfile, kind);
      return { ...of, status: EXIT.ok, message: undefined };
    case 'waiting':
    case 'applying': {
      takeAway(pending);
      const what = state === 'waiting' ? 'waits for approval' : 'is being set up';
      const message = `${pending.url} is proven, and ${what}; run this again later`;
      return { ...of, status: EXIT.tempfail, message };
    }
    case 'refused':
      takeAway(pending);
      dropPending(pwdfile, kind);
      return { ...of, status: EXIT.noperm, message: `${pending.url} is refused${why}` };
    case 'issued':
      return {
        ...of,
        status: STATUS_OF_REASON[reason?.code ?? ''] ?? EXIT.tempfail,
        message: unproven(pending, standing),
      };
    default:
      return {
        ...of,
        status: EXIT.tempfail,
        message: `${pending.url}: ${oneLine(state)}; run this again later`,
      };
  }
}

/** The fault of the file, and what to do. */
function unproven(pending: PendingRegistration, { reason }: PairStanding): string {
  const { file, url, docroots } = pending;
  if (reason === undefined) return `${file}; run this again`;
  const [what, advice] = [oneLine(reason.what), oneLine(reason.do)];
  if (docroots === undefined) return `${file}: ${what}; ${advice}; then run this again`;
  const paths = pathsOf(pending).join(', ');
  return reason.code === 'missing'
    ? `${file}: ${what}; lccregister put it at ${paths}; is ${docroots.join(', ')} the directory that ${url} shows? run this again, with another --docroot if it is not; the file stays there until then`
    : `${file}: ${what}; ${advice}; then run this again; the file stays at ${paths} until then`;
}
