/**
 * Why a proof fails, and what the owner of the site does about it. What a site has answered is never shown.
 */
import type { RegistrationReason } from '../../db/rs/registrations.js';
import { familyOf, type FetchFailure } from '../../fetch/failure.js';

const REASONS = {
  missing: ['the file is not there (404)', 'put it into that directory, and look at it with a browser'],
  forbidden: [
    'the site does not let the file be read (401 or 403)',
    'let everybody read it until the check is over',
  ],
  status: ['the site answers with an error', 'look at the file with a browser, and mend what is wrong'],
  'try-later': ['the site answers that it cannot now (429 or 5xx)', 'check again in some minutes'],
  html: [
    'instead of the file there is a page of HTML',
    'put the file there as it is, under exactly its name',
  ],
  empty: ['the file is empty', 'write the secret into it'],
  long: ['the file is longer than 1 KB', 'it has to hold the secret and nothing else'],
  binary: ['the file is no text', 'save it as plain text, in UTF-8 or ASCII'],
  other: [
    'the file holds another text than the secret',
    'copy the secret of this pair, not of an earlier one',
  ],
  password: [
    'the file holds the password, which everybody could read: it is void',
    'take the file away, cancel this pair, and begin again with a new one',
  ],
  elsewhere: [
    'the site leads to another address',
    'register the address that it leads to, often the one with www. or https',
  ],
  unreachable: [
    'the site cannot be reached under this address',
    'check the name, and that the site can be reached from the internet',
  ],
  slow: ['the site did not answer in time', 'check again when it is less busy'],
  tls: [
    'the certificate of the site is not good: made by nobody known, for another name, or too old',
    'get another one, or register the http address; checking again does not help before',
  ],
  broken: [
    'the answer of the site is not HTTP as it must be',
    'look at the file with another program, and mend the server',
  ],
  'catch-all': [
    'the site has the secret under every name',
    'let it answer 404 for files that are not there; until then the file proves nothing',
  ],
  robots: [
    'robots.txt of the site forbids lccbot this directory',
    'ask the owner of the site; its author does not want it to be cached',
  ],
  'robots-later': [
    'robots.txt of the site cannot be read',
    'check again when it can be read, or is not there',
  ],
  vantages: [
    'from other networks the site does not show the file',
    'let its name lead to the same server everywhere and shut no network out; a change of its name takes some hours to be known',
  ],
  'vantages-later': [
    'the robots that look at the site from other networks do not answer',
    'check again in some minutes; if that goes on, ask the operator of this LCC',
  ],
} as const satisfies Record<string, readonly [what: string, advice: string]>;

export type ProofCode = keyof typeof REASONS;
export const PROOF_CODES = Object.keys(REASONS) as ProofCode[];

export function proofReason(code: ProofCode): RegistrationReason {
  const [what, advice] = REASONS[code];
  return { code, what, do: advice };
}

/** Codes of families of failures. */
const CODES: Readonly<Record<Exclude<ReturnType<typeof familyOf>, 'status'>, ProofCode>> = {
  'no-connection': 'unreachable',
  guard: 'unreachable',
  silence: 'slow',
  'total-timeout': 'slow',
  cancelled: 'slow',
  exhausted: 'slow',
  tls: 'tls',
  size: 'long',
  redirect: 'elsewhere',
  'unexpected-status': 'status',
  broken: 'broken',
  headers: 'broken',
  location: 'broken',
  'bad-url': 'broken',
  content: 'broken',
  sink: 'broken',
  source: 'broken',
  bug: 'broken',
};

/** Code for the failure of a fetch. Refused, filtered, unknown and inner addresses look alike. */
export function codeOfFailure(failure: FetchFailure): ProofCode {
  return failure.kind === 'status' ? codeOfStatus(failure.status) : CODES[familyOf(failure.kind)];
}

function codeOfStatus(status: number): ProofCode {
  if (status === 404 || status === 410) return 'missing';
  if (status === 401 || status === 403) return 'forbidden';
  return status === 429 || status >= 500 ? 'try-later' : 'status';
}
