/** What happens in a history of urls that nobody announced, and its sets as they reach the Queue Manager. */
import type { SetOrigin } from '../../src/wire/origin.js';
import type { SetHead } from '../../src/wire/uns-qm.js';
import type { UrlRecord } from '../../src/wire/url.js';
import type { Kind, Url } from './model-unasked-types.js';
import { md5Of } from './support.js';
import { BASE } from './world.js';

export type UnaskedEvent =
  | { do: 'set'; kind: Kind; full: boolean; urls: Url[]; crashAt: number | undefined }
  | {
      do: 'answer';
      is: 'ok' | 'unchanged' | 'redirect' | 'error';
      len: number;
      type: string;
      http: number;
      to: string;
      code: number;
      crashAt: number | undefined;
    }
  | { do: 'pass'; seconds: number }
  | { do: 'robots'; forbids: boolean; away: boolean }
  | { do: 'received' }
  | { do: 'crash' };

const ORIGIN_OF: Record<Kind, SetOrigin | undefined> = {
  0: undefined,
  1: 'push',
  2: 'links',
  3: 'scan',
  4: 'audit',
};

export function headOf(
  seq: number,
  { kind, full, urls }: { kind: Kind; full: boolean; urls: Url[] },
): SetHead {
  const origin = ORIGIN_OF[kind];
  return {
    entry: `e${seq}`,
    pid: 1,
    seq,
    set: full && kind === 0 ? 'full' : 'partial',
    urlprefix: BASE,
    received: urls.length,
    errseen: 0,
    ip: '192.0.2.1',
    atS: 0,
    newest: kind === 0 ? seq : 0,
    numbering: kind === 0 ? 'n' : '',
    after: 0,
    deletes: 0,
    digest: JSON.stringify(urls),
    ...(origin === undefined ? {} : { origin }),
  };
}

export function recordOf({ curl, type, op, len, md5, ifabsent, hops }: Url): UrlRecord {
  return {
    curl,
    mimetype: type,
    op,
    ...(len === undefined ? {} : { len: String(len) }),
    ...(md5 === undefined ? {} : { md5: md5Of('x'.repeat(md5)) }),
    ...(ifabsent ? { ifabsent: 'yes' as const } : {}),
    ...(hops === undefined ? {} : { hops: String(hops), outofroot: 'drop' as const }),
  };
}
