/** The JSON API, `/api/v1` below the base path (docs/frontdoor-api.md). It has no cookies: what a request may
 * do is in it. */
import { Hono, type Context } from 'hono';
import { isPassing } from '../lib/errors.js';
import type { Account } from './account.js';
import { meApi } from './api-me.js';
import {
  boundedBody,
  clientOf,
  membersOf,
  sealApi,
  shown,
  shownOnce,
  textOf,
  wishesIn,
  type NodeBindings,
} from './api-parts.js';
import type { FeedBook } from './feeds/book.js';
import type { ProviderViewOptions } from './me.js';
import type { RsOptions } from './options.js';
import { RsRequestRefused } from './refusal.js';
import type { Registrar } from './registrar.js';

export type { NodeBindings } from './api-parts.js';
type Ask = Context<{ Bindings: NodeBindings }>;

export interface ApiOptions {
  registrar: Pick<Registrar, 'issue' | 'issueReset' | 'find' | 'checkAWhile' | 'cancel'>;
  account: Account;
  options: Pick<RsOptions, 'url' | 'uns' | 'proxies' | 'limits'>;
  feeds: FeedBook;
  /** Where providers are looked up. */
  view: ProviderViewOptions;
  /** Reports a fault that nobody outside can mend. */
  failed: (path: string, error: unknown) => void;
}

export function apiOf({ registrar, account, options, feeds, view, failed }: ApiOptions) {
  const api = new Hono<{ Bindings: NodeBindings }>({ strict: false });
  const { origin } = new URL(options.url);

  // Nothing that changes something comes from another site's page: a browser says where it is from, a program
  // says nothing.
  api.use(async (c, next) => {
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') requireOwn(c, origin);
    await next();
  });
  api.use(boundedBody());

  api.post('/pairs', async c => {
    const members = await membersOf(c);
    const { network } = clientOf(c, options);
    const pair = registrar.issue(
      textOf(members, 'url') ?? '',
      wishesIn(members),
      network,
      textOf(members, 'email'),
    );
    return c.json(shownOnce(pair, options), 201);
  });
  api.get('/pairs/:id', c => c.json(shown(registrar.find(c.req.param('id')), options)));
  api.delete('/pairs/:id', c => {
    registrar.cancel(c.req.param('id'));
    return c.body(null, 204);
  });
  api.post('/pairs/:id/check', async c => {
    const capability = c.req.param('id');
    const isJson = /^application\/json\b/i.test(c.req.header('content-type') ?? '');
    // Programs that send JSON say so where they send nothing, too.
    const { give_up: givesUp } = isJson && (await c.req.text()) !== '' ? await membersOf(c) : {};
    const registration = await registrar.checkAWhile(capability, givesUp === true);
    return c.json(shown(registration, options), registration.state === 'checking' ? 202 : 200);
  });

  api.post('/forgot', async c => {
    const members = await membersOf(c);
    const { pid } = members;
    if (!Number.isSafeInteger(pid) || Number(pid) < 1)
      throw new RsRequestRefused(400, 'malformed', '"pid" is no number', 'give the number of the provider');
    const { network } = clientOf(c, options);
    const pair = registrar.issueReset(Number(pid), textOf(members, 'url') ?? '', network);
    return c.json(shownOnce(pair, options), 201);
  });

  api.route('/me', meApi({ account, view, options, feeds }));
  sealApi(api, {
    realm: 'LCC',
    failed,
    whyOf(error) {
      const advice = 'try again later; the operator finds the reason in the log';
      return isPassing(error)
        ? ['busy', 'this cannot be done now', advice]
        : ['failed', 'this failed', advice];
    },
  });
  return api;
}

/** @throws RsRequestRefused 403 when a browser says that another site's page sends it */
export function requireOwn(c: Pick<Ask, 'req'>, origin: string): void {
  const from = c.req.header('origin');
  const site = c.req.header('sec-fetch-site');
  if (
    (from !== undefined && from !== origin) ||
    (site !== undefined && !['same-origin', 'none'].includes(site))
  )
    throw new RsRequestRefused(
      403,
      'cross-site',
      'the request comes from the page of another site',
      'send it yourself',
    );
}
