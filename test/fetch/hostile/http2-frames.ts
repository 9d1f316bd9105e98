/** Frames of HTTP/2 (RFC 9113), written byte by byte: what a server that does it wrong sends. */
export const [
  DATA,
  HEADERS,
  PRIORITY,
  RST_STREAM,
  SETTINGS,
  PUSH_PROMISE,
  PING,
  GOAWAY,
  WINDOW_UPDATE,
  CONTINUATION,
] = Array.from({ length: 10 }, (_, type) => type) as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];
export const END_STREAM = 1;
export const END_HEADERS = 4;
export const PADDED = 8;

export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

export function u32(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length);
  numbers.forEach((number, index) => bytes.writeUInt32BE(number, 4 * index));
  return bytes;
}

/** A header field as a literal without indexing, its name and value uncoded. */
export function field(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

export function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

export const STATUS_200 = Buffer.from([0x88]);
export const head = (...fields: Buffer[]) =>
  frame(HEADERS, END_HEADERS, 1, Buffer.concat([STATUS_200, ...fields]));
export const data = (content: string | Buffer, end = false) =>
  frame(DATA, end ? END_STREAM : 0, 1, Buffer.from(content));
export const reset = (code: number) => frame(RST_STREAM, 0, 1, u32(code));
export const goaway = (last: number, code: number) => frame(GOAWAY, 0, 0, u32(last, code));
