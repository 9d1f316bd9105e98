/** Servers that do everything wrong, and what each must lead to (section 6 of the robot's specification). */
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { answer, drip, flood, type Behaviour } from '../support.js';

export interface HostileCase {
  name: string;
  serve: Behaviour;
  /** `ok`, `unchanged`, or the code of the error. */
  expect: string | number;
  /** Only a deadline ends it, whatever the verdict. */
  endless?: boolean;
  /** Talks before it is asked. */
  onConnect?: Behaviour;
}

const say =
  (text: string | Buffer, end = true): Behaviour =>
  socket => {
    socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text);
    if (end) socket.end();
  };
const head = (...lines: string[]) => `HTTP/1.1 200 OK\r\n${lines.map(line => `${line}\r\n`).join('')}\r\n`;
const redirect = (...lines: string[]) =>
  say(`HTTP/1.1 302 Found\r\nContent-Length: 0\r\n${lines.map(line => `${line}\r\n`).join('')}\r\n`, false);
const coded = (coding: string, body: Buffer) =>
  say(
    Buffer.concat([Buffer.from(head(`Content-Encoding: ${coding}`, `Content-Length: ${body.length}`)), body]),
    false,
  );
const chunked = 'Transfer-Encoding: chunked';

const zeros = Buffer.alloc(256 * 1024 * 1024);
const bomb = gzipSync(zeros, { level: 1 });
/** Few enough bytes to be decoded in one go. */
const smallBomb = gzipSync(zeros.subarray(0, 16 * 1024 * 1024));
const brotliBomb = brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });

/** Blocks that each say `128 KB of zeros` in four bytes; the window is 8 MB unless another is asked for. */
function zstdBomb(blocks: number, window = 0x68): Buffer {
  const block = (last: number) => Buffer.from([0x02 | last, 0, 0x10, 0]);
  const repeated = Buffer.concat(Array.from({ length: blocks - 1 }, () => block(0)));
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, window]), repeated, block(1)]);
}

export const REDIRECTS: HostileCase[] = [
  {
    name: 'endless redirects',
    serve: (socket, _request, nth) => redirect(`Location: /${nth}`)(socket, '', nth),
    expect: 608,
  },
  {
    name: 'a redirect cycle of two',
    serve: (socket, request) =>
      redirect(`Location: ${request.startsWith('GET /b') ? '/a' : '/b'}`)(socket, '', 1),
    expect: 608,
  },
  { name: 'a redirect to itself', serve: redirect('Location: /'), expect: 608 },
  { name: 'a redirect to itself, fragment apart', serve: redirect('Location: /#x'), expect: 608 },
  { name: 'a redirect without Location', serve: redirect(), expect: 611 },
  { name: 'a redirect with an empty Location', serve: redirect('Location: '), expect: 611 },
  {
    name: 'a redirect with two different Locations',
    serve: redirect('Location: /a', 'Location: /b'),
    expect: 611,
  },
  { name: 'a redirect to nonsense', serve: redirect('Location: http://[::g]:99999/'), expect: 611 },
  {
    name: 'a redirect to a UTF-8 path',
    serve: (socket, request) =>
      request.startsWith('GET /caf%C3%A9 ')
        ? socket.write(answer('found'))
        : redirect(`Location: ${Buffer.from('/café').toString('latin1')}`)(socket, '', 1),
    expect: 'ok',
  },
  { name: 'a redirect to file:', serve: redirect('Location: file:///etc/passwd'), expect: 609 },
  { name: 'a redirect to gopher:', serve: redirect('Location: gopher://127.0.0.1/'), expect: 609 },
  { name: 'a redirect with a password', serve: redirect('Location: http://u:p@127.0.0.1/'), expect: 609 },
  {
    name: 'a redirect to a private address',
    serve: redirect('Location: http://192.168.1.1/'),
    expect: 610,
  },
  {
    name: 'a redirect to the metadata service',
    serve: redirect('Location: http://169.254.169.254/'),
    expect: 610,
  },
  {
    name: 'a redirect whose body drips for ever',
    serve: socket => {
      socket.write('HTTP/1.1 302 Found\r\nLocation: ftp://x/\r\nContent-Length: 9999\r\n\r\n');
      drip(socket, 'x');
    },
    endless: true,
    expect: 609,
  },
];

export const TIMES: HostileCase[] = [
  { name: 'silence', serve: () => undefined, expect: 603 },
  {
    name: 'headers that drip',
    serve: socket => {
      socket.write('HTTP/1.1 200 OK\r\n');
      drip(socket, 'X: y\r\n');
    },
    expect: 603,
  },
  {
    name: 'a body that drips',
    serve: socket => {
      socket.write(head('Content-Length: 100000'));
      drip(socket, 'x');
    },
    expect: 603,
  },
  {
    name: 'a body that stops',
    serve: say(head('Content-Length: 100000') + 'begin', false),
    expect: 603,
  },
  {
    name: 'a gzip body that drips',
    serve: socket => {
      socket.write(head('Content-Encoding: gzip', 'Content-Length: 100000'));
      socket.write(bomb.subarray(0, 10));
      drip(socket, 'x');
    },
    expect: 603,
  },
  {
    name: 'a 404 whose body never ends',
    serve: socket => {
      socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 60000\r\n\r\n');
      drip(socket, 'x');
    },
    expect: 404,
    endless: true,
  },
  { name: 'accept and close', serve: () => undefined, onConnect: socket => void socket.end(), expect: 605 },
  {
    name: 'accept and reset',
    serve: () => undefined,
    onConnect: socket => void socket.resetAndDestroy(),
    expect: 605,
  },
  { name: 'a close instead of an answer', serve: socket => void socket.end(), expect: 605 },
  { name: 'a reset instead of an answer', serve: socket => void socket.resetAndDestroy(), expect: 605 },
  {
    name: 'a reset after the headers',
    serve: socket =>
      socket.write(head('Content-Length: 10'), () => setImmediate(() => socket.resetAndDestroy())),
    expect: 605,
  },
  {
    name: 'a reset in a coded body that ends by close',
    serve: socket => {
      socket.write(Buffer.concat([Buffer.from(head('Content-Encoding: gzip', 'Connection: close')), bomb]));
      setTimeout(() => socket.resetAndDestroy(), 100);
    },
    expect: 606,
  },
];

/** More coded bytes than a decoder takes at once, so that reading is held up when the reset comes. */
TIMES.push({
  name: 'a reset while the decoder is busy',
  serve: socket => {
    socket.write(Buffer.from(head('Content-Encoding: gzip', 'Connection: close')));
    socket.write(gzipSync(noise(900_000)).subarray(0, 700_000), () => socket.resetAndDestroy());
  },
  expect: 611,
});

export const HEADERS: HostileCase[] = [
  {
    name: 'an endless header line',
    serve: socket => {
      socket.write('HTTP/1.1 200 OK\r\nX: ');
      flood(socket, 'x'.repeat(16384));
    },
    expect: 611,
  },
  {
    name: 'an endless header name',
    serve: socket => {
      socket.write('HTTP/1.1 200 OK\r\n');
      flood(socket, 'x'.repeat(16384));
    },
    expect: 611,
  },
  {
    name: 'endless headers',
    serve: socket => {
      socket.write('HTTP/1.1 200 OK\r\n');
      flood(socket, 'X: yyyyyyyy\r\n'.repeat(1000));
    },
    expect: 611,
  },
  {
    name: 'an endless status line',
    serve: socket => {
      socket.write('HTTP/1.1 200 ');
      flood(socket, 'O'.repeat(16384));
    },
    expect: 603,
  },
  {
    name: '5000 Set-Cookie',
    serve: say(head(...Array.from({ length: 5000 }, (_, i) => `Set-Cookie: c${i}=v`))),
    expect: 611,
  },
  {
    name: 'a flood of 100 Continue',
    serve: socket => flood(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(500)),
    expect: 611,
  },
  {
    name: 'a flood of 103 Early Hints',
    serve: socket => flood(socket, 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(500)),
    expect: 611,
  },
  {
    name: '103 drips for ever',
    serve: socket => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n', 400),
    expect: 603,
  },
  {
    name: '103, then 200',
    serve: say(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${head('Content-Length: 2')}ok`, false),
    expect: 'ok',
  },
  {
    name: '101 unasked',
    serve: say('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n', false),
    expect: 611,
  },
  { name: 'a NUL in a header', serve: say(head('X: a\0b', 'Content-Length: 0')), expect: 611 },
  {
    name: 'a NUL in the type',
    serve: say(head('Content-Type: text/\0html', 'Content-Length: 0')),
    expect: 611,
  },
  { name: 'Latin-1 in a header', serve: say(head('X: caf\xe9', 'Content-Length: 0'), false), expect: 'ok' },
  { name: 'a bare CR in a header', serve: say(head('X: a\rb', 'Content-Length: 0')), expect: 611 },
  { name: 'bare LF line ends', serve: say('HTTP/1.1 200 OK\nContent-Length: 2\n\nok'), expect: 611 },
  { name: 'a folded header', serve: say(head('X: a', ' b', 'Content-Length: 0')), expect: 611 },
  { name: 'a blank before the colon', serve: say(head('X : a', 'Content-Length: 0')), expect: 611 },
  { name: 'a header without colon', serve: say(head('nonsense', 'Content-Length: 0')), expect: 611 },
];

export const FRAMING: HostileCase[] = [
  { name: 'Content-Length too large', serve: say(`${head('Content-Length: 10')}short`), expect: 605 },
  {
    name: 'Content-Length too large, with Connection: close',
    serve: say(`${head('Content-Length: 10', 'Connection: close')}short`),
    expect: 605,
  },
  { name: 'Content-Length too small', serve: say(`${head('Content-Length: 2')}okay`, false), expect: 'ok' },
  { name: 'a negative Content-Length', serve: say(`${head('Content-Length: -1')}ok`), expect: 611 },
  {
    name: 'a Content-Length beyond 64 bits',
    serve: say(`${head('Content-Length: 99999999999999999999999')}ok`),
    expect: 611,
  },
  { name: 'Content-Length in words', serve: say(`${head('Content-Length: many')}ok`), expect: 611 },
  {
    name: 'the same Content-Length twice',
    serve: say(`${head('Content-Length: 2', 'Content-Length: 2')}ok`),
    expect: 611,
  },
  {
    name: 'two different Content-Lengths',
    serve: say(`${head('Content-Length: 2', 'Content-Length: 3')}ok`),
    expect: 611,
  },
  {
    name: 'Content-Length and chunked',
    serve: say(`${head('Content-Length: 2', chunked)}2\r\nok\r\n0\r\n\r\n`),
    expect: 611,
  },
  { name: 'a chunk size of garbage', serve: say(`${head(chunked)}zz\r\nok\r\n0\r\n\r\n`), expect: 611 },
  { name: 'a chunk cut short', serve: say(`${head(chunked)}10\r\nshort`), expect: 605 },
  { name: 'no last chunk', serve: say(`${head(chunked)}2\r\nok\r\n`), expect: 605 },
  {
    name: 'a chunk size beyond 64 bits',
    serve: say(`${head(chunked)}fffffffffffffffff\r\nok\r\n`),
    expect: 611,
  },
  { name: 'chunks ended by LF only', serve: say(`${head(chunked)}2\nok\n0\n\n`), expect: 611 },
  {
    name: 'an endless chunk extension',
    serve: socket => {
      socket.write(`${head(chunked)}2;`);
      flood(socket, 'x'.repeat(16384));
    },
    expect: 603,
  },
  {
    name: 'endless trailers',
    serve: socket => {
      socket.write(`${head(chunked)}2\r\nok\r\n0\r\n`);
      flood(socket, 'X: yyyyyyyy\r\n'.repeat(1000));
    },
    expect: 611,
  },
  {
    name: 'Transfer-Encoding: gzip, chunked',
    serve: say(`${head('Transfer-Encoding: gzip, chunked')}2\r\nok\r\n0\r\n\r\n`),
    expect: 611,
  },
  {
    name: 'a never-ending identity body',
    serve: socket => {
      socket.write(head());
      flood(socket, Buffer.alloc(65536));
    },
    expect: 606,
  },
  {
    name: 'a never-ending chunked body',
    serve: socket => {
      socket.write(head(chunked));
      flood(socket, `1000\r\n${'x'.repeat(4096)}\r\n`);
    },
    expect: 606,
  },
  { name: 'an announced gigabyte', serve: say(head('Content-Length: 1073741824'), false), expect: 606 },
  {
    name: 'a second answer behind the first',
    serve: say(Buffer.concat([answer('first'), answer('second')]), false),
    expect: 'ok',
  },
  {
    name: 'an answer before the request',
    serve: () => undefined,
    onConnect: socket => void socket.write(answer('early')),
    expect: 'ok',
  },
];

export const CODINGS: HostileCase[] = [
  { name: 'a gzip bomb of 256 MiB', serve: coded('gzip', bomb), expect: 606 },
  { name: 'a small gzip bomb', serve: coded('gzip', smallBomb), expect: 606 },
  { name: 'a brotli bomb', serve: coded('br', brotliBomb), expect: 606 },
  { name: 'a double gzip bomb', serve: coded('gzip, gzip', gzipSync(bomb)), expect: 611 },
  {
    name: 'a double gzip bomb in two headers',
    serve: coded('gzip\r\nContent-Encoding: gzip', gzipSync(bomb)),
    expect: 611,
  },
  {
    name: 'corrupt gzip',
    serve: coded('gzip', Buffer.concat([gzipSync('a'.repeat(999)).subarray(0, 12), Buffer.alloc(40, 7)])),
    expect: 611,
  },
  { name: 'a wrong gzip checksum', serve: coded('gzip', flipped(gzipSync('content'))), expect: 611 },
  { name: 'cut gzip', serve: coded('gzip', gzipSync('a'.repeat(999)).subarray(0, 20)), expect: 611 },
  {
    name: 'cut gzip, large',
    serve: coded('gzip', gzipSync(noise(300_000)).subarray(0, 200_000)),
    expect: 611,
  },
  {
    name: 'cut brotli',
    serve: coded('br', brotliCompressSync('a'.repeat(999)).subarray(0, -3)),
    expect: 611,
  },
  {
    name: 'cut brotli, large',
    serve: coded('br', brotliCompressSync(noise(300_000)).subarray(0, 200_000)),
    expect: 611,
  },
  { name: 'not gzip at all', serve: coded('gzip', Buffer.from('plain text')), expect: 611 },
  { name: 'not brotli at all', serve: coded('br', Buffer.from('plain text')), expect: 611 },
  {
    name: 'garbage behind gzip',
    serve: coded('gzip', Buffer.concat([gzipSync('content'), Buffer.from('garbage')])),
    expect: 611,
  },
  {
    name: 'much garbage behind gzip',
    serve: coded('gzip', Buffer.concat([gzipSync('content'), noise(300_000)])),
    expect: 611,
  },
  {
    name: 'padding behind gzip',
    serve: coded('gzip', Buffer.concat([gzipSync('content'), Buffer.alloc(300_000)])),
    expect: 'ok',
  },
  {
    name: 'padding behind gzip that never ends',
    serve: socket => {
      socket.write(
        Buffer.concat([Buffer.from(head('Content-Encoding: gzip', chunked)), Buffer.from('14\r\n')]),
      );
      socket.write(gzipSync(''));
      drip(socket, '\r\n1\r\n\0');
    },
    expect: 603,
  },
  { name: 'deflate, unasked', serve: coded('deflate', Buffer.from('x')), expect: 611 },
  { name: 'a zstd bomb', serve: coded('zstd', zstdBomb(4000)), expect: 606 },
  { name: 'cut zstd', serve: coded('zstd', zstdBomb(2).subarray(0, -1)), expect: 611 },
  { name: 'zstd that wants 2 GB at once', serve: coded('zstd', zstdBomb(2, 0xa8)), expect: 611 },
  { name: 'not zstd at all', serve: coded('zstd', Buffer.from('plain text')), expect: 611 },
  { name: 'gzip in zstd', serve: coded('gzip, zstd', zstdBomb(2)), expect: 611 },
];

export const PROTOCOL: HostileCase[] = [
  { name: 'HTTP/0.9', serve: say('<html>hello</html>'), expect: 611 },
  { name: 'ICY', serve: say('ICY 200 OK\r\n\r\nmusic'), expect: 611 },
  { name: 'HTTP/2 frames', serve: say(Buffer.from('00000c040000000000000300000064', 'hex')), expect: 611 },
  { name: 'HTTP/3.0', serve: say('HTTP/3.0 200 OK\r\nContent-Length: 2\r\n\r\nok'), expect: 611 },
  { name: 'HTTP/1.1x', serve: say('HTTP/1.1x 200 OK\r\nContent-Length: 2\r\n\r\nok'), expect: 611 },
  { name: 'an SSH greeting', serve: say('SSH-2.0-OpenSSH_9.2\r\n'), expect: 611 },
  { name: 'status 99', serve: say('HTTP/1.1 99 Low\r\nContent-Length: 0\r\n\r\n'), expect: 611 },
  { name: 'status 0200', serve: say('HTTP/1.1 0200 OK\r\nContent-Length: 0\r\n\r\n'), expect: 611 },
  { name: 'status 999', serve: say('HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n'), expect: 611 },
  {
    name: 'no reason phrase',
    serve: say('HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok', false),
    expect: 'ok',
  },
  {
    name: 'a NUL in the reason phrase',
    serve: say('HTTP/1.1 200 O\0K\r\nContent-Length: 2\r\n\r\nok'),
    expect: 'ok',
  },
  {
    name: '204 with a body',
    serve: say('HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello', false),
    expect: 'ok',
  },
  {
    name: '205 with a body',
    serve: say('HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhello', false),
    expect: 'ok',
  },
  {
    name: '304 unasked, with a body',
    serve: say('HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello', false),
    expect: 611,
  },
  {
    name: '206 unasked',
    serve: say(
      'HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/9\r\nContent-Length: 2\r\n\r\nok',
      false,
    ),
    expect: 611,
  },
  {
    name: '300',
    serve: say('HTTP/1.1 300 Multiple Choices\r\nContent-Length: 0\r\n\r\n', false),
    expect: 611,
  },
  {
    name: '401',
    serve: say('HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n', false),
    expect: 401,
  },
  {
    name: '407',
    serve: say('HTTP/1.1 407 Proxy\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n', false),
    expect: 407,
  },
  {
    name: '503 with an absurd Retry-After',
    serve: say(`HTTP/1.1 503 No\r\nRetry-After: ${'9'.repeat(400)}\r\nContent-Length: 0\r\n\r\n`, false),
    expect: 503,
  },
];

export const CASES = [...REDIRECTS, ...TIMES, ...HEADERS, ...FRAMING, ...CODINGS, ...PROTOCOL];

function flipped(coded: Buffer): Buffer {
  const at = coded.length - 6;
  coded.writeUInt8(coded.readUInt8(at) ^ 0xff, at);
  return coded;
}

/** Bytes that do not compress, the same in every run. */
function noise(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = 1;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    bytes[i] = state >>> 16;
  }
  return bytes;
}
