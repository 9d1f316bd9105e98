/**
 * The path of a page in an archive: host, then the path of its URL, such as people would look for it. A pure function of
 * the URL and the mimetype, so that the same page has the same path in every archive; two URLs never have one path
 * except those of the table's last line.
 *
 *     of the URL                              in the path
 *     http://h/docs/a.html                    h/docs/a.html
 *     http://h/docs/                          h/docs/index.html
 *     http://h/docs/index.html                h/docs/index.html~.html
 *     http://h/docs (a page and a directory)  h/docs~.html     by the mimetype: ~.txt, ~.pdf, ~.bin
 *     http://h/a.html/b.html (a directory)    h/a.html~/b.html
 *     http://h/p.php?id=1                     h/p.php?id=1~.html
 *     http://h/a.html~/b.html                 h/a.html~~/b.html
 *     http://h:8080/, ftp://h/                h+8080/, ftp~h/
 *     `.`, `..`, empty names, control characters, \, a / in the query, #, names over 255 bytes, a~.html
 *                                             escaped as %XX, cut, and the name ends with ~ and a hash of the URL
 *     no URL with a host, paths over 4000 bytes
 *                                             ~other/HASH.html
 *     http and https of one host, a host in capitals and small letters: the same path, the last one wins
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
/** A name that tells what is in the file: not the first character, and no version number. */
const HAS_EXTENSION = /.\.[a-z][a-z0-9]{0,9}$/i;
const DIRECTORY_LIKE_A_FILE = /.\.[a-z][a-z0-9]{0,9}~*$/i;
const MARKED_EXTENSION = /~\.[a-z][a-z0-9]{0,9}$/i;
// eslint-disable-next-line no-control-regex
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\\/#\u2028\u2029]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** By which extension programs know a type; everything else is `.bin`. */
const EXTENSIONS: Readonly<Record<string, string>> = {
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
  return Buffer.byteLength(whole) > MAX_PATH_BYTES ? other() : whole;
}

function topOf(scheme: string, authority: string): string | undefined {
  const [, host, port = ''] = HOST.exec(authority) ?? [];
  if (host === undefined || Buffer.byteLength(authority) > MAX_NAME_BYTES - 32) return undefined;
  const known = DEFAULT_PORTS[scheme];
  return (known === undefined ? `${scheme}~` : '') + host + (port === '' || port === known ? '' : `+${port}`);
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
  const tail = `~${hashOf(url).slice(0, 16)}${extension === '' ? '' : `.${extension}`}`;
  if (escaped === name && !isDots && !isTaken && Buffer.byteLength(name) <= MAX_NAME_BYTES) return name;
  return cut(escaped, MAX_NAME_BYTES - tail.length) + tail;
}

/** The first `bytes` bytes of a text, without the part of a character at their end. */
function cut(text: string, bytes: number): string {
  const buffer = Buffer.from(text);
  if (buffer.length <= bytes) return text;
  let end = bytes;
  while (end > 0 && ((buffer[end] ?? 0) & 0xc0) === 0x80) end--;
  return buffer.toString('utf8', 0, end);
}

function escapeOne(character: string): string {
  return [...Buffer.from(character)]
    .map(byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}

function hashOf(url: string): string {
  return createHash('sha256').update(url).digest('hex').slice(0, 32);
}
