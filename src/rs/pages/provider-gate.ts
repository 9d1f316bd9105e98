/** Lets a provider in whose password is still the one that it has logged in with, and says how it stands now. */
import type { MiddlewareHandler } from 'hono';
import type { ShownProvider } from '../../db/providers/registered.js';
import type { WebSessions } from '../sessions.js';
import type { QmAnswers } from './qm-answers.js';
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
  qm: Pick<QmAnswers, 'provider' | 'standing' | 'drop'>,
  loginPath: string,
): MiddlewareHandler<ProviderEnv> {
  return async (c, next) => {
    const { account, mark } = c.get('session');
    const pid = Number(account);
    const standing = await qm.standing(pid);
    // A password that was set meanwhile ends every session of the one before.
    const isIn = standing !== undefined && (standing.enabled === 1 || standing.leaveat !== null);
    if (!isIn || String(standing.generation) !== mark) {
      qm.drop(pid);
      sessions.endOf('provider', account);
      cookie.clear(c);
      return c.redirect(loginPath, 303);
    }
    const isLook = c.req.method === 'GET' || c.req.method === 'HEAD';
    let provider = await qm.provider(pid, isLook);
    if (provider?.leaveat !== standing.leaveat) {
      qm.drop(pid);
      provider = await qm.provider(pid, false);
    }
    if (provider === undefined) return c.redirect(loginPath, 303);
    c.set('provider', provider);
    return next();
  };
}
