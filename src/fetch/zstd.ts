/** zstd, where this Node decodes it and finds out when a body is cut (docs/design/fetching.md). */
import type { Transform } from 'node:stream';

/** Zstandard of node:zlib, from 22.15 on. */
interface ZstdOfNode {
  constants: { ZSTD_d_windowLogMax: number };
  createZstdDecompress(options: { chunkSize: number; params: Record<number, number> }): ZstdStream;
  zstdDecompressSync(body: Uint8Array): Buffer;
}

interface ZstdStream extends Transform {
  /** The written bytes that were decoded: those after the end of a frame are not. */
  readonly bytesWritten: number;
}

/** 8 MB: what a sender may expect a receiver to have (RFC 9659, section 3). */
const WINDOW_LOG = 23;
/** `a`, without its last byte. */
const CUT = Buffer.from('28b52ffd2001090000', 'hex');

let known: ZstdOfNode | false | undefined;

/** True if bodies in zstd can be asked for. */
export function decodesZstd(): boolean {
  return (known ??= find() ?? false) !== false;
}

/** @throws TypeError where they cannot */
export function createZstdDecoder(chunkSize: number): ZstdStream {
  if (!decodesZstd() || known === undefined || known === false)
    throw new TypeError('this Node decodes no zstd');
  return known.createZstdDecompress({
    chunkSize,
    params: { [known.constants.ZSTD_d_windowLogMax]: WINDOW_LOG },
  });
}

function find(): ZstdOfNode | undefined {
  if (process.versions['zstd'] === undefined) return undefined;
  const zlib: Partial<ZstdOfNode> & object = process.getBuiltinModule('node:zlib') as object;
  return isRight(zlib) ? zlib : undefined;
}

/** Some versions take what came of a body for all of it. */
function isRight(zlib: Partial<ZstdOfNode>): zlib is ZstdOfNode {
  try {
    zlib.zstdDecompressSync?.(CUT);
    return false;
  } catch {
    return zlib.createZstdDecompress !== undefined;
  }
}
