/** Requests of a provider over the JSON API, `me` and below, with number and password by Basic
 * authentication. */
import { Hono, type Context } from 'hono';
import { MAX_RS_ERRORS, MAX_RS_URLS } from '../wire/qm-rs.js';
import type { Account, ChangeOutcome } from './account.js';
import { clientOf, membersOf, shownOnce, textOf, wishesIn, type NodeBindings } from './api-parts.js';
import { shownFeed, USUAL_EVERY_MS, type FeedBook } from './feeds/book.js';
import { shownBy, type QmTold } from './ground.js';
import { credentialsOf, providerView, type ProviderViewOptions } from './me.js';
import type { RsOptions } from './options.js';
import { busy, RsRequestRefused } from './refusal.js';

type Ask = Context<{ Bindings: NodeBindings }>;

/** Errors in an answer, where nothing else is asked for. */
const ERRORS_A_PAGE = 100;
/** Most bytes of the urls that are asked for: a line to the Queue Manager has room for them. */
const MAX_URL_BYTES = 200_000;

export interface MeApiOptions {
  account: Account;
  /** Where providers are looked up. */
  view: ProviderViewOptions;
  options: Pick<RsOptions, 'proxies' | 'uns' | 'limits'>;
  feeds: FeedBook;
}

export function meApi({ account, view, options, feeds }: MeApiOptions) {
  const api = new Hono<{ Bindings: NodeBindings }>({ strict: false });
  const addressOf = (c: Ask) => clientOf(c, options).address;

  /** Who asks. @throws RsRequestRefused 401, 429, 503 */
  async function login(c: Ask): Promise<{ pid: number; password: string; address: string }> {
    const { pid, password } = credentialsOf(c.req.header('authorization'));
    const address = addressOf(c);
    await account.attempt(address, () => view.door.look(pid, password, address));
    return { pid: Number(pid), password, address };
  }
  /** Number and password, which are checked with what is to be removed. */
  function confirmed(c: Ask, urls: number) {
    const { pid, password } = credentialsOf(c.req.header('authorization'));
    return { pid: Number(pid), consent: { password, address: addressOf(c), urls } };
  }

  api.get('/', async c => {
    credentialsOf(c.req.header('authorization'));
    const look = () => providerView(c.req.header('authorization'), addressOf(c), view);
    return c.json({ ...(await account.attempt(addressOf(c), look)), uns: options.uns });
  });

  api.get('/errors', async c => {
    const { pid } = await login(c);
    const [code, prefix] = [numberIn(c, 'code'), c.req.query('prefix')];
    const limit = Math.min(numberIn(c, 'limit') ?? ERRORS_A_PAGE, MAX_RS_ERRORS);
    const after = numberIn(c, 'after') ?? 0;
    const told = await view.ask({
      op: 'errors',
      pid,
      after,
      limit,
      ...(code !== undefined && { code }),
      ...(prefix !== undefined && { prefix }),
    });
    const errors = Object(demand(told))['errors'] as { errseq: number }[];
    const { errors: codes } = await account.show(pid);
    return c.json({
      codes,
      errors: errors.map(({ errseq: _errseq, ...rest }) => rest),
      next: errors.length < limit ? null : (errors.at(-1)?.errseq ?? null),
    });
  });

  api.get('/receipts', async c => {
    const { pid } = await login(c);
    const { sets } = await account.show(pid);
    const shown = sets.map(({ at, isfull, complete, held, psetid: _psetid, ...counts }) => ({
      accepted: new Date(at * 1000).toISOString(),
      full: isfull === 1,
      complete: complete === 1,
      held: held === 1,
      ...counts,
    }));
    const urls = c.req.queries('url') ?? [];
    if (urls.length === 0) return c.json({ sets: shown, urls: [] });
    if (urls.length > MAX_RS_URLS || urls.join('').length > MAX_URL_BYTES)
      throw new RsRequestRefused(
        400,
        'too-many',
        `more than ${MAX_RS_URLS} urls, or more than ${MAX_URL_BYTES} characters of them`,
        'ask for fewer at a time',
      );
    const told = demand(await view.ask({ op: 'urls', pid, urls }));
    const rows = told['urls'] as object[][];
    return c.json({ sets: shown, urls: urls.map((url, i) => ({ url, rows: rows[i] ?? [] })) });
  });

  api.post('/roots', async c => {
    const { pid } = await login(c);
    const url = textOf(await membersOf(c), 'url') ?? '';
    const pair = await account.beginRoot(pid, url, clientOf(c, options).network);
    return c.json(shownOnce(pair, options), 201);
  });
  api.delete('/roots', async c => {
    const members = await membersOf(c);
    const { pid, consent } = confirmed(c, countIn(members));
    const root = textOf(members, 'url') ?? '';
    return changed(c, await account.removeRoot(pid, root, consent));
  });
  const feedsOf = (pid: number) => ({ feeds: feeds.of(pid).map(shownFeed) });
  api.get('/feeds', async c => c.json(feedsOf((await login(c)).pid)));
  api.post('/feeds', async c => {
    const { pid } = await login(c);
    const members = await membersOf(c);
    const { every_s: everyS = USUAL_EVERY_MS / 1000 } = members;
    const provider = await shownBy(view.ask, pid);
    if (provider === undefined) throw busy();
    feeds.add(pid, textOf(members, 'url') ?? '', Number(everyS) * 1000, provider?.roots ?? [], 'provider');
    return c.json(feedsOf(pid), 201);
  });
  api.delete('/feeds', async c => {
    const { pid } = await login(c);
    feeds.remove(pid, textOf(await membersOf(c), 'url') ?? '', 'provider');
    return c.json(feedsOf(pid));
  });
  api.post('/terms', async c => {
    const { pid } = await login(c);
    return changed(c, await account.changeTerms(pid, wishesIn(await membersOf(c))));
  });
  api.post('/password', async c => {
    const { pid } = await login(c);
    const pair = await account.beginRotation(pid, clientOf(c, options).network);
    return c.json(shownOnce(pair, options), 201);
  });
  api.post('/leave', async c => {
    const { pid, consent } = confirmed(c, countIn(await membersOf(c)));
    return changed(c, await account.leave(pid, consent));
  });
  api.delete('/leave', async c => {
    const { pid, password } = credentialsOf(c.req.header('authorization'));
    return changed(c, await account.stay(pid, password, addressOf(c)));
  });
  return api;
}

function changed(c: Ask, outcome: ChangeOutcome) {
  if (outcome.state === 'refused')
    throw new RsRequestRefused(409, 'refused', outcome.what, 'look how you stand, GET me');
  return c.json({ state: outcome.state }, outcome.state === 'done' ? 200 : 202);
}

/** @throws RsRequestRefused 503 */
function demand(told: QmTold): NonNullable<QmTold> {
  if (told === undefined) throw busy();
  return told;
}

function countIn(members: Record<string, unknown>): number {
  const { urls } = members;
  if (!Number.isSafeInteger(urls))
    throw new RsRequestRefused(
      400,
      'count',
      '"urls" is missing: how many urls you have here',
      'look it up, files.used of GET me',
    );
  return Number(urls);
}

function numberIn(c: Ask, name: string): number | undefined {
  const text = c.req.query(name);
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw new RsRequestRefused(400, 'malformed', `"${name}" is no number`, 'give a whole number');
  return Number(text);
}
