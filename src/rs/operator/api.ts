/** The JSON API of operators, `/api/v1/op` on their listener, with name and password by Basic authentication
 * (docs/frontdoor-api.md). It has no cookies: what a request may do is in it. */
import { Hono } from 'hono';
import { LccError } from '../../lib/errors.js';
import { clientAddress } from '../../web/client.js';
import { boundedBody, membersOf, sealApi } from '../api-parts.js';
import { requireOwn, type NodeBindings } from '../api.js';
import { shownFeed } from '../feeds/book.js';
import { RsRequestRefused } from '../refusal.js';
import { errorFilterOf, ERRORS_PAGE } from '../pages/me-errors.js';
import { operatorOrigin } from './gate.js';
import type { OperatorPagesOptions } from './pages.js';
import { idIn, numberIn, searchOf, stepOf } from './query.js';

interface ApiEnv {
  Bindings: NodeBindings;
  Variables: { operator: string };
}

export type OperatorApiOptions = Pick<
  OperatorPagesOptions,
  'logins' | 'views' | 'actions' | 'url' | 'failed'
>;

export function operatorApiOf({ logins, views, actions, url, failed }: OperatorApiOptions) {
  const api = new Hono<ApiEnv>({ strict: false });
  api.use(async (c, next) => {
    requireOwn(c, operatorOrigin(c, url));
    const [, coded = ''] = /^Basic ([A-Za-z0-9+/]+={0,2})$/i.exec(c.req.header('authorization') ?? '') ?? [];
    const text = Buffer.from(coded, 'base64').toString('utf8');
    const [, name, password] = /^([^:]{1,64}):(.{1,200})$/.exec(text) ?? [];
    const address = clientAddress(c.env.incoming, undefined);
    if (name === undefined || password === undefined || !(await logins.areRight(name, password, address)))
      throw new RsRequestRefused(
        401,
        'login',
        'name and password are missing, or do not belong together',
        'send them by Basic authentication; lccrs operator add makes them',
      );
    c.set('operator', name);
    await next();
  });
  api.use(boundedBody());
  const seen = (path: string, view: () => object) =>
    api.get(path, async c => {
      await views.hear();
      return c.json(view());
    });
  seen('/', () => views.overview());
  seen('/queue', () => views.queue());
  seen('/daemons', () => views.daemons());
  api.get('/series', c => c.json(views.series(stepOf(c))));
  api.get('/providers', async c =>
    c.json(await views.providers(searchOf(c.req.query('search') ?? ''), numberIn(c, 'after') ?? 0)),
  );
  api.get('/providers/:pid', async c => {
    const { feeds, ...seen } = await views.provider(idIn(c, 'pid'));
    return c.json({ ...seen, feeds: feeds.map(shownFeed) });
  });
  api.get('/providers/:pid/errors', async c => {
    const wanted = { ...errorFilterOf(name => c.req.query(name)), limit: ERRORS_PAGE };
    const errors = await views.errors(idIn(c, 'pid'), wanted);
    const next = errors.length < ERRORS_PAGE ? null : (errors.at(-1)?.errseq ?? null);
    return c.json({ errors, next });
  });
  api.get('/applications', c => c.json(views.applications()));
  api.get('/applications/:id', async c => c.json(await views.application(idIn(c, 'id'))));
  api.get('/refusals', c => c.json(views.refusals(numberIn(c, 'before'))));
  api.get('/audit', c => c.json(views.audit(numberIn(c, 'before'), numberIn(c, 'pid'))));

  for (const { of, op, fields, run } of actions)
    api.post(`/${of}s/:id/${op}`, async c => {
      const [id, members] = [idIn(c, 'id'), await membersOf(c, '{"reason":"…"}')];
      await run(id, typedIn(members, fields), c.get('operator'));
      return of === 'application' ? c.json(await views.application(id)) : c.json({ pid: id, op }, 202);
    });
  const advice = 'try again later; the log has the reason';
  sealApi(api, {
    realm: 'LCC operators',
    failed,
    whyOf: error => ['failed', error instanceof LccError ? error.message : 'this failed', advice],
  });
  return api;
}

/** @throws RsRequestRefused 400 */
function typedIn(
  members: Readonly<Record<string, unknown>>,
  fields: readonly string[],
): Record<string, string> {
  const { reason } = members;
  const typed: Record<string, string> = {
    reason: typeof reason === 'string' ? reason.replace(/\p{Cc}+/gu, ' ') : '',
  };
  for (const name of fields)
    if (name !== 'reason' && members[name] !== undefined) typed[name] = textIn(members, name);
  return typed;
}

/** A number may be written as one. @throws RsRequestRefused 400 */
function textIn(members: Readonly<Record<string, unknown>>, name: string): string {
  const value = members[name];
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw new RsRequestRefused(400, name, `"${name}" is no amount`, 'send a number, or a text such as "5GB"');
}
