/** The operators' listener: their pages below `/op`, their API below `/api/v1/op`, and nothing else. */
import { Hono } from 'hono';
import type { Services } from '../../daemon/types.js';
import type { RsDatabase } from '../../db/rs/database.js';
import type { NodeBindings } from '../api.js';
import type { RsOptions } from '../options.js';
import { operatorApiOf } from './api.js';
import { OperatorLogins, operatorsOf } from './operators.js';
import { OperatorViews } from './views.js';

export interface OperatorDoorOptions {
  services: Pick<Services, 'config' | 'clock' | 'log'>;
  options: RsOptions;
  db: RsDatabase;
  failed: (path: string, error: unknown) => void;
}

export function operatorDoor({ services, db, failed }: OperatorDoorOptions) {
  const { config, clock } = services;
  const app = new Hono<{ Bindings: NodeBindings }>({ strict: false });
  const logins = new OperatorLogins({ accounts: operatorsOf(config), clock });
  const views = new OperatorViews({ db });
  app.get('/healthz', c => c.text('ok\n'));
  app.get('/robots.txt', c => c.text('User-agent: *\nDisallow: /\n'));
  app.route('/api/v1/op', operatorApiOf({ logins, views, failed }));
  app.notFound(c => c.text('there is nothing here\n', 404));
  return app;
}
