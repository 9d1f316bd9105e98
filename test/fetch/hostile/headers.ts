/** Headers that are none, or never end. */
import { drip, flood } from '../support.js';
import { head, say, type HostileCase } from './saying.js';

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
    expect: 606,
  },
  {
    name: '20000 Set-Cookie',
    serve: say(head(...Array.from({ length: 20_000 }, (_, i) => `Set-Cookie: c${i}=v`))),
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
    name: '100, then 200',
    serve: say(`HTTP/1.1 100 Continue\r\n\r\n${head('Content-Length: 2')}ok`, false),
    expect: 'ok',
  },
  {
    name: '100, 102, 103 and 100, byte by byte, then 200',
    serve: socket => {
      const interim = ['100 Continue', '102 Processing', '103 Early Hints\r\nLink: </a>', '100 Go on'];
      const bytes = `${interim.map(line => `HTTP/1.1 ${line}\r\n\r\n`).join('')}${head('Content-Length: 2')}ok`;
      let at = 0;
      const next = () => {
        if (at < bytes.length) socket.write(bytes[at++] ?? '', () => setImmediate(next));
      };
      next();
    },
    expect: 'ok',
  },
  {
    name: '100 and nothing more',
    serve: say('HTTP/1.1 100 Continue\r\n\r\n', false),
    expect: 603,
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
  { name: 'bare LF line ends', serve: say('HTTP/1.1 200 OK\nContent-Length: 2\n\nok'), expect: 'ok' },
  { name: 'a folded header', serve: say(head('X: a', ' b', 'Content-Length: 0')), expect: 'ok' },
  { name: 'a blank before the colon', serve: say(head('X : a', 'Content-Length: 0')), expect: 'ok' },
  { name: 'a header without colon', serve: say(head('nonsense', 'Content-Length: 0')), expect: 'ok' },
];
