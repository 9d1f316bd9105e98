/** The pages over a real server, as a browser without JavaScript asks for them. */
import assert from 'node:assert/strict';
import { request, type RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { Hono } from 'hono';
import { Account } from '../../src/rs/account.js';
import type { NodeBindings } from '../../src/rs/api.js';
import { listenerOf } from '../../src/rs/listener.js';
import type { ProviderViewOptions } from '../../src/rs/me.js';
import { pagesOf } from '../../src/rs/pages/pages.js';
import { WebSessions } from '../../src/rs/sessions.js';
import { notTogether } from '../../src/rs/uns-door.js';
import { serveWeb, type WebServer } from '../../src/web/server.js';
import type { Ground } from '../web/support.js';
import type { RsScene } from './support.js';

export interface Page {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  html: string;
  location: string;
  /** What is to be sent back, `name=value`; '' when none is set. */
  cookie: string;
}

export class PagesScene {
  readonly server: WebServer;
  readonly failed: unknown[];
  /** Of all answers: those that were written as streams are. */
  pieces = 0;

  private constructor(server: WebServer, failed: unknown[]) {
    this.server = server;
    this.failed = failed;
  }

  /** The pages of a scene. */
  static siteOf(
    { registrar, mail, options, clock, db, feeds }: RsScene,
    view: ProviderViewOptions,
    account: Account,
    failed: unknown[] = [],
  ) {
    return pagesOf({
      registrar,
      account,
      db,
      refusals: { flush: () => undefined },
      feeds,
      mail,
      sessions: new WebSessions(db, clock.nowMs, options.sessions),
      view,
      options,
      clock,
      failed: (path, error) => void failed.push([path, error]),
    });
  }

  static async start(
    scene: RsScene,
    { services, limits }: Pick<Ground, 'services' | 'limits'>,
    view: ProviderViewOptions = NOBODY,
    account: Account = accountOf(scene, view),
  ): Promise<PagesScene> {
    const failed: unknown[] = [];
    const site = PagesScene.siteOf(scene, view, account, failed);
    const base = new URL(scene.options.url).pathname.replace(/\/$/, '');
    const app = new Hono<{ Bindings: NodeBindings }>({ strict: false }).route(base, site.app);
    app.onError(site.onError);
    const endpoint = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const;
    const listener = listenerOf(app, services.log);
    const counting: RequestListener = (asked, answer) => {
      const write = answer.write.bind(answer) as (...args: unknown[]) => boolean;
      answer.write = (...args: unknown[]) => {
        pages.pieces++;
        return write(...args);
      };
      listener(asked, answer);
    };
    const pages = new PagesScene(await serveWeb(services, [endpoint], counting, limits), failed);
    return pages;
  }

  ask(path: string, form?: Record<string, string>, headers: Record<string, string> = {}): Promise<Page> {
    const [endpoint] = this.server.endpoints;
    assert.ok(endpoint?.kind === 'tcp');
    const body = form === undefined ? undefined : new URLSearchParams(form).toString();
    const type = body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
    const method = body === undefined ? 'GET' : 'POST';
    const { port } = endpoint;
    return new Promise((resolve, reject) => {
      const asked = request({ port, method, path, headers: { ...type, ...headers } }, answer => {
        void text(answer).then(
          html =>
            resolve({
              status: answer.statusCode ?? 0,
              headers: answer.headers,
              html,
              location: answer.headers.location ?? '',
              cookie: answer.headers['set-cookie']?.[0]?.split(';')[0] ?? '',
            }),
          reject,
        );
      });
      asked.on('error', reject).end(body);
    });
  }
}

function accountOf(
  { db, options, registrar, room, clock }: RsScene,
  { door, ask }: ProviderViewOptions,
): Account {
  return new Account({
    db,
    options,
    registrar,
    room,
    door,
    ask,
    clock,
    applied: () => undefined,
    patienceMs: 1,
  });
}

/** Knows no provider. */
export const NOBODY: ProviderViewOptions = {
  door: { look: () => Promise.reject(notTogether()), isRight: () => Promise.reject(notTogether()) },
  ask: () => Promise.resolve({ provider: null }),
};

/** The token in the forms of a page. */
export function formTokenIn({ html }: Page): string {
  return /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? '';
}
