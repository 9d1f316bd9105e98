/** Compares a site with what the LCC grants it, as far as that is known beforehand. */
import { closeSync } from 'node:fs';
import { LccError } from '../lib/errors.js';
import { readLinesAt } from '../lib/line-sequences.js';
import type { Amount, ProviderReport } from '../wire/cp-uns/client.js';
import { openState } from './state/statefile.js';

/** Urls of a site and the sum of their announced lengths. */
export interface SiteSize {
  urls: number;
  bytes: number;
}

const LENGTH = / len="(\d{1,15})"/;

/** Size of a site by its state: canonical lines. */
export function measureState(path: string): SiteSize {
  const size: SiteSize = { urls: 0, bytes: 0 };
  const fd = openState(path);
  try {
    for (const line of readLinesAt(fd, 0, path)) {
      size.urls += 1;
      size.bytes += Number(LENGTH.exec(line)?.[1] ?? 0);
    }
  } finally {
    closeSync(fd);
  }
  return size;
}

/** @throws LccError `data.refused` for a site that is larger than the quota */
export function refuseOverQuota(site: SiteSize, status: ProviderReport): void {
  const files = totalOf(status.files);
  if (site.urls > files) throw overQuota(`the site has ${site.urls} urls, the quota is ${files} files`, 202);
  const space = totalOf(status.space);
  if (site.bytes > space)
    throw overQuota(`the site has ${site.bytes} bytes, the quota is ${space} bytes`, 203);
}

function totalOf({ used, free }: Amount): number {
  return free === undefined ? Infinity : (used ?? 0) + free;
}

function overQuota(what: string, code: number): LccError {
  return new LccError(
    'data.refused',
    `${what} (code ${code}): the set was not sent; send less, or ask the LCC's operator for more`,
  );
}
