/** Doors of lccd-rs: one for applicants and providers, one with places of its own for operators. */
import { Hono } from 'hono';
import ipaddr from 'ipaddr.js';
import type { Services } from '../../daemon/types.js';
import { formatEndpoint, type Endpoint } from '../../lib/endpoint.js';
import { errnoOf, messageOf } from '../../lib/errors.js';
import { isIn } from '../../lib/network.js';
import { WEB_LIMITS, WEB_PLACES } from '../../web/limits.js';
import { serveWeb } from '../../web/server.js';
import { apiOf, type NodeBindings } from '../api.js';
import { feedDoor } from '../feeds/door.js';
import { healthz } from '../health.js';
import { indexNowDoor, MAX_BODY_BYTES } from '../indexnow/door.js';
import { IndexNowIntake } from '../indexnow/intake.js';
import { listenerOf } from '../listener.js';
import { operatorDoor } from '../operator/door.js';
import { urlBelow } from '../options.js';
import { pagesOf } from '../pages/pages.js';
import { RefusedRequests, withoutCapability } from '../refused-requests.js';
import type { RsCore } from './core.js';

/** Resolves when both listen. */
export async function openDoors(
  services: Services,
  core: RsCore,
  applicants: readonly Endpoint[],
  operators: readonly Endpoint[],
) {
  const { db, options, log, feeds, health, push, nowMs } = core;
  const limits = { ...WEB_LIMITS, maxBodyBytes: MAX_BODY_BYTES };
  const failed = (path: string, error: unknown) =>
    // A client that goes away while it sends has not failed here.
    log[errnoOf(error) === 'ECONNRESET' ? 'debug' : 'error']('request failed', {
      path: withoutCapability(path),
      error: messageOf(error),
    });
  const common = { ...core, feeds: feeds.book, view: core, failed };

  const app = new Hono<{ Bindings: NodeBindings }>({ strict: false });
  app.get('/healthz', c => healthz(c, health));
  app.get('/robots.txt', c => c.text('User-agent: *\nDisallow: /\n'));
  const base = new URL(options.url).pathname.replace(/\/$/, '');
  const intake = new IndexNowIntake({
    ...core,
    site: options.site,
    demandRoom: () => core.room.demand('pushes'),
    registerUrl: urlBelow(options.url, 'register'),
    stir: () => push.stir(),
  });
  const { proxies } = options;
  app.route('/', indexNowDoor({ ...core, intake, base, proxies, failed }));
  app.route(`${base}/api/v1`, apiOf(common));
  const called = feedDoor({ ...core, ...feeds, proxies, failed });
  app.route(base === '' ? '/' : base, called.app);
  const pages = pagesOf(common);
  app.route(base === '' ? '/' : base, pages.app);
  app.onError(pages.onError);
  app.notFound(c => c.text('there is nothing here\n', 404));

  const noted = { db, nowMs, limit: options.refusals };
  const refused = new RefusedRequests({ ...noted, proxies, by: 'applicant' });
  // A proxy speaks for all of its clients.
  const except = (address: string) => ipaddr.isValid(address) && isIn(proxies, ipaddr.process(address));
  const bound = { ...WEB_PLACES, ofAddress: { key: 'web.max_connections_per_address', except } } as const;
  const web = await serveWeb(
    services,
    applicants,
    listenerOf(app, log, refused.answered, core.gate),
    limits,
    bound,
  );
  for (const endpoint of web.endpoints) log.info('listening', { endpoint: formatEndpoint(endpoint) });

  const inner = operatorDoor(services, core, failed);
  const refusedInside = new RefusedRequests({ ...noted, proxies: undefined, by: 'operator' });
  const listener = listenerOf(inner.app, log, refusedInside.answered, core.gate);
  const operatorWeb = await serveWeb(services, operators, listener, WEB_LIMITS, { ...WEB_PLACES });
  const looking = operators.length === 0 ? undefined : inner.start();
  for (const endpoint of operatorWeb.endpoints) log.info('operators', { endpoint: formatEndpoint(endpoint) });

  return {
    feedCounts: called.counts,
    listens: [...web.endpoints, ...operatorWeb.endpoints].map(each => formatEndpoint(each)),
    /** What was refused and had no row of its own. */
    tidy() {
      refused.tidy();
      refusedInside.tidy();
    },
    async close() {
      await Promise.all([web.close(), operatorWeb.close()]);
      looking?.stop();
    },
  };
}
