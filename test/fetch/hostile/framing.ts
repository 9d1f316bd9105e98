/** Bodies with another length than announced. */
import { answer, flood } from '../support.js';
import { CHUNKED, head, say, type HostileCase } from './saying.js';

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
    serve: say(`${head('Content-Length: 2', CHUNKED)}2\r\nok\r\n0\r\n\r\n`),
    expect: 611,
  },
  { name: 'a chunk size of garbage', serve: say(`${head(CHUNKED)}zz\r\nok\r\n0\r\n\r\n`), expect: 611 },
  { name: 'a chunk cut short', serve: say(`${head(CHUNKED)}10\r\nshort`), expect: 605 },
  { name: 'no last chunk', serve: say(`${head(CHUNKED)}2\r\nok\r\n`), expect: 605 },
  {
    name: 'a chunk size beyond 64 bits',
    serve: say(`${head(CHUNKED)}fffffffffffffffff\r\nok\r\n`),
    expect: 611,
  },
  { name: 'chunks ended by LF only', serve: say(`${head(CHUNKED)}2\nok\n0\n\n`), expect: 611 },
  {
    name: 'an endless chunk extension',
    serve: socket => {
      socket.write(`${head(CHUNKED)}2;`);
      flood(socket, 'x'.repeat(16384));
    },
    expect: 606,
  },
  {
    name: 'an extension of every chunk',
    serve: socket => {
      socket.write(head(CHUNKED));
      flood(socket, `1;${'x'.repeat(1000)}\r\na\r\n`.repeat(16));
    },
    expect: 606,
  },
  {
    name: 'chunks of a byte',
    serve: socket => {
      socket.write(head(CHUNKED));
      flood(socket, '1\r\na\r\n'.repeat(3000));
    },
    expect: 606,
  },
  {
    name: 'endless trailers',
    serve: socket => {
      socket.write(`${head(CHUNKED)}2\r\nok\r\n0\r\n`);
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
      socket.write(head(CHUNKED));
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
