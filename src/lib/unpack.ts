/** Documents as they come: packed up to twice with gzip, whatever their name says, in the encoding that they
 * say. */
import { LccError } from './errors.js';
import { ByteFeed, gunzipped, isGzip } from './gzip.js';

type Pieces = AsyncIterable<Uint8Array>;
/** A bound, and how the message that refuses names it. */
export interface NamedLimit {
  most: number;
  text: string;
}
type Decoder = InstanceType<typeof TextDecoder>;

/** The packing of a document, once it has been read. */
export interface Packing {
  /** The end of the document is that of its gzip, which says so. */
  isPacked: boolean;
  /** Something else follows the gzip. */
  hasRest: boolean;
}

/** sitemap.xml.gz that a server packs once more. */
const MOST_LAYERS = 2;
const DECLARED = /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']/;
/** More than a declaration takes. */
const DECLARATION_BYTES = 1024;

/**
 * The document without its packing.
 * @throws LccError `data.cut`, `data.malformed` for gzip that is cut or damaged, `limit` beyond the bound
 */
export async function* unpacked(
  pieces: Pieces,
  most: NamedLimit,
  packing: Packing = { isPacked: false, hasRest: false },
): AsyncGenerator<Buffer, void, undefined> {
  let inner: Pieces = pieces;
  for (let layers = 0; ; layers++) {
    const feed = new ByteFeed(bounded(inner, most));
    if (!(await isGzip(feed))) return yield* feed.rest();
    if (layers === MOST_LAYERS) throw new LccError('data.malformed', 'it is packed more than twice');
    packing.isPacked = true;
    inner = unpackedOnce(feed, packing);
  }
}

async function* unpackedOnce(feed: ByteFeed, packing: Packing): AsyncGenerator<Buffer, void, undefined> {
  if (yield* gunzipped(feed)) packing.hasRest = true;
}

async function* bounded(pieces: Pieces, most: NamedLimit): AsyncGenerator<Buffer, void, undefined> {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > most.most) throw new LccError('limit', `it is larger than ${most.text}`);
    yield Buffer.from(piece.buffer, piece.byteOffset, piece.length);
  }
}

/**
 * The document as text: by its byte order mark, else what its declaration says, else UTF-8. Bytes that are no
 * characters become U+FFFD. The mark and blanks in front of the first character are left out.
 * @throws LccError `data.malformed` for an encoding that is not known
 */
export async function* decoded(pieces: Pieces): AsyncGenerator<string, void, undefined> {
  const feed = new ByteFeed(pieces);
  await feed.has(DECLARATION_BYTES);
  let decoder: Decoder | undefined;
  let isBegun = false;
  const begin = (text: string): string => {
    const trimmed = isBegun ? text : text.trimStart();
    isBegun ||= trimmed !== '';
    return trimmed;
  };
  for await (const piece of feed.rest()) {
    // The first piece is all that is held.
    decoder ??= decoderFor(piece);
    const text = begin(decoder.decode(piece, { stream: true }));
    if (text !== '') yield text;
  }
  const last = begin(decoder?.decode() ?? '');
  if (last !== '') yield last;
}

function decoderFor(head: Uint8Array): Decoder {
  const [a, b] = head;
  if (a === 0xff && b === 0xfe) return new TextDecoder('utf-16le');
  if (a === 0xfe && b === 0xff) return new TextDecoder('utf-16be');
  const isMarked = a === 0xef && b === 0xbb;
  const text = Buffer.from(head.subarray(0, DECLARATION_BYTES)).toString('latin1');
  const name = (isMarked ? undefined : DECLARED.exec(text)?.[1]) ?? 'utf-8';
  // The document was read byte by byte: a claim of two bytes a character is not true.
  if (/^utf-?16|^ucs-?2/i.test(name)) return new TextDecoder('utf-8');
  try {
    return new TextDecoder(name);
  } catch {
    throw new LccError('data.malformed', `its encoding ${name} is not known`);
  }
}
