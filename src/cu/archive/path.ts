/**
 * The path of a page in an archive: host, then the path of its URL, such as people would look for it. A pure
 * function of the URL and the mimetype, so that the same page has the same path in every archive; two URLs
 * never have one path.
 *
 *     of the URL                              in the path
 *     https://h/docs/a.html                   h/docs/a.html
 *     https://h/docs/                         h/docs/index.html
 *     https://h/docs/index.html               h/docs/index.html~.html
 *     https://h/docs (a page and a directory) h/docs~.html     by the mimetype: ~.txt, ~.pdf, ~.bin
 *     https://h/java.base                     h/java.base~.html, for the directory h/java.base/ is as it is
 *     https://h/a.html/b.html (a directory)   h/a.html~/b.html
 *     https://h/p.php?id=1                    h/p.php?id=1~.html
 *     https://h/a.html~/b.html                h/a.html~~/b.html
 *     http://h/, ftp://h/, https://h:8080/    http~h/, ftp~h/, h+8080/
 *     `.`, `..`, empty names, control characters, \, a / in the query, #, names over 255 bytes, a~.html
 *                                             escaped as %XX, cut, and the name ends with ~ and a hash
 *     no URL with a host, paths over 4000 bytes
 *                                             ~other/HASH.html
 *     a host in capitals and small letters, a default port: the same path, for it is the same URL
 *
 * Percent-escapes of the URL stay as they are. Nothing leaves the directory in which the archive is restored.
 */
import { createHash } from 'node:crypto';

/** NAME_MAX and, with room for where it is restored, PATH_MAX of Linux. */
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 4000;

const PARTS = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]+)([^?#]*)(.*)$/is;
/** A host, with a port. Also IPv6, and names in Unicode. */
const HOST = /^((?!\.)[\p{L}\p{M}\p{N}_.-]+|\[[0-9a-f:.]+\])(?::(\d*))?$/iu;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443' };
/** Names of URLs with this scheme have no mark before their host: most pages have it today. */
const PLAIN_SCHEME = 'https';
/**
 * Ends of names that tell what is in a file. Such a directory is marked, any other file is: neither is ever
 * the other. Every extension given by mimetype is among them. The list is part of the format: a name added to
 * it moves files.
 */
const FILE_EXTENSIONS = `
  html htm xhtml shtml php php3 php4 php5 phtml asp aspx jsp jspx cgi cfm
  txt text md markdown rst csv tsv xml xsl xsd dtd rss atom rdf json jsonl json5 yaml yml toml ini log tex bib
  css scss less js mjs cjs ts map wasm
  pdf ps eps doc docx xls xlsx ppt pptx odt ods odp rtf epub mobi djvu
  png jpg jpeg jpe gif svg webp avif bmp tif tiff ico heic jxl psd
  mp3 ogg oga opus wav flac m4a aac mid mp4 m4v webm mov avi mkv ogv mpg mpeg wmv srt vtt
  zip gz tgz bz2 xz zst tar 7z rar jar war deb rpm iso img dmg exe msi apk
  woff woff2 ttf otf eot ics vcf swf bin dat c h cc cpp hpp rs go py rb pl sh java diff patch asc sig
`.match(/\S+/g);
const HAS_EXTENSION = new RegExp(`.\\.(?:${FILE_EXTENSIONS?.join('|')})$`, 'i');
const DIRECTORY_LIKE_A_FILE = new RegExp(`.\\.(?:${FILE_EXTENSIONS?.join('|')})~*$`, 'i');
const MARKED_EXTENSION = /~\.[a-z][a-z0-9]{0,9}$/i;
// eslint-disable-next-line no-control-regex
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\\/#\u2028\u2029]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** By which extension programs know a type; everything else is `.bin`. */
export const EXTENSIONS: Readonly<Record<string, string>> = {
  'text/html': 'html',
  'application/xhtml+xml': 'xhtml',
  'text/plain': 'txt',
  'text/css': 'css',
  'text/csv': 'csv',
  'text/xml': 'xml',
  'application/xml': 'xml',
  'application/json': 'json',
  'application/pdf': 'pdf',
  'application/javascript': 'js',
  'text/javascript': 'js',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/svg+xml': 'svg',
  'image/webp': 'webp',
};

/** A relative path, `/` between names, for any text. */
export function archivePath(url: string, mimetype: string): string {
  const extension = EXTENSIONS[mimetype] ?? 'bin';
  const other = () => `~other/${hashOf(url)}.${extension}`;
  const [, scheme = '', authority = '', path = '', rest = ''] = PARTS.exec(url) ?? [];
  const top = topOf(scheme.toLowerCase(), authority.toLowerCase());
  if (top === undefined) return other();
  const names = path.split('/').slice(1);
  const last = (names.pop() ?? '') + rest;
  const directories = names.map(name => safe(DIRECTORY_LIKE_A_FILE.test(name) ? `${name}~` : name, url, ''));
  const isTaken = MARKED_EXTENSION.test(last);
  const file = safe(isTaken ? last : fileName(last, extension), url, extension, isTaken);
  const whole = [top, ...directories, file].join('/');
  return isWithin(whole, MAX_PATH_BYTES) ? whole : other();
}

function topOf(scheme: string, authority: string): string | undefined {
  const [, host, port = ''] = HOST.exec(authority) ?? [];
  if (host === undefined || Buffer.byteLength(authority) > MAX_NAME_BYTES - 32) return undefined;
  const isUsual = port === '' || port === DEFAULT_PORTS[scheme];
  return (scheme === PLAIN_SCHEME ? '' : `${scheme}~`) + host + (isUsual ? '' : `+${port}`);
}

function fileName(name: string, extension: string): string {
  if (name === '') return 'index.html';
  const isPlain = name !== 'index.html' && HAS_EXTENSION.test(name) && !name.includes('?');
  return isPlain ? name : `${name}~.${extension}`;
}

/** A name as it can stand in any directory; what had to be altered ends with a hash, before the extension. */
function safe(name: string, url: string, extension: string, isTaken = false): string {
  const isDots = name === '.' || name === '..' || name === '';
  const escaped = isDots ? name.replaceAll('.', '%2E') : name.replace(UNSAFE, escapeOne);
  if (escaped === name && !isDots && !isTaken && isWithin(name, MAX_NAME_BYTES)) return name;
  const tail = `~${hashOf(url).slice(0, 16)}${extension === '' ? '' : `.${extension}`}`;
  return cut(escaped, MAX_NAME_BYTES - tail.length) + tail;
}

/** True if a text has that many bytes at most; a character has three for each unit at most. */
function isWithin(text: string, bytes: number): boolean {
  return text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes;
}

/** The first `bytes` bytes of a text, without the part of a character at their end. */
function cut(text: string, bytes: number): string {
  const buffer = Buffer.from(text);
  if (buffer.length <= bytes) return text;
  let end = bytes;
  while (end > 0 && ((buffer[end] ?? 0) & 0xc0) === 0x80) end--;
  return buffer.toString('utf8', 0, end);
}

/** A character as a URI can hold it. */
export function escapeOne(character: string): string {
  return [...Buffer.from(character)]
    .map(byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}

function hashOf(url: string): string {
  return createHash('sha256').update(url).digest('hex').slice(0, 32);
}
