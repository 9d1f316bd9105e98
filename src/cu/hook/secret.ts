/** Secrets of a webhook, and what they sign: Standard Webhooks 1, symmetric (standardwebhooks.com). */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { LccError, reasonOf } from '../../lib/errors.js';

const PREFIX = 'whsec_';
const LINE = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
const [MIN_BYTES, MAX_BYTES] = [24, 64];
const NEW_BYTES = 32;
/** While one takes the place of the other. */
const MOST = 2;

export function newSecret(): string {
  return PREFIX + randomBytes(NEW_BYTES).toString('base64');
}

/** @throws LccError `input.missing` where it cannot be read, `config` for what is no secret; none is named */
export function readSecrets(file: string): Buffer[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new LccError('input.missing', `${file}: ${reasonOf(error)}`, { cause: error });
  }
  if ((statSync(file).mode & 0o007) !== 0)
    throw new LccError('config', `${file}: others may read or write it; chmod 600 ${file}`);
  const lines = text.split('\n').filter(line => line.trim() !== '');
  const wrong = (at: number) =>
    new LccError(
      'config',
      `${file}:${at}:1: no secret; write ${PREFIX} and base64 of ${MIN_BYTES} to ${MAX_BYTES} bytes, one a line, ${MOST} at most; lcchook --new-secret makes one`,
    );
  if (lines.length === 0) throw wrong(1);
  return lines.map((line, i) => {
    const key = Buffer.from(LINE.exec(line.trim())?.[1] ?? '', 'base64');
    if (i >= MOST || key.length < MIN_BYTES || key.length > MAX_BYTES) throw wrong(i + 1);
    return key;
  });
}

/** The name of a message: the same on each try. */
export function idOf(body: string): string {
  return `msg_${createHash('sha256').update(body).digest('hex').slice(0, 32)}`;
}

/** The headers that sign a message, names and values by turns. @param nowMs of this try */
export function signed(id: string, body: string, secrets: readonly Buffer[], nowMs: number): string[] {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = secrets.map(
    key => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  );
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
  return Object.entries(headers).flat();
}
