/** Records of WARC/1.1 (ISO 28500:2017), each a gzip member of its own (annex A.2), so that readers can jump
 * to any. */
import { createHash, type Hash } from 'node:crypto';
import { promisify } from 'node:util';
import { createGzip, gzip, gzipSync } from 'node:zlib';
import { WHOLE_BYTES, type StoredContent } from '../stored-content.js';
import { escapeOne } from './path.js';

const compressed = promisify(gzip);

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** Characters that a URI cannot hold (RFC 3986), line ends first of all; percent-escapes of the URL stay. */
const NOT_IN_URI = /[^!#$%&'()*+,\-./0-9:;=?@A-Z[\]_a-z~]/gu;
const FIELDS_TYPE = 'application/warc-fields';

export interface RecordHead {
  type: 'warcinfo' | 'resource' | 'metadata';
  /** A uuid. */
  id: string;
  /** Seconds since 1970. */
  timeS: number;
  contentType?: string;
  /** Further fields by name; undefined ones are left out. */
  fields?: Record<string, string | undefined>;
}

/** A record of `application/warc-fields`. */
export function fieldsRecord(head: RecordHead, block: Record<string, string>): Uint8Array {
  const bytes = Buffer.from(lines(block));
  return gzipSync(
    Buffer.concat([
      headOf({ contentType: FIELDS_TYPE, ...head }, bytes.length, digestOf([bytes])),
      bytes,
      END,
    ]),
  );
}

/** A record of stored content, which is closed. Small ones come in one piece, made in another thread. */
export function contentRecord(
  head: RecordHead,
  content: StoredContent,
): Promise<Uint8Array> | AsyncIterable<Uint8Array> {
  if (content.length > WHOLE_BYTES) return inPieces(head, content);
  const bytes = content.bytes();
  content.close();
  return compressed(Buffer.concat([headOf(head, bytes.length, digestOf([bytes])), bytes, END]));
}

async function* inPieces(head: RecordHead, content: StoredContent): AsyncGenerator<Uint8Array> {
  const member = createGzip();
  const made: Buffer[] = [];
  member.on('data', (chunk: Buffer) => made.push(chunk));
  const compress = (bytes: Uint8Array) => new Promise<void>(resolve => member.write(bytes, () => resolve()));
  try {
    await compress(headOf(head, content.length, digestOf(content.chunks())));
    for (const chunk of content.chunks()) {
      await compress(chunk);
      yield* made.splice(0);
    }
    await compress(END);
    await new Promise<void>(resolve => void member.once('end', resolve).end());
    yield* made;
  } finally {
    member.destroy();
    content.close();
  }
}

const END = Buffer.from('\r\n\r\n');

function headOf(head: RecordHead, length: number, digest: string): Buffer {
  const isInfo = head.type === 'warcinfo';
  return Buffer.from(
    `WARC/1.1\r\n${lines({
      'WARC-Type': head.type,
      'WARC-Record-ID': `<urn:uuid:${head.id}>`,
      'WARC-Date': new Date(head.timeS * 1000).toISOString().replace('.000Z', 'Z'),
      ...head.fields,
      'WARC-Block-Digest': digest,
      // The payload of a resource is its block (section 6.4).
      'WARC-Payload-Digest': isInfo || head.type === 'metadata' ? undefined : digest,
      'Content-Type': head.contentType,
      'Content-Length': String(length),
    })}\r\n`,
  );
}

/** `Name: value` lines; a line end in a value would begin a field of its own. */
function lines(fields: Record<string, string | undefined>): string {
  let text = '';
  // oxlint-disable-next-line no-control-regex
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined) text += `${name}: ${value.replace(/[\0-\x1f\x7f]/g, ' ')}\r\n`;
  return text;
}

export function uriOf(url: string): string {
  return url.replace(NOT_IN_URI, escapeOne);
}

/** A uuid that is always the same for the same name (RFC 9562, version 5). */
export function uuidOf(namespace: string, name: string): string {
  const bytes = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name)
    .digest();
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  );
}

function digestOf(chunks: Iterable<Uint8Array>): string {
  const hash: Hash = createHash('sha1');
  for (const chunk of chunks) hash.update(chunk);
  // Twenty bytes are 32 groups of five bits: no rest.
  const bits = BigInt(`0x${hash.digest('hex')}`)
    .toString(2)
    .padStart(160, '0');
  return `sha1:${bits.replace(/.{5}/g, five => BASE32.charAt(Number.parseInt(five, 2)))}`;
}
