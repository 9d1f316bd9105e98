import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { after, beforeEach, describe, it } from 'node:test';
import { ManualClock } from '../../src/lib/clock.js';
import { Line } from '../../src/uns/line.js';
import { FairShare } from '../../src/lib/fair-share.js';

const server = createServer();
after(() => server.close());

/** The CP's end, and what it has heard. */
let peer: Socket;
let heard: string[];
let line: Line;
/** What was handed to the socket, call by call. */
let writes: string[];

beforeEach(async () => {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
  const connected = once(server, 'connection') as Promise<[Socket]>;
  peer = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const texts: string[] = (heard = []);
  peer.setEncoding('utf8').on('data', (text: string) => void texts.push(text));
  const [socket] = await connected;
  writes = [];
  const write = socket.write.bind(socket);
  socket.write = (text: string) => {
    writes.push(text);
    return write(text);
  };
  line = new Line(socket, 'cp', new ManualClock());
});

describe('what is said to a CP', () => {
  it('goes out together when the CP is waited for', async () => {
    peer.write('first');
    assert.equal(String(await line.next()), 'first');
    line.say('one ');
    line.say('two');
    assert.deepEqual([writes, line.waitingBytes], [[], 7]);
    const next = line.next();
    assert.deepEqual(writes, ['one two']);
    peer.write('second');
    assert.equal(String(await next), 'second');
    line.destroy();
  });

  it('goes out before anybody waits for more than may be waiting', async () => {
    line.say('äöü');
    await line.said(6);
    assert.deepEqual(writes, []);
    await line.said(5);
    assert.deepEqual(writes, ['äöü']);
    line.destroy();
  });

  it('goes out at the end, in good order or not', async () => {
    line.say('last word');
    const closed = once(peer, 'close');
    const finished = line.finish(new FairShare().join());
    await closed;
    assert.equal(await finished, true);
    assert.equal(heard.join(''), 'last word');
  });

  it('goes out also where nobody waits for the end', async () => {
    line.say('go away');
    line.destroy();
    await once(peer, 'close');
    assert.equal(heard.join(''), 'go away');
  });
});
