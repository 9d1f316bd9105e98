/** The report of a UNS on a provider, asked for without a set, and as people read it. */
import { formatBytes } from '../lib/bytes-text.js';
import type { Amount, ProviderReport } from '../wire/cp-uns/client.js';
import { UnsSession, type SessionOptions } from './session.js';

/** Asks for it, and sends nothing. */
export async function askStatus(
  options: SessionOptions & { pid: string; password: string },
): Promise<ProviderReport> {
  const session = await UnsSession.open(options);
  try {
    const status = await session.init(options.pid, options.password);
    await session.close();
    return status;
  } catch (error) {
    session.drop();
    throw error;
  }
}

/** One line a subject. */
export function statusLines(status: ProviderReport): string[] {
  const { fullset } = status;
  const last = status.lastIp === '' ? 'the first' : `the last came from ${status.lastIp}`;
  const wanted = fullset.wanted
    ? `; one is wanted${fullset.reason === undefined ? '' : ` (${fullset.reason})`}`
    : '';
  return [
    `connection ${status.seq}, ${last}`,
    `mimetypes accepted: ${status.mimes.join(' ') || 'none'}`,
    `files: ${amountText(status.files, String)}`,
    `space: ${amountText(status.space, formatBytes)}`,
    `full sets: ${fullset.allowed ?? 'any number'} left${wanted}`,
    `waiting to be fetched: ${status.processing}`,
    `errors of earlier fetches: ${status.errors}`,
    ...(status.truth === undefined ? [] : [truthText(status.truth)]),
  ];
}

function truthText(truth: Readonly<Record<string, number>>): string {
  const { score, changed, same, failed, audited, silent, late } = truth;
  return `truthfulness: ${score} of 100; announced as changed: ${changed} were, ${same} were not, ${failed} were not to be had; of ${audited} audited ${silent} changed or went without being announced, ${late} were announced late`;
}

function amountText({ used, free }: Amount, text: (n: number) => string): string {
  return `${used === undefined ? 'unknown' : text(used)} used, ${free === undefined ? 'no limit' : `${text(free)} free`}`;
}
