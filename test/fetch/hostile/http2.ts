/** Servers that choose HTTP/2 and then do everything wrong with it, frame by frame. */
import { randomBytes } from 'node:crypto';
import { createServer, type TLSSocket } from 'node:tls';
import type { AddressInfo, Server } from 'node:net';
import type { Certificate } from '../authority.js';
import { drip, flood } from '../support.js';
import {
  DATA,
  HEADERS,
  PRIORITY,
  RST_STREAM,
  SETTINGS,
  PUSH_PROMISE,
  PING,
  WINDOW_UPDATE,
  CONTINUATION,
  END_STREAM,
  END_HEADERS,
  PADDED,
  frame,
  u32,
  field,
  text,
  STATUS_200,
  head,
  data,
  reset,
  goaway,
} from './http2-frames.js';

export interface Http2Case {
  name: string;
  /** What the server sends once the request has come, after its settings. */
  serve: (socket: TLSSocket) => void;
  expect: string | number;
  /** Has to take more than one connection: beside servers that flood the process of all of them takes none for long. */
  isAskedAgain?: boolean;
  /** Says nothing at all by itself. */
  silent?: boolean;
  /** Speaks HTTP/1.1 with clients that offer nothing else. */
  speaksHttp1?: boolean;
}

const say =
  (...frames: Buffer[]) =>
  (socket: TLSSocket): void =>
    void socket.write(Buffer.concat(frames));
const status = (value: string) => field(':status', value);

/** The first connections are served otherwise than those that follow. */
function atFirst(
  count: number,
  first: (socket: TLSSocket) => void,
  then: (socket: TLSSocket) => void,
): (socket: TLSSocket) => void {
  let served = 0;
  return socket => (++served <= count ? first : then)(socket);
}

/** A good answer, bytes of which are changed, repeated or missing, differently each time; then the connection ends. */
export function mutantOf(seed: number): (socket: TLSSocket) => void {
  let state = seed;
  const random = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
  const fields = [field('content-type', 'text/html'), field('x', 'y'.repeat(random(300)))];
  let bytes = Buffer.concat([
    head(...fields),
    data('hello '),
    frame(PING, 0, 0, Buffer.alloc(8)),
    data('you', true),
  ]);
  for (let changes = 1 + random(4); changes > 0; changes--) {
    const [at, count] = [random(bytes.length), random(20)];
    const [before, behind] = [bytes.subarray(0, at), bytes.subarray(at)];
    const changed = [
      [before, Buffer.from([random(256)]), behind.subarray(1)],
      [before, behind.subarray(count)],
      [before, behind.subarray(0, count), behind],
    ][random(3)];
    bytes = Buffer.concat(changed ?? []);
  }
  return socket => void socket.end(bytes);
}

export const HTTP2_CASES: Http2Case[] = [
  { name: 'nothing wrong', serve: say(head(), data('hello', true)), expect: 'ok' },
  { name: 'no content', serve: say(frame(HEADERS, END_HEADERS | END_STREAM, 1, STATUS_200)), expect: 'ok' },
  {
    name: 'trailers',
    serve: say(head(), data('hello'), frame(HEADERS, END_HEADERS | END_STREAM, 1, field('x', 'y'))),
    expect: 'ok',
  },
  {
    name: 'an end and a reset that asks for no more',
    serve: say(head(), data('hello', true), reset(0)),
    expect: 'ok',
  },
  {
    name: '103, then 200',
    serve: say(frame(HEADERS, END_HEADERS, 1, status('103')), head(), data('hello', true)),
    expect: 'ok',
  },
  {
    name: 'a flood of 103',
    serve: socket => flood(socket, frame(HEADERS, END_HEADERS, 1, status('103'))),
    expect: 611,
  },
  { name: '101', serve: say(frame(HEADERS, END_HEADERS, 1, status('101'))), expect: 611 },
  // What is not whole: nothing of it may be taken for content.
  ...[0, 2, 8].map((code): Http2Case => ({
    name: `a reset in the content, code ${code}`,
    serve: say(head(), data('hel'), reset(code)),
    expect: 605,
  })),
  { name: 'a reset behind the head, code 0', serve: say(head(), reset(0)), expect: 605 },
  { name: 'a reset instead of an answer, code 0', serve: say(reset(0)), expect: 605, isAskedAgain: true },
  { name: 'a reset instead of an answer, code 8', serve: say(reset(8)), expect: 605, isAskedAgain: true },
  { name: 'a stream refused, always', serve: say(reset(7)), expect: 605, isAskedAgain: true },
  {
    name: 'a close in the content',
    serve: socket => void socket.end(Buffer.concat([head(), data('hel')])),
    expect: 605,
  },
  {
    name: 'a reset of the connection in the content',
    serve: socket =>
      void socket.write(Buffer.concat([head(), data('hel')]), () => setImmediate(() => socket.destroy())),
    expect: 605,
  },
  {
    name: 'a close instead of an answer',
    serve: socket => void socket.end(),
    expect: 605,
    isAskedAgain: true,
  },
  {
    name: 'GOAWAY in the content, which goes on',
    serve: say(head(), data('hel'), goaway(1, 0), data('lo', true)),
    expect: 'ok',
  },
  { name: 'GOAWAY instead of an answer', serve: say(goaway(0, 0)), expect: 605, isAskedAgain: true },
  {
    name: 'GOAWAY instead of an answer, by a server that is being restarted',
    serve: atFirst(2, say(goaway(0, 0)), say(head(), data('hello', true))),
    expect: 'ok',
    isAskedAgain: true,
  },
  {
    name: 'a close instead of an answer, by a server that is being restarted',
    serve: atFirst(2, socket => void socket.end(), say(head(), data('hello', true))),
    expect: 'ok',
    isAskedAgain: true,
  },
  { name: 'GOAWAY for an error, in the content', serve: say(head(), data('hel'), goaway(1, 2)), expect: 605 },
  {
    name: 'content shorter than said',
    serve: say(head(field('content-length', '10')), data('hel', true)),
    expect: 611,
  },
  {
    name: 'content longer than said',
    serve: say(head(field('content-length', '2')), data('hello', true)),
    expect: 611,
  },
  // Never an end.
  { name: 'silence', serve: () => undefined, expect: 603 },
  { name: 'silence from the first byte', silent: true, serve: () => undefined, expect: 603 },
  { name: 'content that stops', serve: say(head(), data('hel')), expect: 603 },
  {
    name: 'content that drips',
    serve: socket => {
      socket.write(head());
      drip(socket, data('x'));
    },
    expect: 603,
  },
  {
    name: 'content without end',
    serve: socket => {
      socket.write(head());
      flood(socket, data(Buffer.alloc(16_384)));
    },
    expect: 'too large, or a breach of the flow control',
  },
  {
    name: 'content that is padding',
    serve: socket => {
      socket.write(head());
      flood(socket, frame(DATA, PADDED, 1, Buffer.alloc(256, 255)));
    },
    expect: 'too large, or a breach of the flow control',
  },
  {
    name: 'a flood of empty content',
    serve: socket => {
      socket.write(head());
      flood(socket, data(''));
    },
    expect: 'too large, or called a flood',
  },
  ...(
    [
      ['PING', frame(PING, 0, 0, Buffer.alloc(8))],
      ['SETTINGS', frame(SETTINGS, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100]))],
      ['PRIORITY', frame(PRIORITY, 0, 1, Buffer.from([0, 0, 0, 3, 7]))],
      ['WINDOW_UPDATE', frame(WINDOW_UPDATE, 0, 0, u32(1))],
      ['frames of unknown kinds', frame(0xee, 0, 1, randomBytes(100))],
      ['resets of other streams', frame(RST_STREAM, 0, 99, u32(8))],
    ] as const
  ).map(([name, bytes]): Http2Case => ({
    name: `a flood of ${name}`,
    serve: socket => flood(socket, Buffer.concat(Array.from({ length: 200 }, () => bytes))),
    expect: 'too large, or called a flood',
  })),
  {
    name: 'CONTINUATION without end',
    serve: socket => {
      socket.write(frame(HEADERS, 0, 1, STATUS_200));
      flood(socket, frame(CONTINUATION, 0, 1, field('x', 'y'.repeat(1000))));
    },
    expect: 611,
  },
  {
    name: 'empty CONTINUATION without end',
    serve: socket => {
      socket.write(frame(HEADERS, 0, 1, STATUS_200));
      flood(socket, frame(CONTINUATION, 0, 1));
    },
    expect: 611,
  },
  {
    name: '20 KB of headers',
    serve: say(
      frame(HEADERS, 0, 1, Buffer.concat([STATUS_200, field('x', 'y'.repeat(10_000))])),
      frame(CONTINUATION, END_HEADERS, 1, field('x', 'y'.repeat(10_000))),
      data('hello', true),
    ),
    expect: 611,
  },
  {
    name: '1100 fields',
    serve: say(head(...Array.from({ length: 1100 }, () => field('x', '')))),
    expect: 'more headers than are taken',
  },
  {
    name: 'a header bomb',
    // One field of 3 KB that is remembered, and named again 4000 times by a byte each.
    serve: say(
      head(Buffer.from([0x40]), text('x'), text('y'.repeat(3000)), Buffer.alloc(4000, 0xbe)),
      data('hello', true),
    ),
    expect: 'more headers than are taken',
  },
  // Not the protocol.
  {
    name: 'HTTP/1.1',
    silent: true,
    serve: socket => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'),
    expect: 'no answer',
  },
  { name: 'noise', silent: true, serve: socket => void socket.write(randomBytes(5000)), expect: 'no answer' },
  { name: 'content before the head', serve: say(data('hello')), expect: 'a breach' },
  {
    name: 'content of a stream nobody asked for',
    serve: say(frame(DATA, 1, 3, Buffer.from('x'))),
    expect: 'a breach',
  },
  { name: 'an answer nobody asked for', serve: say(frame(HEADERS, 5, 3, STATUS_200)), expect: 611 },
  {
    name: 'a push',
    serve: say(frame(PUSH_PROMISE, END_HEADERS, 1, Buffer.concat([u32(2), STATUS_200]))),
    expect: 'a breach',
  },
  { name: 'no status', serve: say(frame(HEADERS, 5, 1, field('x', 'y'))), expect: 611 },
  { name: 'a status of letters', serve: say(frame(HEADERS, 5, 1, status('abc'))), expect: 611 },
  { name: 'status 999', serve: say(frame(HEADERS, 5, 1, status('999'))), expect: 611 },
  {
    name: 'two statuses',
    serve: say(frame(HEADERS, 5, 1, Buffer.concat([STATUS_200, STATUS_200]))),
    expect: 611,
  },
  { name: 'a name in upper case', serve: say(head(field('X-Y', 'z')), data('hello', true)), expect: 611 },
  {
    name: 'a field of the connection',
    serve: say(head(field('connection', 'close')), data('hello', true)),
    expect: 611,
  },
  {
    name: 'a NUL in a field',
    serve: say(head(field('x', 'a\0b')), data('hello', true)),
    expect: '611, or the field left out',
  },
  {
    name: 'an index of nothing',
    serve: say(frame(HEADERS, 5, 1, Buffer.from([0xff, 0xff, 0x7f]))),
    expect: 'a breach',
  },
  { name: 'a frame of 16 MB', serve: say(Buffer.from('ffffff000000000001', 'hex')), expect: 'a breach' },
  { name: 'a window of nothing', serve: say(frame(WINDOW_UPDATE, 0, 1, u32(0))), expect: 611 },
  {
    name: 'a window beyond all bounds',
    serve: say(frame(WINDOW_UPDATE, 0, 0, u32(0x7fffffff)), frame(WINDOW_UPDATE, 0, 0, u32(0x7fffffff))),
    expect: 611,
  },
  {
    name: 'settings nobody may have',
    serve: say(frame(SETTINGS, 0, 0, Buffer.from([0, 4, 0xff, 0xff, 0xff, 0xff]))),
    expect: 611,
  },
  {
    name: 'half a frame',
    serve: socket => void socket.end(data('hello').subarray(0, 11)),
    expect: 'a close nobody hears of',
  },
  {
    name: 'a server that wants HTTP/1.1 after all',
    serve: say(reset(13)),
    speaksHttp1: true,
    expect: 'ok',
  },
  { name: 'a server that wants HTTP/1.1 and does not speak it', serve: say(reset(13)), expect: 'no answer' },
];

/** Codes that stand for what a case's `expect` says in words. */
const VERDICTS: Record<string, readonly (string | number)[]> = {
  'too large, or a breach of the flow control': [606, 611],
  'too large, or called a flood': [605, 606, 611],
  'no answer': [603, 604, 605, 611],
  'a close nobody hears of': [603, 605, 611],
  'more headers than are taken': [605, 611],
  // Node 20 answers with GOAWAY and does not say so.
  'a breach': [603, 611],
  '611, or the field left out': ['ok', 611],
};

/** Every verdict that a case may have. */
export function expectedOf({ expect }: Http2Case): readonly (string | number)[] {
  return VERDICTS[expect] ?? [expect];
}

/** Serves a case on loopback. */
export async function serveHttp2(
  certificate: Certificate,
  { serve, silent, speaksHttp1 }: Http2Case,
): Promise<{ url: string; server: Server }> {
  const { key, cert } = certificate;
  const server = createServer(
    {
      key,
      cert,
      ALPNCallback: ({ protocols }) =>
        protocols.includes('h2') ? 'h2' : speaksHttp1 === true ? 'http/1.1' : undefined,
    },
    socket => {
      socket.on('error', () => undefined);
      if (socket.alpnProtocol !== 'h2') {
        socket.on('data', () => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'));
        return;
      }
      if (silent !== true) socket.write(frame(SETTINGS, 0, 0));
      let received = Buffer.alloc(0);
      let asked = false;
      socket.on('data', chunk => {
        received = Buffer.concat([received, chunk]);
        if (asked || !hasRequest(received)) return;
        asked = true;
        serve(socket);
      });
    },
  );
  server.on('tlsClientError', () => undefined);
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  return { url: `https://localhost:${(server.address() as AddressInfo).port}/`, server };
}

/** Whether a HEADERS frame is among what a client sent after its preface of 24 bytes. */
function hasRequest(received: Buffer): boolean {
  for (let at = 24; at + 9 <= received.length; at += 9 + received.readUIntBE(at, 3)) {
    if (received[at + 3] === HEADERS) return true;
  }
  return false;
}
