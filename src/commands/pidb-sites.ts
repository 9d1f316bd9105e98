/** The list of `lccpidb add --sites=FILE`: a host or a URL a line. */
import { readFileSync } from 'node:fs';
import { getDomain } from 'tldts';
import type { ProviderTerms } from '../db/providers/pidb.js';
import type { ListedSite } from '../db/providers/site-list.js';
import { LccError, reasonOf } from '../lib/errors.js';
import { generatePassword, hashPassword, NO_PASSWORD } from '../lib/password.js';
import { rootProblem } from '../wire/roots.js';
import { urlOfLine } from '../wire/site-line.js';

/** Urls that a provider of a list may have here, unless its terms say otherwise. */
const FILES_MAX = 100_000;

/** The sites of a list, `-` for standard input. @throws LccError `input.missing`, as sitesOf */
export function readSites(path: string, terms: Partial<ProviderTerms>): ListedSite[] {
  if (path === '-') return sitesOf('standard input', readFileSync(0, 'utf8'), terms);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new LccError('input.missing', `--sites=${path}: ${reasonOf(error)}`, { cause: error });
  }
  return sitesOf(path, text, terms);
}

/**
 * One of each site, in the order of the list; lines with nothing but a comment are none.
 * @param name where the list comes from, for messages @param terms of all of them
 * @throws LccError `usage` for a line that is no site
 */
function sitesOf(name: string, text: string, terms: Partial<ProviderTerms>): ListedSite[] {
  const roots = new Set<string>();
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    const url = urlOfLine(line);
    if (url !== undefined) roots.add(rootOf(url, line.trim(), `${name}:${i + 1}`));
  }
  return [...roots].map(root => ({
    root,
    terms: { filesmax: FILES_MAX, ...groupOf(root), ...terms },
    // Nobody knows it: an owner gets another one.
    password: () => (terms.spider === true ? NO_PASSWORD : hashPassword(generatePassword())),
  }));
}

/** The hosts of one owner, as far as names tell; what a service rents out counts as a domain of its own. */
function groupOf(root: string): Partial<ProviderTerms> {
  const groupname = getDomain(new URL(root).hostname, { allowPrivateDomains: true });
  return groupname === null ? {} : { groupname };
}

function rootOf(url: string, site: string, where: string): string {
  const root = /^https?:/i.test(url) && URL.canParse(url) ? new URL('/', url).href : undefined;
  const problem = root === undefined ? 'is no site' : rootProblem(root);
  if (root === undefined || problem !== undefined)
    throw new LccError(
      'usage',
      `${where}: ${site}: it ${problem}; give a host, or a URL such as https://www.example.org/`,
    );
  return root;
}
