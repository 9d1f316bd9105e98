/** URLs in the values of attributes and in style sheets, as the standards of HTML and CSS have them. */

/** The URLs of a `srcset` (HTML, 4.8.4.2.1): of each candidate, without its width. */
export function urlsOfSrcset(value: string): string[] {
  const urls: string[] = [];
  for (let at = 0; ;) {
    while (at < value.length && (isBlank(value, at) || value[at] === ',')) at++;
    if (at >= value.length) return urls;
    const start = at;
    while (at < value.length && !isBlank(value, at)) at++;
    const url = value.slice(start, at);
    const bare = url.replace(/,+$/, '');
    if (bare !== '') urls.push(bare);
    if (bare.length === url.length) at = afterDescriptors(value, at);
  }
}

/** Up to the comma that ends them, which does not stand in parentheses. */
function afterDescriptors(value: string, at: number): number {
  let isInParentheses = false;
  for (; at < value.length; at++) {
    const character = value[at];
    if (character === '(') isInParentheses = true;
    else if (character === ')') isInParentheses = false;
    else if (character === ',' && !isInParentheses) return at;
  }
  return at;
}

function isBlank(value: string, at: number): boolean {
  const code = value.charCodeAt(at);
  return code === 0x20 || code === 0x0a || code === 0x09 || code === 0x0d || code === 0x0c;
}

const REFRESH = /^[ \t\n\f\r]*(?:\d+|(?=\.))[\d.]*(?:[ \t\n\f\r]*[;,]|[ \t\n\f\r])[ \t\n\f\r]*/;
const REFRESH_NAME = /^url[ \t\n\f\r]*=[ \t\n\f\r]*/i;

/** Where a `<meta http-equiv=refresh>` leads (HTML, 4.2.5.3); undefined: to the page itself, or nowhere. */
export function urlOfRefresh(content: string): string | undefined {
  const [head] = REFRESH.exec(content) ?? [];
  if (head === undefined) return undefined;
  const rest = content.slice(head.length);
  const url = rest.slice(REFRESH_NAME.exec(rest)?.[0].length ?? 0);
  const [quote] = url;
  if (quote !== '"' && quote !== "'") return url === '' ? undefined : url;
  const [quoted = ''] = url.slice(1).split(quote, 1);
  return quoted === '' ? undefined : quoted;
}

const COMMENT = /\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$)/g;
/** `url(…)`, and the string of an `@import`. A value that is longer than any url is left at its end. */
const CSS_URL =
  /\burl\(\s*(?:"((?:[^"\\\n]|\\[^])*)"|'((?:[^'\\\n]|\\[^])*)'|((?:[^\s()"'\\]|\\[^])*))|@import\s*(?:"((?:[^"\\\n]|\\[^])*)"|'((?:[^'\\\n]|\\[^])*)')/gi;
const CSS_ESCAPE = /\\(?:([0-9a-f]{1,6})(?:\r\n|[ \t\n\f\r])?|(\r\n|[\n\r\f])|([^]))/gi;
const LAST_CODE_POINT = 0x10_ffff;

/** The URLs of a style sheet, or of a `style` attribute, in their order. */
export function* urlsOfCss(css: string): Generator<string, void> {
  for (const found of css.replace(COMMENT, ' ').matchAll(CSS_URL)) {
    const written = found[1] ?? found[2] ?? found[3] ?? found[4] ?? found[5] ?? '';
    if (written !== '') yield written.includes('\\') ? written.replace(CSS_ESCAPE, unescaped) : written;
  }
}

function unescaped(_escape: string, hex?: string, lineBreak?: string, character?: string): string {
  if (hex !== undefined) {
    const code = Number.parseInt(hex, 16);
    return code === 0 || code > LAST_CODE_POINT ? '\ufffd' : String.fromCodePoint(code);
  }
  return lineBreak === undefined ? (character ?? '') : '';
}

/** The whole urls that `urlsOf` finds in the beginning of a longer value. */
export function urlsOfBeginning(
  text: string,
  urlsOf: (text: string) => Iterable<string>,
): { urls: string[]; isData: boolean } {
  const urls = [...urlsOf(text)];
  const last = urls.at(-1);
  if (last !== undefined && text.endsWith(last)) urls.pop();
  const call = text.lastIndexOf('url(');
  const rest = call < 0 ? (text.split(/\s/).at(-1) ?? '') : text.slice(call + 'url('.length);
  return { urls, isData: isData(rest.replace(/^\s*["']?/, '')) };
}

/** True if the url stands in the page itself. */
export function isData(url: string): boolean {
  return /^\s*data:/i.test(url);
}

const BLANK = 0x20;

/** Many links of a page lead to places in one other page. Blanks in front of a fragment are no part of a url
 * without it. */
export function withoutFragment(href: string): string {
  const mark = href.indexOf('#');
  return mark < 0 || href.charCodeAt(mark - 1) <= BLANK ? href : href.slice(0, mark);
}

export function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;
}
