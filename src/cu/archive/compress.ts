/** Compression of a whole stream, on its way: in another thread or process, and never more than a few pieces
 * ahead. */
import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { errnoOf, LccError } from '../../lib/errors.js';
import type { EncodedSink, StreamSink } from '../sink.js';

/** RFC 1952, at the level of gzip(1). */
export function gzipInto(sink: StreamSink): EncodedSink {
  const gzip = createGzip();
  return through(gzip, gzip, Promise.resolve(), () => gzip.destroy(), sink);
}

/** RFC 8878, by zstd(1), which Node 20 does not have. @throws LccError `peer.unavailable` where it is not
 * installed */
export function zstdInto(sink: StreamSink): EncodedSink {
  const child = spawn('zstd', ['--quiet', '--stdout'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve, reject) => {
    child.on('error', error => reject(notRun(error)));
    child.on('close', (status, signal) => {
      if (status === 0) resolve();
      else reject(new LccError('io', `zstd ended with ${status ?? signal}; the archive is not whole`));
    });
  });
  return through(child.stdin, child.stdout, ended, () => void child.kill('SIGKILL'), sink);
}

function notRun(error: Error): LccError {
  const why = errnoOf(error) === 'ENOENT' ? 'is not installed; install it, or take tar.gz' : `cannot be run`;
  return new LccError('peer.unavailable', `zstd ${why}`, { cause: error });
}

function through(
  input: Writable,
  output: Readable,
  ended: Promise<void>,
  destroy: () => void,
  sink: StreamSink,
): EncodedSink {
  // Why it broke is told by its end, or by the sink.
  input.on('error', () => undefined);
  const pumped = (async () => {
    for await (const chunk of output) await sink.write(chunk as Buffer);
    await ended;
  })();
  const broken = pumped.then(
    () => new Promise<never>(() => undefined),
    (error: unknown) => Promise.reject(error),
  );
  broken.catch(() => undefined);
  ended.catch(() => undefined);
  return {
    async write(chunk) {
      // Until it has been taken: the bytes are the caller's again.
      const taken = new Promise<void>(resolve => input.write(chunk, () => resolve()));
      await Promise.race([taken, broken]);
    },
    async end() {
      input.end();
      await pumped;
    },
    destroy,
  };
}
