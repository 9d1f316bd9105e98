/** One store server at a time: whose records count as stored, and whose never do. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import { createLog } from '../../../src/lib/log.js';
import { StoreServer, type OutgoingRecord } from '../../../src/spider/transaction/store-server-link.js';
import { STORE_HELLO } from '../../../src/wire/spider-record.js';
import { ManualClock } from '../../support/manual-clock.js';
import { until } from '../../support/until.js';

const HELLO_MS = 2000;
const ACK_OF_7 = Buffer.from([0, 0, 0, 7]);

class Scene {
  readonly clock = new ManualClock();
  readonly lines: string[] = [];
  readonly server = new StoreServer({
    name: '127.0.0.1:9022',
    helloTimeoutMs: HELLO_MS,
    stallTimeoutMs: 60_000,
    clock: this.clock,
    log: createLog({
      name: 'lccspider',
      level: 'info',
      human: false,
      write: line => void this.lines.push(line),
    }),
  });
  storedCount = 0;
  writtenCount = 0;

  /** @param write takes what the spider writes, as a socket's system does */
  connect(write: (done: (error?: Error) => void) => void = done => done()): Duplex {
    const socket = new Duplex({ read: () => undefined, write: (_bytes, _encoding, done) => write(done) });
    this.server.connected({ socket: socket as unknown as Socket, peer: 'store', address: '' });
    return socket;
  }

  deliver(): void {
    const record: OutgoingRecord = {
      docId: 7,
      head: Buffer.from('head'),
      content: { chunks: [], isSpooled: false, length: 0, piece: () => Promise.resolve(Buffer.alloc(0)) },
      written: () => void this.writtenCount++,
      unwritten: () => void this.writtenCount--,
      stored: () => void this.storedCount++,
    };
    this.server.deliver(record);
  }

  away(): Promise<unknown> {
    return until('its connection is given up', () => this.server.state === 'away');
  }

  logged(level: string): string[] {
    return this.lines.filter(line => line.includes(`"level":"${level}"`));
  }
}

describe('a store server', () => {
  it('that never says anything is one that does not acknowledge, and the log warns of it', async () => {
    const scene = new Scene();
    scene.connect();
    scene.deliver();
    assert.equal(scene.storedCount, 0);
    scene.clock.advance(HELLO_MS);
    await until('it is stored', () => scene.storedCount === 1);
    assert.match(scene.logged('warn').join(''), /does not acknowledge.*127\.0\.0\.1:9022/);
  });

  it('has its time for the hello from the first record on, so that what answers only that is known', async () => {
    const scene = new Scene();
    const socket = scene.connect();
    scene.clock.advance(10 * HELLO_MS);
    scene.deliver();
    socket.push('HTTP/1.1 400 Bad\r\n');
    await scene.away();
    assert.deepEqual([scene.storedCount, scene.writtenCount], [0, 0]);
  });

  it('whose first bytes are no hello is none: nothing is stored there before it says hello', async () => {
    const scene = new Scene();
    for (const said of ['HTTP/1.1 400 Bad\r\n\x1b\xff', 'ERR no', 'LCCACK2\n']) {
      const socket = scene.connect();
      scene.deliver();
      socket.push(Buffer.from(said, 'latin1'));
      await scene.away();
    }
    const [error, ...more] = scene.logged('error');
    assert.deepEqual(more, []);
    const { event, sent } = JSON.parse(error ?? '') as Record<string, string>;
    assert.match(event ?? '', /^127\.0\.0\.1:9022 is no store server.*--store/);
    assert.equal(sent, 'HTTP/1.1 400 Bad\\x0d\\x0a\\x1b\\xff');
    // It says nothing this time, as a web server does that waits for a line.
    const quiet = scene.connect();
    scene.clock.advance(5 * HELLO_MS);
    assert.equal(scene.storedCount, 0);
    assert.equal(scene.server.openCount, 3);
    quiet.push(STORE_HELLO);
    for (let n = 0; n < 3; n++) quiet.push(ACK_OF_7);
    await until('all are stored', () => scene.storedCount === 3);
  });

  it('that says a part of the hello and no more is none', async () => {
    const scene = new Scene();
    const socket = scene.connect();
    scene.deliver();
    socket.push('LCC');
    await until('it is heard', () => socket.readableLength === 0);
    scene.clock.advance(HELLO_MS);
    await scene.away();
    assert.equal(scene.storedCount, 0);
    assert.equal(scene.logged('error').length, 1);
  });

  it('that does not acknowledge has not got what the system could not send', async () => {
    const scene = new Scene();
    let send = (done: (error?: Error) => void) => done();
    scene.connect(done => send(done));
    scene.deliver();
    scene.clock.advance(HELLO_MS);
    await until('it is stored', () => scene.storedCount === 1);
    // As a socket whose other side has reset it.
    send = done => done(new Error('write EPIPE'));
    scene.deliver();
    await scene.away();
    assert.deepEqual([scene.storedCount, scene.writtenCount, scene.server.openCount], [1, 1, 1]);
  });
});
