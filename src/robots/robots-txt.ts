/**
 * robots.txt (RFC 9309): what a site permits a robot of some name to fetch, read once and asked for each url.
 *
 *     User-agent: examplebot        one group: agents that follow each other, then their rules
 *     User-agent: otherbot
 *     Disallow: /private            the longest rule that matches counts, of equal ones the one that allows
 *     Allow: /private/*.html$       `*` is anything, `$` at the end the end of the url, and elsewhere itself
 *
 * Groups of one name are one group. Lines that are none of these end no group, whatever they are. Our own,
 * since robots-parser 3.0.1 splits a group at a Sitemap line, takes `%7E` and `~` for two, and forbids
 * /robots.txt itself.
 */

/** Rules of a site for one robot. */
export interface RobotsRules {
  /** True if a url of this origin may be fetched. */
  permits(url: string): boolean;
  /** They are of groups that name the robot, not of those for all. */
  isNamed: boolean;
  /** The pause between fetches that it wishes for (Crawl-delay, which no standard has); 0: none. */
  crawlDelayMs: number;
  /** Bytes of the rules, for who keeps many. */
  bytes: number;
}

interface Rule {
  isAllowed: boolean;
  /** Between wildcards, percent-encoding made equal. */
  parts: readonly string[];
  /**
   * Hashes of substrings that a path must contain to match the later parts; a path without them is skipped.
   */
  grams: readonly number[];
  /** The last part ends the url. */
  isAnchored: boolean;
  /** Length of the pattern: the longer one counts. */
  length: number;
}

interface Group {
  agents: string[];
  rules: Rule[];
  crawlDelayMs: number | undefined;
}

/** Read of a file; what is beyond counts for nothing. */
export const MAX_ROBOTS_BYTES = 512_000;
const LINE = /^[ \t]*([A-Za-z-]+)[ \t]*:[ \t]*([^#]*)/;
/** Characters that stand for themselves in a url whether they are encoded or not. */
const UNRESERVED = /[A-Za-z0-9._~-]/;
const ESCAPE = /%([0-9A-Fa-f]{2})/g;
/** In one form already. */
const PLAIN = /^[A-Za-z0-9._~/?&=*-]*$/;
/** Characters that RFC 3986 reserves and url parsers encode, without those that tell the parts of a url and
 * of a rule apart. */
const TO_ENCODE = /[^A-Za-z0-9._~/?&=*%-]+/g;
const ENCODED_SLASH = /%2F/g;

/** Wildcards of a rule; what is after them counts for nothing, and an allow with more is none. */
const MAX_WILDCARDS = 16;
/**
 * Characters of a path that are searched for the parts of rules; a url for which that does not suffice is
 * forbidden. 20 000 rules that share all of their beginnings with a path of 2000 characters would take a
 * fifth of a second.
 */
const MAX_SEARCHED = 1_000_000;

/** No rules: everything is permitted. */
export const NO_RULES: RobotsRules = { permits: () => true, isNamed: false, crawlDelayMs: 0, bytes: 0 };
/** Nothing is permitted. */
export const NOTHING_PERMITTED: RobotsRules = {
  permits: () => false,
  isNamed: false,
  crawlDelayMs: 0,
  bytes: 0,
};

/** The name by which robots.txt calls a robot: the first word of its User-Agent. */
export function productToken(userAgent: string): string {
  return /^[A-Za-z_-]*/.exec(userAgent)?.[0] ?? '';
}

/**
 * Reads a robots.txt.
 * @param token name of the robot, as `productToken` has it; letters are equal whatever their case
 */
export function readRobots(content: Uint8Array, token: string): RobotsRules {
  const text = new TextDecoder().decode(content.subarray(0, MAX_ROBOTS_BYTES));
  const groups = groupsOf(text);
  const named = groups.filter(({ agents }) => agents.includes(token.toLowerCase()));
  const meant = named.length > 0 ? named : groups.filter(({ agents }) => agents.includes('*'));
  // The first that matches is then the longest one, and of these one that allows.
  const rules = meant
    .flatMap(group => group.rules)
    .sort((a, b) => b.length - a.length || Number(b.isAllowed) - Number(a.isAllowed));
  const delays = meant.flatMap(({ crawlDelayMs }) => (crawlDelayMs === undefined ? [] : [crawlDelayMs]));
  return {
    permits(url) {
      const path = pathOf(url);
      if (path === '/robots.txt') return true;
      grams.note(path);
      let searched = 0;
      for (const rule of rules) {
        if (!path.startsWith(rule.parts[0] ?? '') || !grams.hasAll(rule.grams)) continue;
        if (matches(rule, path)) return rule.isAllowed;
        searched += path.length;
        if (searched > MAX_SEARCHED) return false;
      }
      return true;
    },
    isNamed: named.length > 0,
    crawlDelayMs: Math.max(0, ...delays),
    bytes: rules.reduce((sum, { length }) => sum + length, 0),
  };
}

function groupsOf(text: string): Group[] {
  const groups: Group[] = [];
  let hasRules = true;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const [, key = '', rest = ''] = LINE.exec(line) ?? [];
    const value = rest.trim();
    const group = groups.at(-1);
    switch (key.toLowerCase()) {
      case 'user-agent': {
        const agent = agentOf(value);
        if (hasRules || group === undefined)
          groups.push({ agents: [agent], rules: [], crawlDelayMs: undefined });
        else group.agents.push(agent);
        hasRules = false;
        break;
      }
      case 'allow':
      case 'disallow':
        hasRules = true;
        if (value.startsWith('/') || value.startsWith('*'))
          group?.rules.push(...rulesOf(value, key.toLowerCase() === 'allow'));
        break;
      case 'crawl-delay':
        if (group !== undefined && /^\d{1,9}(\.\d*)?$/.test(value)) group.crawlDelayMs = Number(value) * 1000;
        break;
      default:
        break;
    }
  }
  return groups;
}

function agentOf(value: string): string {
  return value === '*' || /^\*\s/.test(value) ? '*' : productToken(value).toLowerCase();
}

/** The rule of a pattern; none, for an allow with too many wildcards. */
function rulesOf(value: string, isAllowed: boolean): Rule[] {
  const pattern = value.replace(/\*{2,}/g, '*');
  const isAnchored = pattern.endsWith('$');
  const equal = equalised(isAnchored ? pattern.slice(0, -1) : pattern);
  const parts = equal.split('*');
  const isCut = parts.length > MAX_WILDCARDS + 1;
  if (isCut && isAllowed) return [];
  parts.length = Math.min(parts.length, MAX_WILDCARDS + 1);
  const [, ...searched] = parts;
  return [
    {
      isAllowed,
      parts,
      grams: telling(searched.map(gramsOf)),
      isAnchored: isAnchored && !isCut,
      length: equal.length + Number(isAnchored),
    },
  ];
}

/** Most hashes of a rule: a few tell most rules apart from a path. */
const MAX_GRAMS = 8;
const GRAM = 3;

/** A few of the hashes of parts: the last one of each part, then those before it. */
function telling(hashes: readonly number[][]): number[] {
  const found: number[] = [];
  const longest = Math.max(0, ...hashes.map(({ length }) => length));
  for (let nth = 1; nth <= longest && found.length < MAX_GRAMS; nth++)
    for (const each of hashes) {
      const hash = each.at(-nth);
      if (hash !== undefined && !found.includes(hash)) found.push(hash);
    }
  return found.slice(0, MAX_GRAMS);
}

/** Hashes of the characters in a row of a part: of three, or of all where it is shorter. */
function gramsOf(part: string): number[] {
  const length = Math.min(GRAM, part.length);
  const found: number[] = [];
  if (length === 0) return found;
  for (let i = 0; i + length <= part.length; i++) found.push(gramAt(part, i, length));
  return found;
}

function gramAt(text: string, at: number, length: number): number {
  let gram = length;
  for (let i = at; i < at + length; i++) gram = (Math.imul(gram, 31) + text.charCodeAt(i)) & 0xffff;
  return gram;
}

/** Which hashes the path that is compared now has; one table, since clearing it for each would take longer
 * than to fill it. */
class Grams {
  readonly #notedAt = new Uint32Array(0x10000);
  #round = 0;

  note(path: string): void {
    this.#round = (this.#round + 1) >>> 0;
    if (this.#round === 0) this.#notedAt.fill(0);
    for (let length = 1; length <= GRAM; length++)
      for (let i = 0; i + length <= path.length; i++) this.#notedAt[gramAt(path, i, length)] = this.#round;
  }

  hasAll(grams: readonly number[]): boolean {
    for (const gram of grams) if (this.#notedAt[gram] !== this.#round) return false;
    return true;
  }
}

const grams = new Grams();

/** Path and query as rules are compared with them: what is a wildcard in a rule is encoded. */
function pathOf(url: string): string {
  const [, rest = ''] = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*([^#]*)/i.exec(url) ?? [];
  const path = rest.startsWith('/') ? rest : `/${rest}`;
  return equalised(path).replaceAll('*', '%2A');
}

/** A path or a rule in the one form that both are compared in: what needs no encoding decoded, all else
 * encoded in capitals. A slash of a query is one whether it is encoded or not. */
function equalised(text: string): string {
  if (PLAIN.test(text)) return text;
  const equal = text
    .replace(TO_ENCODE, part => Buffer.from(part).toString('hex').replace(/../g, '%$&'))
    .replace(ESCAPE, (escape, hex: string) => {
      const char = String.fromCharCode(parseInt(hex, 16));
      return UNRESERVED.test(char) ? char : escape.toUpperCase();
    });
  const mark = equal.indexOf('?');
  return mark < 0 ? equal : equal.slice(0, mark) + equal.slice(mark).replace(ENCODED_SLASH, '/');
}

/** Each part at its first place: no pattern takes longer than a search for each of its parts. */
function matches({ parts, isAnchored }: Rule, path: string): boolean {
  const [first = '', ...others] = parts;
  if (!path.startsWith(first)) return false;
  const last = isAnchored ? others.pop() : undefined;
  if (isAnchored && last === undefined) return path === first;
  let at = first.length;
  for (const part of others) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return last === undefined || (path.length - last.length >= at && path.endsWith(last));
}

/** The sitemaps that a robots.txt names: in whatever group, on whatever host. */
const SITEMAP_LINE = /^[ \t]*sitemap[ \t]*:([^\r\n]*)/i;

/** The `Sitemap:` lines of a robots.txt, as they stand there, and whether all of them could be read. */
interface SitemapLines {
  named: string[];
  isWhole: boolean;
}

/** @param isOpenEnded nothing but its last newline says that it is whole: a line without one may be cut */
export async function readSitemapLines(
  pieces: AsyncIterable<Uint8Array>,
  isOpenEnded = false,
): Promise<SitemapLines> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    kept.push(piece.subarray(0, MAX_ROBOTS_BYTES - bytes));
    bytes += piece.length;
    if (bytes > MAX_ROBOTS_BYTES) break;
  }
  const isCut = bytes > MAX_ROBOTS_BYTES;
  const lines = new TextDecoder().decode(Buffer.concat(kept)).split(/\r\n|\r|\n/);
  const hasHalfLine = (isCut || isOpenEnded) && lines.at(-1) !== '';
  if (hasHalfLine) lines.pop();
  const named = lines.flatMap(line => {
    const [, found] = SITEMAP_LINE.exec(line) ?? [];
    // A # begins a comment only after a blank: urls have it, too.
    return found === undefined ? [] : [found.replace(/\s+#.*$/, '').trim()];
  });
  return { named, isWhole: !isCut && !hasHalfLine };
}
