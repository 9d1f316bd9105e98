/** From the words of the model to those of the Queue Manager. */
import type { FetchResult } from '../../src/wire/fetch.js';
import type { SetHead } from '../../src/wire/uns-qm.js';
import type { UrlRecord } from '../../src/wire/url.js';
import type { ResultKind } from './history.js';
import type { Result, Terms, Url } from './model.js';
import type { OneDatabase } from './one-database.js';
import { failure, md5Of, ok, unchanged, url } from './support.js';
import { BASE, type Bm, type World } from './world.js';

export function headOf(seq: number, pid: number, full: boolean, urls: readonly Url[]): SetHead {
  return {
    entry: `e${seq}`,
    pid,
    seq,
    set: full ? 'full' : 'partial',
    urlprefix: BASE,
    received: urls.length,
    errseen: 0,
    ip: '192.0.2.1',
    atS: 0,
    // Whichever UNS it comes by.
    newest: seq,
    numbering: 'n',
    after: 0,
    // The deletes of partial sets are not counted here: test/qm/fuse.test.ts does.
    deletes: 0,
    digest: JSON.stringify(urls),
  };
}

export function recordOf({ key, op, len, md5, mtime, ifabsent, tod }: Url): UrlRecord {
  const [curl = '', mimetype = ''] = key.split(' ');
  return url(curl, {
    mimetype,
    op,
    ...(len === undefined ? undefined : { len: String(len) }),
    ...(md5 === undefined ? undefined : { md5: md5Of('x'.repeat(md5)) }),
    ...(mtime === undefined ? undefined : { mtime: timeOf(mtime) }),
    ...(ifabsent ? { ifabsent: 'yes' as const } : undefined),
    ...(tod === undefined ? undefined : { tod }),
  });
}

export function timeOf(hour: number): string {
  return `2026-01-01T0${hour}:00:00Z`;
}

/** What a robot of `bm` answers; no result of the model's: the store is full, the url was not fetched. */
export function answerOf(
  kind: ResultKind,
  world: World,
  bm: Bm,
  len: number,
): { result: Result | undefined; message: FetchResult } {
  const error = (
    code: number,
    reach: 'real' | 'url' | 'provider',
    more: { retryAfterMs?: number } = {},
  ): { result: Result; message: FetchResult } => ({
    result: { is: 'error', code, reach, ...more },
    message: failure(code, reach, more),
  });
  switch (kind) {
    case 'ok': {
      const file = world.newFile(bm);
      const more = { machineId: bm.machine, fileId: file, etag: '"1"' };
      return {
        result: { is: 'ok', len, file: `${bm.machine}/${file}` },
        message: ok('x'.repeat(len), more),
      };
    }
    case 'unchanged':
      return { result: { is: 'unchanged' }, message: unchanged };
    case 'gone':
      return error(404, 'real');
    case 'later':
      return error(500, 'url');
    case 'busy':
      return error(503, 'url', { retryAfterMs: 5000 });
    case 'site':
      return error(602, 'provider');
    case 'store-full':
      return { result: undefined, message: failure(613, 'provider') };
  }
}

export function addProvider(database: OneDatabase, terms: Terms): void {
  const { pid, priority, parallel, filesmax, spacemax, mask, isSpread } = terms;
  database.run(
    `INSERT INTO pidb(pid, password, priority, parallel, filesmax, spacemax, timeofday)
     VALUES (?, 'x', ?, ?, ?, ?, ?)`,
    pid,
    priority,
    parallel,
    filesmax,
    spacemax,
    mask,
  );
  database.run('INSERT INTO proots VALUES (?, ?)', pid, BASE);
  if (isSpread) database.run('INSERT INTO proots VALUES (?, ?)', pid, 'http://127.0.0.2/');
}
