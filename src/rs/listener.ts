/** A Hono application as what `serveWeb` takes. */
import type { RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import type { NodeBindings } from './api.js';

export function listenerOf(app: Hono<{ Bindings: NodeBindings }>, log: Pick<Log, 'error'>): RequestListener {
  const listener = getRequestListener(app.fetch);
  return (request, response) => {
    listener(request, response).catch((error: unknown) => {
      log.error('request failed', { error: messageOf(error) });
      response.destroy();
    });
  };
}
