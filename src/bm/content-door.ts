/**
 * Content of this store for the other machines of the LCC: `GET /FILEID` is a file of it, as it is, and `GET
 * /` says whose store it is. The reader of a content takes its md5: only the name is checked here.
 */
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Bound, Services } from '../daemon/types.js';
import { nameOf } from '../db/names/naming.js';
import type { Endpoint } from '../lib/endpoint.js';
import { errnoOf, LccError, messageOf } from '../lib/errors.js';
import { line, plainAnswer, send } from '../web/answer.js';
import { WEB_LIMITS, withoutPlace } from '../web/limits.js';
import { connectionOf, serveWeb, untimed, type WebServer } from '../web/server.js';
import { sendStream } from '../web/stream.js';
import { MACHINE_HEADER } from '../wire/content.js';

/** Bytes read of a file at a time. */
const CHUNK_BYTES = 64 * 1024;

const PLACES: Bound = {
  key: 'web.max_connections',
  whose: 'readers of content',
  machines: true,
  ...withoutPlace(message => plainAnswer(503, message)),
  say: ({ code, message }) => plainAnswer(code === 'auth.refused' ? 403 : 503, message),
};

export interface ContentDoorOptions {
  dir: string;
  machineId: string;
  /** Time in which a reader takes 64 KB. */
  stallMs: number;
}

/** @throws as `Services.listen` */
export function serveContent(
  services: Pick<Services, 'listen' | 'clock' | 'log'>,
  endpoints: readonly Endpoint[],
  options: ContentDoorOptions,
): Promise<WebServer> {
  const { log } = services;
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    untimed(request);
    response.setHeader(MACHINE_HEADER, options.machineId);
    answer(request, response, services, options).catch((error: unknown) => {
      const { peer } = connectionOf(request);
      log.warn('content not sent', { peer, path: request.url?.slice(0, 100), error: messageOf(error) });
      if (!response.headersSent) send(request, response, line(503, 'the file cannot be read now'));
    });
  };
  return serveWeb(services, endpoints, listener, WEB_LIMITS, PLACES);
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { clock }: Pick<Services, 'clock'>,
  { dir, stallMs, machineId }: ContentDoorOptions,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return send(request, response, line(405, 'content is read', { allow: 'GET, HEAD' }));
  const fileId = request.url?.slice(1) ?? '';
  if (fileId === '') return send(request, response, line(200, machineId));
  // Nothing but a file of a store has such a name.
  if (nameOf(fileId) === undefined) return send(request, response, line(404, 'no name of a store'));
  const file = await openFile(`${dir}/${fileId}`);
  if (file === undefined) return send(request, response, line(404, 'there is no such file'));
  try {
    const { size } = await file.stat();
    const headers = { 'content-length': size };
    await sendStream(
      request,
      response,
      { type: 'application/octet-stream', isPacked: true, headers, body: bytesOf(file, size) },
      { clock, stallMs, counted: () => undefined },
    );
  } catch (error) {
    if (!(error instanceof LccError) || error.code !== 'peer.unavailable') throw error;
  } finally {
    await file.close();
  }
}

/** Undefined where there is none, or something else under its name. */
async function openFile(path: string): Promise<FileHandle | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if ((await file.stat()).isFile()) return file;
    await file.close();
  } catch (error) {
    if (!NOT_THERE.has(errnoOf(error) ?? '')) throw error;
  }
  return undefined;
}

const NOT_THERE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO']);

/** A file that grows meanwhile is not the one that was asked for; its reader finds out. */
async function* bytesOf(file: FileHandle, size: number): AsyncGenerator<Buffer, void> {
  let left = size;
  for await (const chunk of file.createReadStream({
    autoClose: false,
    highWaterMark: CHUNK_BYTES,
  }) as AsyncIterable<Buffer>) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
  if (left > 0) throw new LccError('data.cut', 'the file became shorter while it was sent');
}
