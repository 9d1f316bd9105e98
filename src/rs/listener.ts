/** A Hono application as what `serveWeb` takes. */
import type { IncomingMessage, RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import type { NodeBindings } from './api.js';
import type { RsGate } from './gate.js';

/**
 * @param answered each request, when it is
 * @param gate asked before each answer
 */
export function listenerOf(
  app: Hono<{ Bindings: NodeBindings }>,
  log: Pick<Log, 'error'>,
  answered: (request: IncomingMessage) => void = () => undefined,
  gate?: Pick<RsGate, 'answers'>,
): RequestListener {
  const listener = getRequestListener(async (...asked: Parameters<typeof app.fetch>) => {
    const answer = await app.fetch(...asked);
    try {
      // safeguard: answers over HTTP waiting for the engine
      await gate?.answers();
      return answer;
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      log.error('request not answered', { error: error.message });
      return new Response('temporarily off-line, try again later\n', { status: 503 });
    }
  });
  return (request, response) => {
    const failed = (error: unknown) => {
      log.error('request failed', { error: messageOf(error) });
      response.destroy();
    };
    listener(request, response)
      .then(() => answered(request))
      .catch(failed);
  };
}
