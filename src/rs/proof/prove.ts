/**
 * Proof that the site of an applicant is theirs (docs/design/registration.md, "The proof"):
 *
 *     file ──the secret──▶ neighbour ──another answer──▶ robots.txt ──allows it──▶ vantages ──same──▶ proven
 *       ╰──────────────────────┴───────────────────────────┴──────────────────────────┴──▶ failed, and why
 */
import { hash, randomBytes } from 'node:crypto';
import type { Registration, RegistrationReason } from '../../db/rs/registrations.js';
import { passwordMatches } from '../../lib/password.js';
import type { Site } from '../site.js';
import { codeOfFailure, proofReason, type ProofCode } from './reasons.js';
import { robotsForbid } from './robots-file.js';
import { SiteFetcher, type SiteAnswer, type SiteFetcherOptions } from './site-fetcher.js';
import { lookFromElsewhere, type SeenFile, type VantageOptions } from './vantages.js';

export interface ProofOptions extends SiteFetcherOptions {
  /** Ports of sites, as texts. */
  ports: readonly string[];
  /** Longest proof. */
  checkTimeoutMs: number;
  /** Robots that look at the file from elsewhere. */
  vantages?: VantageOptions | undefined;
}

export interface Proof {
  /** Undefined when it succeeded. */
  failed: RegistrationReason | undefined;
  /** Directories that were proven. */
  prefixes: readonly string[];
  /** Addresses that were connected to. */
  addresses: readonly string[];
  /** Views of vantages that have not seen the same, or nothing; left out where there are none. */
  dissent?: readonly string[];
}

export const MAX_FILE_BYTES = 1024;
/** 80 random bits. */
const NAME_BYTES = 10;

/** A name that nobody can guess: `lcc-HANDLE.txt`. */
export function randomFileName(): string {
  return `lcc-${randomBytes(NAME_BYTES).toString('hex')}.txt`;
}

/** Never rejects but for a bug. */
export async function prove(
  site: Site,
  { file, secret, password }: Pick<Registration, 'file' | 'secret' | 'password'>,
  options: ProofOptions,
): Promise<Proof> {
  const { clock, checkTimeoutMs, ports, vantages } = options;
  const fetcher = new SiteFetcher(site, options);
  const over = new AbortController();
  const cancel = clock.after(checkTimeoutMs, () => {
    over.abort();
    fetcher.close();
  });
  try {
    const found = await look(fetcher, site.prefix, file, { secret: secret ?? '', password }, ports);
    const addresses = [...fetcher.addresses];
    if (typeof found === 'string') return { failed: proofReason(found), prefixes: [], addresses };
    const { prefixes, seen } = found;
    if (vantages === undefined) return { failed: undefined, prefixes, addresses };
    const { failed, dissent } = await lookFromElsewhere(vantages, seen, clock, over.signal);
    const of = { addresses, ...(dissent.length > 0 && { dissent }) };
    return failed === undefined
      ? { failed, prefixes, ...of }
      : { failed: proofReason(failed), prefixes: [], ...of };
  } finally {
    cancel();
    fetcher.close();
  }
}

/** Hashes of a pair. */
interface Hashes {
  secret: string;
  password: string | undefined;
}

async function look(
  fetcher: SiteFetcher,
  prefix: string,
  file: string,
  { secret, password }: Hashes,
  ports: readonly string[],
): Promise<ProofCode | { prefixes: string[]; seen: SeenFile }> {
  const get = (name: string) => {
    const places = permittedUrls(prefix + name, ports);
    return fetcher.get(prefix + name, places, MAX_FILE_BYTES);
  };
  const answer = await get(file);
  const wrong = problemOf(answer, secret, password);
  if (wrong !== undefined) return wrong;
  const { url: at, bytes } = answer.kind === 'content' ? answer : { url: '', bytes: Buffer.of() };
  const url = prefix + file;
  const places = permittedUrls(url, ports);
  if (!places.includes(at)) return 'elsewhere';
  const prefixes = [...new Set([prefix, at.slice(0, -file.length)])];

  const neighbour = await get(randomFileName());
  if (neighbour.kind === 'content' && isSecret(neighbour.bytes, secret)) return 'catch-all';
  if (neighbour.kind === 'failed' && isOfConnection(neighbour)) return codeOfFailure(neighbour.failure);

  for (const each of prefixes) {
    const forbidden = await robotsForbid(fetcher, each, ports);
    if (forbidden !== undefined) return forbidden;
  }
  const isSame = (found: Buffer) => isSecret(found, secret);
  return { prefixes, seen: { url, places, maxBytes: MAX_FILE_BYTES, text: textOf(bytes), isSecret: isSame } };
}

/** The site has not answered for itself, so nothing is known of what it has. */
const NO_ANSWER: readonly ProofCode[] = ['unreachable', 'slow', 'tls', 'broken', 'try-later'];

function isOfConnection({ failure }: Extract<SiteAnswer, { kind: 'failed' }>): boolean {
  return NO_ANSWER.includes(codeOfFailure(failure));
}

/** A url itself, and where http may lead to: the same path of the same host under https. */
export function permittedUrls(url: string, ports: readonly string[]): string[] {
  const twins = ports.map(port => {
    const twin = new URL(url);
    twin.protocol = 'https:';
    twin.port = port;
    return twin.href;
  });
  return [url, ...(url.startsWith('http:') ? twins : [])];
}

/**
 * The file holds the secret, or something else, which the applicant is told.
 * @returns undefined for the secret
 */
function problemOf(answer: SiteAnswer, secret: string, password: string | undefined): ProofCode | undefined {
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
function isSecret(bytes: Buffer, secret: string): boolean {
  return hash('sha256', textOf(bytes)) === secret;
}

export function textOf(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimEnd();
}
