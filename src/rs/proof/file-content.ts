/** Content of the file of a proof: the secret, or something else, which the applicant is told. */
import { hash } from 'node:crypto';
import { passwordMatches } from '../../lib/password.js';
import { codeOfFailure, type ProofCode } from './reasons.js';
import type { SiteAnswer } from './site-fetcher.js';

/** @returns undefined: the secret is in it */
export function problemOf(
  answer: SiteAnswer,
  secret: string,
  password: string | undefined,
): ProofCode | undefined {
  if (answer.kind === 'failed') return codeOfFailure(answer.failure);
  if (answer.status !== 200) return 'status';
  if (isSecret(answer.bytes, secret)) return undefined;
  if (password !== undefined && passwordMatches(textOf(answer.bytes), password)) return 'password';
  const text = answer.bytes.toString('latin1');
  if (/^[\s\u00ef\u00bb\u00bf]*$/.test(text)) return 'empty';
  if (/<!doctype html|<html|<head|<body/i.test(text)) return 'html';
  // eslint-disable-next-line no-control-regex
  return /[\0-\x08\x0e-\x1f]/.test(text) ? 'binary' : 'other';
}

/** @param secret its hash */
export function isSecret(bytes: Buffer, secret: string): boolean {
  return hash('sha256', textOf(bytes)) === secret;
}

export function textOf(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimEnd();
}
