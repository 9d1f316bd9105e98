/** The JSON API of operators, `/api/v1/op` on their listener, with name and password by Basic authentication (docs/frontdoor-api.md). */
import { Hono, type Context } from 'hono';
import { LccError } from '../../lib/errors.js';
import { clientAddress } from '../../web/client.js';
import type { NodeBindings } from '../api.js';
import { RsRequestRefused } from '../refusal.js';
import type { OperatorLogins } from './operators.js';
import type { OperatorViews } from './views.js';

type Ask = Context<{ Bindings: NodeBindings }>;

export interface OperatorApiOptions {
  logins: Pick<OperatorLogins, 'areRight'>;
  views: OperatorViews;
  failed: (path: string, error: unknown) => void;
}

export function operatorApiOf({ logins, views, failed }: OperatorApiOptions) {
  const api = new Hono<{ Bindings: NodeBindings }>({ strict: false });
  api.use(async (c, next) => {
    const [, coded = ''] = /^Basic ([A-Za-z0-9+/]+={0,2})$/i.exec(c.req.header('authorization') ?? '') ?? [];
    const [, name, password] = /^([^:]{1,64}):(.{1,200})$/.exec(atob(coded)) ?? [];
    const address = clientAddress(c.env.incoming, []);
    if (name === undefined || password === undefined || !(await logins.areRight(name, password, address)))
      throw new RsRequestRefused(
        401,
        'login',
        'name and password are missing, or do not belong together',
        'send them by Basic authentication; lccrs operator add makes them',
      );
    await next();
  });
  api.get('/applications', c => c.json(views.applications()));
  api.get('/audit', c => c.json(views.audit(numberIn(c, 'before'), numberIn(c, 'pid'))));
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

function refuse(c: Ask, { status, code, what, advice, retryAfterS }: RsRequestRefused) {
  if (retryAfterS !== undefined) c.header('retry-after', String(retryAfterS));
  if (status === 401) c.header('www-authenticate', 'Basic realm="LCC operators", charset="UTF-8"');
  return c.json({ code, what, where: c.req.path, do: advice }, status);
}

/** A number of the query; undefined where there is none. @throws RsRequestRefused 400 */
export function numberIn(c: Context, name: string): number | undefined {
  const text = c.req.query(name);
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw new RsRequestRefused(400, 'malformed', `"${name}" is no number`, 'give digits only');
  return Number(text);
}
