/**
 * The mimetype of a file by its extension: the types sites really serve. Names are those registered with IANA where
 * there is one; text/javascript and text/xml follow RFC 9239 and RFC 7303.
 */
const TYPES: Readonly<Record<string, string>> = {
  'text/html': 'html htm shtml',
  'text/css': 'css',
  'text/javascript': 'js mjs',
  'text/plain': 'txt text log asc ini conf diff patch',
  'text/markdown': 'md markdown',
  'text/csv': 'csv',
  'text/tab-separated-values': 'tsv',
  'text/xml': 'xml xsl xsd',
  'text/calendar': 'ics',
  'text/vcard': 'vcf',
  'text/vtt': 'vtt',
  'text/x-rst': 'rst',
  'text/x-tex': 'tex',
  'text/x-c': 'c h cc cpp hpp',
  'text/x-java': 'java',
  'text/x-python': 'py',
  'text/x-perl': 'pl pm',
  'text/x-sh': 'sh',
  'application/xhtml+xml': 'xhtml xht',
  'application/rss+xml': 'rss',
  'application/atom+xml': 'atom',
  'application/rdf+xml': 'rdf',
  'application/json': 'json map',
  'application/ld+json': 'jsonld',
  'application/feed+json': 'jsonfeed',
  'application/manifest+json': 'webmanifest',
  'application/yaml': 'yaml yml',
  'application/toml': 'toml',
  'application/sql': 'sql',
  'application/wasm': 'wasm',
  'application/pdf': 'pdf',
  'application/postscript': 'ps eps ai',
  'application/rtf': 'rtf',
  'application/epub+zip': 'epub',
  'application/msword': 'doc dot',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.ms-powerpoint': 'ppt pps',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'application/vnd.oasis.opendocument.text': 'odt',
  'application/vnd.oasis.opendocument.spreadsheet': 'ods',
  'application/vnd.oasis.opendocument.presentation': 'odp',
  'application/vnd.oasis.opendocument.graphics': 'odg',
  'application/vnd.google-earth.kml+xml': 'kml',
  'application/geo+json': 'geojson',
  'application/gpx+xml': 'gpx',
  'application/mbox': 'mbox',
  'message/rfc822': 'eml',
  'application/zip': 'zip',
  'application/gzip': 'gz tgz',
  'application/x-bzip2': 'bz2',
  'application/x-xz': 'xz',
  'application/zstd': 'zst',
  'application/x-7z-compressed': '7z',
  'application/vnd.rar': 'rar',
  'application/x-tar': 'tar',
  'application/java-archive': 'jar',
  'application/vnd.debian.binary-package': 'deb',
  'application/x-rpm': 'rpm',
  'application/pgp-signature': 'sig',
  'image/png': 'png',
  'image/jpeg': 'jpg jpeg jpe',
  'image/gif': 'gif',
  'image/svg+xml': 'svg svgz',
  'image/webp': 'webp',
  'image/avif': 'avif',
  'image/heic': 'heic',
  'image/apng': 'apng',
  'image/bmp': 'bmp',
  'image/tiff': 'tif tiff',
  'image/vnd.microsoft.icon': 'ico',
  'image/vnd.djvu': 'djvu djv',
  'font/woff': 'woff',
  'font/woff2': 'woff2',
  'font/ttf': 'ttf',
  'font/otf': 'otf',
  'application/vnd.ms-fontobject': 'eot',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg oga opus',
  'audio/flac': 'flac',
  'audio/wav': 'wav',
  'audio/mp4': 'm4a',
  'audio/midi': 'mid midi',
  'video/mp4': 'mp4 m4v',
  'video/webm': 'webm',
  'video/ogg': 'ogv',
  'video/mpeg': 'mpeg mpg',
  'video/quicktime': 'mov',
  'video/x-msvideo': 'avi',
  'video/x-matroska': 'mkv',
};

/** What a file without a known extension is: bytes. */
export const DEFAULT_TYPE = 'application/octet-stream';

/** Extension (lower case, without its dot) → mimetype; `extra` wins over the built-in table. */
export function mimeTable(extra: Iterable<readonly [string, string]>): Map<string, string> {
  const table = new Map<string, string>();
  for (const type in TYPES) for (const extension of TYPES[type]!.split(' ')) table.set(extension, type);
  for (const [extension, type] of extra) table.set(extension, type);
  return table;
}

/** Whether a text is a `type/subtype` (RFC 6838, section 4.2; without parameters). */
export function isMimetype(text: string): boolean {
  return /^[A-Za-z0-9][\w!#$&^.+-]{0,126}\/[A-Za-z0-9][\w!#$&^.+-]{0,126}$/.test(text);
}
