/** Answers that are no HTTP, or have a status that was not asked for. */
import { say, type HostileCase } from './saying.js';

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
    expect: 611,
  },
  {
    name: '205 with a body',
    serve: say('HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhello', false),
    expect: 611,
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
