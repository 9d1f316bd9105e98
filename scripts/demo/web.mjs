// A web server over a directory, small and real enough for a robot: types, Last-Modified, If-Modified-Since.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, normalize } from 'node:path';
import { pipeline } from 'node:stream/promises';

const TYPES = {
  html: 'text/html',
  htm: 'text/html',
  md: 'text/markdown',
  txt: 'text/plain',
  css: 'text/css',
  js: 'text/javascript',
  png: 'image/png',
  svg: 'image/svg+xml',
};

/**
 * Serves `root` on the first free port of 127.0.0.1 from `port` up; `served` collects the paths answered with 200,
 * `requests` all that was asked for: `/path 304`.
 */
export async function serve(root, port) {
  const served = [];
  const requests = [];
  const server = createServer((request, response) => {
    response.on('finish', () => requests.push(`${request.url} ${response.statusCode}`));
    answer(root, request, response, served).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 60_000;
  return {
    port: await listen(server, port),
    served,
    requests,
    close: () => server.closeAllConnections() ?? server.close(),
  };
}

async function answer(root, request, response, served) {
  const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
  const file = join(root, normalize(path));
  const info = file.startsWith(join(root, '/')) ? await stat(file).catch(() => undefined) : undefined;
  if (info === undefined || !info.isFile()) return void response.writeHead(404).end();
  const modified = Math.floor(info.mtimeMs / 1000) * 1000;
  if (Date.parse(request.headers['if-modified-since'] ?? '') >= modified)
    return void response.writeHead(304).end();
  served.push(path);
  response.writeHead(200, {
    'content-type': TYPES[file.split('.').pop()] ?? 'application/octet-stream',
    'content-length': info.size,
    'last-modified': new Date(modified).toUTCString(),
  });
  await pipeline(createReadStream(file), response);
}

/** The first port from `port` up that is free. */
export async function listen(server, port) {
  for (; ; port++) {
    const error = await new Promise(resolve => {
      server.once('error', resolve);
      server.listen(port, '127.0.0.1', () => resolve(undefined));
    });
    server.removeAllListeners('error');
    if (error === undefined) return port;
    if (error.code !== 'EADDRINUSE') throw error;
  }
}
