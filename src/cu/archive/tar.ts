/**
 * Headers of tar archives: POSIX ustar, with pax extended headers (POSIX.1-2001) where a value does not fit.
 */

const BLOCK_BYTES = 512;
const NAME_BYTES = 100;
/** Largest number of eleven octal digits: 8 GiB less one, the year 2242. */
const MAX_OCTAL = 8 ** 11 - 1;
const ASCII = /^[\x20-\x7e]*$/;

/** The end of an archive: without it the archive was cut. */
export const TAR_END = Buffer.alloc(2 * BLOCK_BYTES);

const ZEROS = Buffer.alloc(BLOCK_BYTES);

/** The zeros after `length` bytes of content. */
export function tarPadding(length: number): Uint8Array {
  return ZEROS.subarray(0, (BLOCK_BYTES - (length % BLOCK_BYTES)) % BLOCK_BYTES);
}

/**
 * The header before the content of a regular file.
 * @param mtimeS seconds since 1970, whole
 */
export function tarHeader(path: string, length: number, mtimeS: number): Uint8Array {
  let extended = '';
  if (!ASCII.test(path) || path.length > NAME_BYTES) extended += paxRecord('path', path);
  if (length > MAX_OCTAL) extended += paxRecord('size', String(length));
  if (mtimeS < 0 || mtimeS > MAX_OCTAL) extended += paxRecord('mtime', String(mtimeS));
  const header = block(path, length, mtimeS, '0');
  if (extended === '') return header;
  const bytes = Buffer.from(extended);
  return Buffer.concat([
    block(`pax/${path}`, bytes.length, mtimeS, 'x'),
    bytes,
    tarPadding(bytes.length),
    header,
  ]);
}

/** The common part of all headers; the checksum is taken with blanks in its place. */
const COMMON = Buffer.alloc(BLOCK_BYTES);
COMMON.write('0000644\u00000000000\u00000000000\0', 100, 'latin1');
COMMON.write('        ', 148, 'latin1');
COMMON.write('ustar\u000000', 257, 'latin1');

function block(path: string, length: number, mtimeS: number, type: '0' | 'x'): Buffer {
  const header = Buffer.allocUnsafe(BLOCK_BYTES);
  COMMON.copy(header);
  // A reader without pax headers sees the beginning of the name.
  const nameBytes = header.write(path, 0, NAME_BYTES, 'utf8');
  header.write(octal(length) + octal(mtimeS), 124, 'latin1');
  header.write(type, 156, 'latin1');
  let sum = COMMON_SUM;
  for (let i = 0; i < nameBytes; i++) sum += header[i] ?? 0;
  for (let i = 124; i < 148; i++) sum += header[i] ?? 0;
  sum += header[156] ?? 0;
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

const COMMON_SUM = COMMON.reduce((sum, byte) => sum + byte, 0);

function octal(value: number): string {
  return `${Math.min(Math.max(value, 0), MAX_OCTAL).toString(8).padStart(11, '0')}\0`;
}

/** `LENGTH key=value\n`, where the length counts its own digits too. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + String(bytes).length;
  length = bytes + String(length).length;
  return `${length}${rest}`;
}
