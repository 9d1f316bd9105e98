/**
 * robots.txt (RFC 9309): what a site permits a robot of some name to fetch, read once and asked for each url.
 *
 *     User-agent: examplebot        one group: agents that follow each other, then their rules
 *     User-agent: otherbot
 *     Disallow: /private            the longest rule that matches counts, of equally long ones the one that allows
 *     Allow: /private/*.html$       `*` is anything, `$` at the end the end of the url
 *
 * Groups of one name are one group. Lines that are none of these end no group, whatever they are. Our own, since robots-parser
 * 3.0.1 splits a group at a Sitemap line, takes `%7E` and `~` for two, and forbids /robots.txt itself.
 */

/** What a site says to one robot. */
export interface RobotsRules {
  /** Whether a url of this origin may be fetched. */
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
  /** The last part ends the url. */
  isAnchored: boolean;
  /** Of the pattern: the longer one counts. */
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
/** What stands for itself in a url whether it is encoded or not. */
const UNRESERVED = /[A-Za-z0-9._~-]/;
const ESCAPE = /%([0-9A-Fa-f]{2})/g;
const BEYOND_ASCII = /[^\x21-\x7e]+/g;

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
      return rules.find(rule => matches(rule, path))?.isAllowed ?? true;
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
          group?.rules.push(ruleOf(value, key.toLowerCase() === 'allow'));
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

function ruleOf(pattern: string, isAllowed: boolean): Rule {
  const isAnchored = pattern.endsWith('$');
  const parts = equalised(isAnchored ? pattern.slice(0, -1) : pattern).split('*');
  return { isAllowed, parts, isAnchored, length: pattern.length };
}

/** Path and query as rules are compared with them: a wildcard's sign that stands in a url is encoded. */
function pathOf(url: string): string {
  const [, rest = ''] = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*([^#]*)/i.exec(url) ?? [];
  const path = rest.startsWith('/') ? rest : `/${rest}`;
  return equalised(path).replaceAll('*', '%2A').replaceAll('$', '%24');
}

/** The same bytes in the same form: what needs no encoding decoded, all else encoded in capitals. */
function equalised(text: string): string {
  return text
    .replace(BEYOND_ASCII, part => Buffer.from(part).toString('hex').replace(/../g, '%$&'))
    .replace(ESCAPE, (escape, hex: string) => {
      const char = String.fromCharCode(parseInt(hex, 16));
      return UNRESERVED.test(char) ? char : escape.toUpperCase();
    });
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
