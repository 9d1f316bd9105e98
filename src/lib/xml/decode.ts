/** Bytes to text for the XML reader: split characters are joined, invalid ones are found to the byte, nothing
 * is guessed. */
import { isAscii, isUtf8 } from 'node:buffer';

export type XmlEncoding = 'utf-8' | 'iso-8859-1' | 'us-ascii';

const ENCODINGS: ReadonlyMap<string, XmlEncoding> = new Map([
  ['utf-8', 'utf-8'],
  ['utf8', 'utf-8'],
  ['iso-8859-1', 'iso-8859-1'],
  ['latin1', 'iso-8859-1'],
  ['us-ascii', 'us-ascii'],
  ['ascii', 'us-ascii'],
]);

/** The encoding a declaration names, or undefined where it is none of ours. */
export function encodingNamed(name: string): XmlEncoding | undefined {
  return ENCODINGS.get(name.toLowerCase());
}

interface DecodedChunk {
  text: string;
  /** Every character is one byte long and one UTF-16 unit wide. */
  ascii: boolean;
  /** Set when a byte that is no character of the encoding follows `text`. */
  invalid: boolean;
}

const NO_BYTES = new Uint8Array(0);

export class XmlDecoder {
  #encoding: XmlEncoding = 'utf-8';
  #bytes: Buffer = Buffer.alloc(0);
  /** The beginning of a UTF-8 character whose rest has not come yet: at most 3 bytes. */
  #tail: Uint8Array = NO_BYTES;

  get encoding(): XmlEncoding {
    return this.#encoding;
  }

  /** True if the bytes so far end inside a character. */
  get insideCharacter(): boolean {
    return this.#tail.length > 0;
  }

  /**
   * Changes the encoding from a character on.
   * @param read how much of the text decoded last stays
   * @returns the bytes after it, to decode again
   */
  switchTo(encoding: XmlEncoding, read: string): Uint8Array {
    const length = Buffer.byteLength(read, this.#encoding === 'utf-8' ? 'utf8' : 'latin1');
    this.#encoding = encoding;
    this.#tail = NO_BYTES;
    return this.#bytes.subarray(length);
  }

  decode(chunk: Uint8Array): DecodedChunk {
    if (this.#tail.length > 0) {
      chunk = Buffer.concat([this.#tail, chunk]);
      this.#tail = NO_BYTES;
    }
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    this.#bytes = bytes;
    if (isAscii(bytes)) return { text: bytes.toString('latin1'), ascii: true, invalid: false };
    switch (this.#encoding) {
      case 'iso-8859-1':
        return { text: bytes.toString('latin1'), ascii: false, invalid: false };
      case 'us-ascii': {
        const end = bytes.findIndex(byte => byte > 0x7f);
        return { text: bytes.toString('latin1', 0, end), ascii: true, invalid: true };
      }
      case 'utf-8':
        return this.#decodeUtf8(bytes);
    }
  }

  #decodeUtf8(bytes: Buffer): DecodedChunk {
    const end = bytes.length - incompleteTailLength(bytes);
    const head = bytes.subarray(0, end);
    if (!isUtf8(head)) return { text: validPrefix(head), ascii: false, invalid: true };
    this.#tail = Buffer.from(bytes.subarray(end));
    return { text: head.toString('utf8'), ascii: false, invalid: false };
  }
}

/** How many bytes at the end begin a UTF-8 character without ending it. */
function incompleteTailLength(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return back < length ? back : 0;
    }
  }
  return 0;
}

/** The text in front of the first byte that is not UTF-8. */
function validPrefix(bytes: Buffer): string {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  let counted = 0;
  let byteOffset = 0;
  for (let at = text.indexOf('\ufffd'); at >= 0; at = text.indexOf('\ufffd', at + 1)) {
    byteOffset += Buffer.byteLength(text.slice(counted, at));
    counted = at;
    const isReal =
      bytes[byteOffset] === 0xef && bytes[byteOffset + 1] === 0xbf && bytes[byteOffset + 2] === 0xbd;
    if (!isReal) return text.slice(0, at);
  }
  return text;
}
