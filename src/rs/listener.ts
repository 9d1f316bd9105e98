/** A Hono application as what `serveWeb` takes. */
import type { IncomingMessage, RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import type { NodeBindings } from './api.js';

/** @param answered each request, when it is */
export function listenerOf(
  app: Hono<{ Bindings: NodeBindings }>,
  log: Pick<Log, 'error'>,
  answered: (request: IncomingMessage) => void = () => undefined,
): RequestListener {
  const listener = getRequestListener(app.fetch);
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
