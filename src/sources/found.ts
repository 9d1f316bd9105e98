/** Reports of the readers of documents. */

export interface Found {
  /** A page, or something else that is listed with it. */
  location(text: string, facts: LocationFacts): void;
  /** Another list, named by an index. */
  child(text: string): void;
  /** Something was left out. */
  leave(what: string): void;
  /** The document is one whose entries leave it by themselves, as news do. */
  isWindow: boolean;
  /** Bytes of the document, unpacked, so far. */
  bytes: number;
}

export interface LocationFacts {
  lastmod?: string | undefined;
  mark?: string | undefined;
  /** By which a relative one is resolved; left out: it must be absolute. */
  base?: string | undefined;
}

/** Which urls besides those of pages are written. */
export interface Extras {
  images: boolean;
  videos: boolean;
  alternates: boolean;
  enclosures: boolean;
}
