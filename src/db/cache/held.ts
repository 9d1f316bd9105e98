/** Content that is held of a url, the CP's words on it, and what came when it was fetched. */

/** Content that is held of a url. */
export interface Held {
  id: number;
  seq: number;
  curl: string;
  mimetype: string;
  subtype: string | null;
  burl: string | null;
  givenfurl: string | null;
  md5: string;
  len: number;
  mtime: string | null;
  saidmd5: string | null;
  saidlen: number | null;
  /** 1: what the CP said of it is not believed (as-announced.ts). */
  doubted: number;
  etag: string | null;
  lastmodified: string | null;
  http_charset: string | null;
  verified: number;
  fetched_time: number;
  fetched_machineid: string;
  fetched_fileid: string;
  psetid: number;
  /** 1: announced as served: its mimetype is what the server said. */
  served: number;
  /** Null: its owner announced it. */
  hops: number | null;
}

/** Whose a row is from now on, and whether it has the type that was served. */
export type Claim = Pick<Held, 'served' | 'hops'>;

/** Words of the CP on a url that content users see, besides the content itself. */
export interface Said {
  subtype: string | null;
  burl: string | null;
  furl: string | null;
  md5: string | null;
  len: number | null;
  mtime: string | null;
}

/** Content that has arrived. `mtime` is what the row shows: the CP's word, else the server's. */
export interface Arrived {
  md5: string;
  len: number;
  mtime: string | null;
  /** The server says that it is older than the CP says. */
  isOlder: boolean;
  etag: string | null;
  lastmodified: string | null;
  /** The encoding that the server named (lib/charset.ts). */
  charset: string | null;
  /** Where it came from after redirects; null: from where it was asked for. */
  finalurl: string | null;
  /** X-Robots-Tag. */
  robots: string | null;
  verified: boolean;
  machineid: string;
  fileid: string;
}

export function isSameContent(one: Pick<Held, 'md5' | 'len'>, other: Pick<Held, 'md5' | 'len'>): boolean {
  return one.md5 === other.md5 && one.len === other.len;
}
