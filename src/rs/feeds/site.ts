/** The host of a request for a feed, and what its failure is called. */
import { isIP } from 'node:net';
import type { FetchFailure } from '../../fetch/failure.js';
import { reasonOf } from '../../lib/errors.js';

/** A name without a dot is of this network: it may mean what the operator allows, and no public address. */
export function siteAt(url: string): { isInner: boolean } {
  const { hostname } = new URL(url);
  return { isInner: isIP(hostname.replace(/^\[|\]$/g, '')) === 0 && !hostname.includes('.') };
}

/** The port of a url, as a text. */
export function portOf(url: string): string {
  const { port, protocol } = new URL(url);
  return port === '' ? (protocol === 'https:' ? '443' : '80') : port;
}

export function failureText(failure: FetchFailure): string {
  const { kind } = failure;
  if (kind === 'status') return `it answers with status ${failure.status}`;
  if (kind === 'sink' || kind === 'source') return reasonOf(failure.error);
  return kind === 'guard' ? `its address is not permitted: ${failure.detail}` : `${kind}: ${failure.detail}`;
}
