/** A load balancer before rails that generate what they are asked for and do not have: it makes the page, and a rail keeps it. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestRail } from './rails.js';

export interface GeneratedAnswer {
  status?: number;
  body?: string | Buffer;
  headers?: Record<string, string>;
  /** Says no length, and ends in the middle. */
  isCut?: boolean;
}

export interface LoadBalancer {
  url: string;
  /** What it was asked for, in order. */
  asked: { url: string; host: string; cacheControl: string }[];
  /** By the url of the page, without the timestamp. */
  answer: (url: string, request: IncomingMessage) => GeneratedAnswer | Promise<GeneratedAnswer>;
  stop(): Promise<void>;
}

const STAMP = /-\d{17}(?=\.|$)/;

/** @param rails the first of them generates */
export async function startLoadBalancer(rails: readonly TestRail[]): Promise<LoadBalancer> {
  const server = createServer((request, response) => {
    void (async () => {
      const url = request.url ?? '';
      const { host = '', 'cache-control': cacheControl = '' } = request.headers;
      balancer.asked.push({ url, host, cacheControl });
      const {
        status = 200,
        body = '',
        headers = {},
        isCut,
      } = await balancer.answer(url.replace(STAMP, ''), request);
      if (status === 200) rails[0]?.write([url], 'generated');
      if (isCut === true) {
        response.writeHead(status, { 'content-length': Buffer.byteLength(body) + 10, ...headers });
        response.write(body, () => response.destroy());
        return;
      }
      response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers }).end(body);
    })();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const balancer: LoadBalancer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    asked: [],
    answer: url => ({ body: `new ${url}` }),
    stop: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return balancer;
}
