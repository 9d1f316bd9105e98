/** Which session a request is of, by its cookie; and that a form which is sent is one of that session. */
import type { Context, MiddlewareHandler } from 'hono';
import { setCookie } from 'hono/cookie';
import type { SessionKind } from '../../db/rs/sessions.js';
import type { NodeBindings } from '../api.js';
import { RsRequestRefused } from '../refusal.js';
import type { WebSession, WebSessions } from '../sessions.js';
import { fieldsOf } from './fields.js';
import { FORM_TOKEN } from './layout.js';

/** Values for a handler after the gate. */
export interface SessionEnv {
  Bindings: NodeBindings;
  Variables: { session: WebSession };
}

/** Cookies of providers and of operators: ports of one host share cookies, so their names differ. */
const NAMES: Record<SessionKind, string> = { provider: 'lcc', operator: 'lcc-operator' };

export class SessionCookie {
  readonly #kind: SessionKind;
  readonly #isSecure: boolean;
  readonly #path: string;
  /** Pattern of the first token in the header; one that is not ours is not looked for. */
  readonly #pattern: RegExp;

  /** @param url public address of the pages */
  constructor(kind: SessionKind, url: string) {
    const { protocol, pathname } = new URL(url);
    this.#kind = kind;
    this.#isSecure = protocol === 'https:';
    // `__Host-` is for the whole host.
    this.#path = this.#isSecure ? '/' : pathname;
    const name = `${this.#isSecure ? '__Host-' : ''}${NAMES[kind]}`;
    this.#pattern = new RegExp(`(?:^|;)[ \\t]*${name}=([\\w-]+)[ \\t]*(?:;|$)`);
  }

  read(c: Context): string | undefined {
    return this.#pattern.exec(c.req.header('cookie') ?? '')?.[1];
  }

  /** Kept by the browser until it is closed. */
  write(c: Context, token: string): void {
    this.#set(c, token, {});
  }

  clear(c: Context): void {
    this.#set(c, '', { maxAge: 0 });
  }

  #set(c: Context, value: string, more: { maxAge?: number }): void {
    const options = { path: this.#path, httpOnly: true, sameSite: 'Lax', ...more } as const;
    if (this.#isSecure) setCookie(c, NAMES[this.#kind], value, { ...options, secure: true, prefix: 'host' });
    else setCookie(c, NAMES[this.#kind], value, options);
  }
}

/**
 * Lets nobody in without a session: those are sent to `toLogin` with 303.
 * @throws RsRequestRefused 403 for a form that is none of this session
 */
export function sessionGate(
  kind: SessionKind,
  sessions: WebSessions,
  cookie: SessionCookie,
  toLogin: (c: Context) => string,
): MiddlewareHandler<SessionEnv> {
  return async (c, next) => {
    const session = sessions.find(kind, cookie.read(c));
    if (session === undefined) return c.redirect(toLogin(c), 303);
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') {
      const sent = await fieldsOf(c, [FORM_TOKEN]);
      if (!sessions.sentBy(session, sent[FORM_TOKEN]))
        throw new RsRequestRefused(
          403,
          'form',
          'this form is of an earlier login',
          'open its page again, and send it from there',
        );
    }
    c.set('session', session);
    return next();
  };
}
