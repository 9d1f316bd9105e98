/** Checks of a record against the rules of this LCC: the 3xx codes of the UNS. */
import { areRanges } from '../config/hours.js';
import { oneLine } from '../lib/one-line.js';
import { ambiguityOf } from './url-ambiguity.js';
import { codeText, type LccCode } from './codes.js';
import { mimeMatcher } from './mime-patterns.js';
import { parseMtime } from './mtime.js';
import { createRootCheck, isPlainRest } from './roots.js';
import { hasScheme, resolveUrl, slashRemark } from './urlprefix.js';
import { AS_SERVED, isDelete, type UrlRecord } from './url.js';

interface UrlProblem {
  code: LccCode;
  text: string;
}

interface UrlCheckOptions {
  /** Accepted mimetypes: `type/subtype`, `type/*` or `*` + `/*`. */
  mimes: readonly string[];
  /** The provider's roots. */
  roots: readonly string[];
  /** Put in front of urls without scheme; '' = there is none. */
  urlprefix: string;
  /** Longest resolved url. */
  maxUrlBytes: number;
}

/** undefined = fine; `drop` = outside the roots and to be forgotten without a word. */
export type UrlVerdict = UrlProblem | 'drop' | undefined;

// RFC 6838, section 4.2, without its limit on length: real servers send longer ones.
export const MIMETYPE = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*$/;
const MD5 = /^[0-9a-fA-F]{32}$/;
const DECIMAL = /^\d{1,16}$/;
const HOPS = /^\d{1,4}$/;
const MTIME_FORM = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/;
const HTTP = /^https?:/i;
/** Characters of a url in words about it. */
const MOST_SHOWN = 200;

/**
 * A check of records against one set's circumstances.
 * @throws TypeError for an unusable root
 */
export function createUrlChecker(options: UrlCheckOptions): (record: UrlRecord) => UrlVerdict {
  const { urlprefix, maxUrlBytes } = options;
  const isInside = createRootCheck(options.roots);
  const mimeProblem = createMimeCheck(options.mimes);
  // Below a directory that is inside, every plain relative url is inside: nothing need be parsed.
  const prefixIsInside = urlprefix.endsWith('/') && !/[?#]/.test(urlprefix) && isInside(urlprefix);
  // No UTF-16 unit is longer than 3 bytes of UTF-8; what may be too long is measured.
  const maxPlainLength = (maxUrlBytes - Buffer.byteLength(urlprefix)) / 3;

  const isPlain = (url: string): boolean =>
    prefixIsInside && url.length <= maxPlainLength && isPlainRest(url);

  const resolvable = (name: string, url: string): UrlProblem | undefined => {
    const resolved = resolveUrl(urlprefix, url);
    if (resolved.length > maxUrlBytes || Buffer.byteLength(resolved) > maxUrlBytes) {
      return problem(307, `${name} is longer than ${maxUrlBytes} bytes (xml.url_bytes)`);
    }
    if (CONTROL_CHARACTER.test(resolved)) return problem(306, `${name} contains a control character`);
    if (!hasScheme(resolved)) {
      return problem(305, `${name} has no scheme and the set has no urlprefix`);
    }
    return undefined;
  };

  const fetchVerdict = (record: UrlRecord, name: 'curl' | 'furl', url: string): UrlVerdict => {
    const found = resolvable(name, url);
    if (found !== undefined) return found;
    const resolved = resolveUrl(urlprefix, url);
    const verdict = HTTP.test(resolved)
      ? isInside(resolved)
        ? undefined
        : outside(name, resolved, hasScheme(url) ? undefined : urlprefix)
      : problem(305, `${name}: only http and https are fetched`);
    return verdict !== undefined && record.outofroot === 'drop' ? 'drop' : verdict;
  };

  const browseProblem = (burl: string): UrlProblem | undefined =>
    resolvable('burl', burl) ??
    (HTTP.test(resolveUrl(urlprefix, burl))
      ? undefined
      : problem(305, 'burl: only http and https are browsed'));

  return record => {
    const { curl, furl, burl } = record;
    if (curl === '') return problem(301);
    const mime = mimeProblem(record.mimetype);
    const deleting = isDelete(record);
    if (mime !== undefined && !(deleting && mime.code === 303)) return mime;
    const malformed = malformedAttribute(record);
    if (malformed !== undefined) return problem(306, malformed);
    if (deleting) return isPlain(curl) ? undefined : resolvable('curl', curl);
    if (furl === undefined) {
      if (!isPlain(curl)) {
        const verdict = fetchVerdict(record, 'curl', curl);
        if (verdict !== undefined) return verdict;
      }
    } else {
      const verdict =
        resolvable('curl', curl) ?? (isPlain(furl) ? undefined : fetchVerdict(record, 'furl', furl));
      if (verdict !== undefined) return verdict;
    }
    if (burl !== undefined && burl !== '' && !isPlain(burl)) return browseProblem(burl);
    return undefined;
  };
}

/** The url leads elsewhere, or where nobody can say. @param urlprefix that it was made with */
function outside(name: string, url: string, urlprefix: string | undefined): UrlProblem {
  const ambiguity = ambiguityOf(url);
  const remark = slashRemark(urlprefix ?? '');
  const isShown = urlprefix !== undefined && (ambiguity === undefined || remark !== '');
  const made = isShown ? `: ${oneLine(url, MOST_SHOWN)}${remark}` : '';
  return problem(304, `${name} ${ambiguity ?? `is ${codeText(304)}`}${made}`);
}

function problem(code: LccCode, text: string = codeText(code)): UrlProblem {
  return { code, text };
}

/** 302 and 303. */
function createMimeCheck(patterns: readonly string[]): (mimetype: string) => UrlProblem | undefined {
  const isAccepted = mimeMatcher(patterns);
  const decide = (mimetype: string): UrlProblem | undefined => {
    if (mimetype === AS_SERVED) return undefined;
    if (!MIMETYPE.test(mimetype)) return problem(302);
    return isAccepted(mimetype) ? undefined : problem(303, `${mimetype}: ${codeText(303)}`);
  };
  // Neighbours mostly share one.
  let last = '';
  let decision = decide(last);
  return mimetype => {
    if (mimetype !== last) decision = decide((last = mimetype));
    return decision;
  };
}

/** The first attribute that is malformed, other than urls, in words. */
function malformedAttribute(record: UrlRecord): string | undefined {
  const { md5, len, mtime, op, tod, ifabsent, outofroot, hops } = record;
  if (len !== undefined && !(DECIMAL.test(len) && Number(len) <= Number.MAX_SAFE_INTEGER)) {
    return 'len is not a number of bytes';
  }
  if (mtime !== undefined && !MTIME_FORM.test(mtime) && parseMtime(mtime) === undefined) {
    return 'mtime is not a time; RFC 3339 is understood';
  }
  if (md5 !== undefined && !MD5.test(md5)) return 'md5 is not 32 hexadecimal digits';
  if (op !== undefined && op !== 'update' && op !== 'delete') return 'op is neither update nor delete';
  if (tod !== undefined && !areRanges(tod)) return 'tod is not a list of hour ranges such as 0-7,12';
  if (ifabsent !== undefined && ifabsent !== 'yes' && ifabsent !== 'no')
    return 'ifabsent is neither yes nor no';
  if (outofroot !== undefined && outofroot !== 'drop' && outofroot !== 'error') {
    return 'outofroot is neither drop nor error';
  }
  if (hops !== undefined && !HOPS.test(hops)) return 'hops is not a number of links';
  return undefined;
}
