/** Lets a provider in whose password is still the one that it has logged in with, and says how it stands now. */
import type { MiddlewareHandler } from 'hono';
import type { ShownProvider } from '../../db/providers/registered.js';
import type { ProviderViewOptions } from '../me.js';
import { RsRequestRefused } from '../refusal.js';
import type { WebSessions } from '../sessions.js';
import type { SessionCookie, SessionEnv } from './session-gate.js';

export interface ProviderEnv extends SessionEnv {
  Variables: SessionEnv['Variables'] & { provider: ShownProvider };
}

/**
 * After `sessionGate`.
 * @throws RsRequestRefused 503 while the Queue Manager is away
 */
export function providerGate(
  sessions: WebSessions,
  cookie: SessionCookie,
  ask: ProviderViewOptions['ask'],
  loginPath: string,
): MiddlewareHandler<ProviderEnv> {
  return async (c, next) => {
    const { account, mark } = c.get('session');
    const told = await ask({ op: 'show', pid: Number(account) });
    if (told === undefined)
      throw new RsRequestRefused(
        503,
        'away',
        'the part of this cache that knows your site is not running at the moment',
        'load this page again in a minute',
        10,
      );
    const provider = told['provider'] as ShownProvider | null;
    // A password that was set meanwhile ends every session of the one before, whoever set it.
    if (provider === null || !provider.enabled || String(provider.generation) !== mark) {
      sessions.endOf('provider', account);
      cookie.clear(c);
      return c.redirect(loginPath, 303);
    }
    c.set('provider', provider);
    return next();
  };
}
