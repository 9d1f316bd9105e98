/** The JSON API of operators, `/api/v1/op` on their listener, with name and password by Basic authentication
 * (docs/frontdoor-api.md). It has no cookies: what a request may do is in it. */
import { Hono, type Context } from 'hono';
import { LccError } from '../../lib/errors.js';
import { clientAddress } from '../../web/client.js';
import { RS_CONTROLS } from '../../wire/qm-rs.js';
import { boundedBody } from '../api-parts.js';
import { requireOwn, type NodeBindings } from '../api.js';
import { RsRequestRefused } from '../refusal.js';
import { errorFilterOf, ERRORS_PAGE } from '../pages/me-errors.js';
import { refusing } from '../refused-requests.js';
import { TERMS } from '../terms.js';
import type { Decisions } from './decisions.js';
import { operatorOrigin } from './gate.js';
import type { OperatorLogins } from './operators.js';
import { termsOf } from './provider-page.js';
import { idIn, jsonOf, numberIn, searchOf, stepOf } from './query.js';
import type { OperatorViews } from './views.js';

interface ApiEnv {
  Bindings: NodeBindings;
  Variables: { operator: string };
}
type Ask = Context<ApiEnv>;

export interface OperatorApiOptions {
  logins: Pick<OperatorLogins, 'areRight'>;
  views: OperatorViews;
  decisions: Decisions;
  /** `rs.operator_url`, or ''. */
  url: string;
  maxBodyBytes: number;
  failed: (path: string, error: unknown) => void;
}

export function operatorApiOf({ logins, views, decisions, url, maxBodyBytes, failed }: OperatorApiOptions) {
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
  api.use(boundedBody(maxBodyBytes));
  const seen = (path: string, view: () => object) =>
    api.get(path, async c => {
      await views.hear();
      return c.json(view());
    });
  seen('/', () => views.overview());
  seen('/queue', () => views.queue());
  seen('/daemons', () => views.daemons());
  api.get('/series', c => jsonOf(c, views.series(stepOf(c))));
  api.get('/providers', async c =>
    c.json(await views.providers(searchOf(c.req.query('search') ?? ''), numberIn(c, 'after') ?? 0)),
  );
  api.get('/providers/:pid', async c => c.json(await views.provider(idIn(c, 'pid'))));
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

  api.post('/applications/:id/approve', async c => {
    decisions.approve(idIn(c, 'id'), typedIn(await membersOf(c)), c.get('operator'));
    return c.json(await views.application(idIn(c, 'id')));
  });
  api.post('/applications/:id/refuse', async c => {
    decisions.refuse(idIn(c, 'id'), reasonIn(await membersOf(c)), c.get('operator'));
    return c.json(await views.application(idIn(c, 'id')));
  });
  api.post('/providers/:pid/limits', async c => {
    const [pid, members] = [idIn(c, 'pid'), await membersOf(c)];
    const { provider } = await views.provider(pid);
    const has = provider === null ? undefined : termsOf(provider);
    decisions.limits(pid, typedIn(members), has, reasonIn(members), c.get('operator'));
    return c.json({ pid, op: 'limits' }, 202);
  });
  for (const op of RS_CONTROLS)
    api.post(`/providers/:pid/${op}`, async c => {
      decisions.control(idIn(c, 'pid'), op, reasonIn(await membersOf(c)), c.get('operator'));
      return c.json({ pid: idIn(c, 'pid'), op }, 202);
    });
  api.all('*', () => {
    throw new RsRequestRefused(404, 'unknown', 'there is nothing here', 'see lccd-rs(8)');
  });
  api.onError((error, c) => {
    if (error instanceof RsRequestRefused) return refuse(c, error);
    failed(c.req.path, error);
    const what = error instanceof LccError ? error.message : 'this failed';
    return refuse(c, new RsRequestRefused(503, 'failed', what, 'try again later; the log has the reason'));
  });
  return api;
}

function refuse(c: Ask, refused: RsRequestRefused) {
  const { status, code, what, advice } = refused;
  refusing(c, refused);
  if (status === 401) c.header('www-authenticate', 'Basic realm="LCC operators", charset="UTF-8"');
  return c.json({ code, what, where: c.req.path, do: advice }, status);
}

/** @throws RsRequestRefused 400, 415 */
async function membersOf(c: Ask): Promise<Readonly<Record<string, unknown>>> {
  if (!/^application\/json\b/i.test(c.req.header('content-type') ?? ''))
    throw new RsRequestRefused(415, 'type', 'the body is not JSON', 'send it as application/json');
  const value: unknown = await c.req.json().catch(() => undefined);
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new RsRequestRefused(400, 'malformed', 'the body is no JSON object', 'send {"reason":"…"}');
}

/** @throws RsRequestRefused 400 */
function typedIn(members: Readonly<Record<string, unknown>>): Record<string, string> {
  const typed: Record<string, string> = {};
  for (const { name } of TERMS) if (members[name] !== undefined) typed[name] = textIn(members, name);
  return typed;
}

/** A number may be written as one. @throws RsRequestRefused 400 */
function textIn(members: Readonly<Record<string, unknown>>, name: string): string {
  const value = members[name];
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw new RsRequestRefused(400, name, `"${name}" is no amount`, 'send a number, or a text such as "5GB"');
}

function reasonIn({ reason }: Readonly<Record<string, unknown>>): string {
  return typeof reason === 'string' ? reason.replace(/\p{Cc}+/gu, ' ') : '';
}
