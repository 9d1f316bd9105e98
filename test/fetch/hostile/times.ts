/** Servers that do not come to an end, or end too soon. */
import { gzipSync } from 'node:zlib';
import { drip } from '../support.js';
import { BOMB } from './bombs.js';
import { head, noise, say, type HostileCase } from './saying.js';

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
      socket.write(BOMB.subarray(0, 10));
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
  },
  {
    name: 'a redirect whose body never ends',
    serve: (socket, _request, nth) => {
      socket.write(
        nth === 1
          ? 'HTTP/1.1 302 Found\r\nLocation: /there\r\nTransfer-Encoding: chunked\r\n\r\n'
          : `${head('Content-Length: 2')}ok`,
      );
      if (nth === 1) drip(socket, '1\r\nx\r\n');
    },
    expect: 'ok',
  },
  {
    name: 'accept and close',
    reach: 'url',
    serve: () => undefined,
    onConnect: socket => void socket.end(),
    expect: 605,
  },
  {
    name: 'accept and reset',
    reach: 'url',
    serve: () => undefined,
    onConnect: socket => void socket.resetAndDestroy(),
    expect: 605,
  },
  { name: 'a close instead of an answer', reach: 'url', serve: socket => void socket.end(), expect: 605 },
  {
    name: 'a reset instead of an answer',
    reach: 'url',
    serve: socket => void socket.resetAndDestroy(),
    expect: 605,
  },
  {
    name: 'a reset after the headers',
    serve: socket =>
      socket.write(head('Content-Length: 10'), () => setImmediate(() => socket.resetAndDestroy())),
    expect: 605,
  },
  {
    name: 'a reset in a coded body that ends by close',
    serve: socket => {
      socket.write(Buffer.concat([Buffer.from(head('Content-Encoding: gzip', 'Connection: close')), BOMB]));
      setTimeout(() => socket.resetAndDestroy(), 100);
    },
    expect: 606,
    // It may come before the decoder has made too much of it.
    orElse: 605,
  },
  // More coded bytes than a decoder takes at once, so that reading is held up when the reset comes.
  {
    name: 'a reset while the decoder is busy',
    serve: socket => {
      socket.write(Buffer.from(head('Content-Encoding: gzip', 'Connection: close')));
      socket.write(gzipSync(noise(900_000)).subarray(0, 700_000), () => socket.resetAndDestroy());
    },
    expect: 605,
  },
];
