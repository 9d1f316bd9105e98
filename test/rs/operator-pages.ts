/** The operators' pages and their API over a real server, of a Registration Server in this process. */
import assert from 'node:assert/strict';
import { Hono } from 'hono';
import { AccountFile } from '../../src/lib/account-file.js';
import type { NodeBindings } from '../../src/rs/api.js';
import { listenerOf } from '../../src/rs/listener.js';
import { operatorApiOf } from '../../src/rs/operator/api.js';
import { operatorActions } from '../../src/rs/operator/actions.js';
import { OperatorLogins } from '../../src/rs/operator/operators.js';
import { operatorPages } from '../../src/rs/operator/pages.js';
import { SeriesRecorder } from '../../src/rs/operator/recorder.js';
import { OperatorViews, type OperatorViewsOptions } from '../../src/rs/operator/views.js';
import { WebSessions } from '../../src/rs/sessions.js';
import { serveWeb, type WebServer } from '../../src/web/server.js';
import type { Ground } from '../web/support.js';
import type { RsScene } from './support.js';

export interface ServedOperators {
  server: WebServer;
  port: number;
  accounts: AccountFile;
  /** Of the operator `ada`. */
  password: string;
  /** What nobody outside can mend. */
  failed: unknown[];
}

/** @param seen what is known of the whole LCC @param url `rs.operator_url`, or '' */
export async function serveOperators(
  scene: RsScene,
  { services, limits }: Pick<Ground, 'services' | 'limits'>,
  seen: Pick<OperatorViewsOptions, 'looks' | 'ask' | 'mailTrouble'>,
  url = '',
): Promise<ServedOperators> {
  const { db, options, clock, transitions } = scene;
  const accounts = new AccountFile(`${scene.dir}/operators`, {
    one: 'operator',
    madeBy: 'lccrs operator add',
  });
  const password = accounts.add('ada');
  const failed: unknown[] = [];
  const nowMs = () => clock.nowMs();
  const times = options.operator.series;
  const views = new OperatorViews({ ...seen, db, recorder: new SeriesRecorder(db, times), times, nowMs });
  const sessions = new WebSessions(db, nowMs, options.sessions);
  const logins = new OperatorLogins({ accounts, clock });
  const { most, first } = options;
  const applied = () => void scene.applied++;
  const actions = operatorActions({ transitions, db, views, most, applied });
  const more = { views, actions, logins, url };
  const noted = (path: string, error: unknown) => void failed.push([path, error]);
  const register = 'http://cache.example.org/register';
  const pages = operatorPages({ ...more, register, sessions, most, first, nowMs, failed: noted });
  const app = new Hono<{ Bindings: NodeBindings }>({ strict: false })
    .route('/api/v1/op', operatorApiOf({ ...more, failed: noted }))
    .route(pages.base, pages.app);
  app.onError(pages.onError);
  const endpoint = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const;
  const server = await serveWeb(services, [endpoint], listenerOf(app, services.log), limits);
  const [served] = server.endpoints;
  assert.ok(served?.kind === 'tcp');
  return { server, port: served.port, accounts, password, failed };
}
