/** The operators' listener: their pages below `/op`, their API below `/api/v1/op`, and nothing else. */
import { Hono } from 'hono';
import type { Services } from '../../daemon/types.js';
import { isPassing, messageOf } from '../../lib/errors.js';
import type { NodeBindings } from '../api.js';
import { healthz } from '../health.js';
import { urlBelow } from '../options.js';
import type { RsCore } from '../start/core.js';
import { operatorApiOf } from './api.js';
import { operatorActions } from './actions.js';
import { OperatorLogins, operatorsOf } from './operators.js';
import { operatorPages } from './pages.js';
import { HomeLooks } from '../homes/looks.js';
import { QmLooks, type QmLooksOptions } from './qm-looks.js';
import { SeriesRecorder } from './recorder.js';
import { OperatorViews } from './views.js';

/** @param failed reports a fault that nobody outside can mend */
export function operatorDoor(
  services: Services,
  core: RsCore,
  failed: (path: string, error: unknown) => void,
) {
  const { options, db, health, homes, mail, clock, log } = core;
  const { url, series: times } = options.operator;
  const recorder = new SeriesRecorder(db, times);
  const looking: QmLooksOptions = {
    clock,
    timeoutMs: options.qm.timeoutMs,
    intervalMs: times.fineMs,
    seen(overview) {
      try {
        recorder.add(overview);
      } catch (error) {
        if (!isPassing(error)) throw error;
        log.warn('figures not kept', { error: messageOf(error) });
      }
    },
    fail: core.fail,
  };
  const looks = homes === undefined ? new QmLooks(looking) : new HomeLooks(looking, homes);
  const views = new OperatorViews({ ...core, looks, recorder, times, mailTrouble: () => mail.trouble });
  const logins = new OperatorLogins({ accounts: operatorsOf(services.home), clock });
  const { most, first } = options;
  const actions = operatorActions({ ...core, views, most });
  const served = {
    ...core,
    url,
    register: options.mode === 'closed' ? '' : urlBelow(options.url, 'register'),
    logins,
    views,
    actions,
    most,
    first,
    failed,
  };
  const pages = operatorPages(served);

  const app = new Hono<{ Bindings: NodeBindings }>({ strict: false });
  app.get('/healthz', c => healthz(c, health));
  app.get('/robots.txt', c => c.text('User-agent: *\nDisallow: /\n'));
  const above = pages.base.replace(/\/op$/, '');
  app.get(`${above}/`, c => c.redirect(pages.base, 303));
  app.route(`${above}/api/v1/op`, operatorApiOf(served));
  app.route(pages.base, pages.app);
  app.onError(pages.onError);
  app.notFound(c => c.text('there is nothing here\n', 404));
  return {
    app,
    /** Looks at the LCC, over a connection of its own, until `stop`. */
    start() {
      const peer = services.connect(
        { kind: 'unix', path: options.qmSocket },
        each => looks.serve(each),
        'Queue Manager that is looked at',
      );
      return {
        stop() {
          peer.close();
          looks.stop();
        },
      };
    },
  };
}
