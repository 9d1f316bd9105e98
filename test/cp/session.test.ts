import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { deliver, type DeliveryOptions } from '../../src/cp/deliver.js';
import { UnsSession } from '../../src/cp/session.js';
import { initAccepted, SET_RESULT_START, setAccepted, setRejected } from '../../src/wire/cp-uns/server.js';
import { ManualClock } from '../support/manual-clock.js';

const ACCEPTED = initAccepted({
  seq: 1,
  lastIp: '',
  isNew: true,
  mimes: ['*/*'],
  files: { used: 0, free: 10 },
  space: { used: 0, free: 1000 },
  fullset: { allowed: 3, wanted: undefined },
  errors: 0,
  processing: 0,
  shown: [],
});
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** A UNS of which a test says what it does; everything it hears is collected. */
async function uns(serve: (socket: Socket, heard: () => string) => void) {
  const dir = mkdtempSync(join(tmpdir(), 'session-'));
  const path = join(dir, 'uns.sock');
  const sockets: Socket[] = [];
  let heard = '';
  const server: Server = createServer({ allowHalfOpen: true }, socket => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', chunk => (heard += chunk.toString()));
    serve(socket, () => heard);
  });
  await new Promise<void>(resolve => void server.listen(path, resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(dir, { recursive: true });
  });
  const clock = new ManualClock();
  const options: DeliveryOptions = {
    uns: { kind: 'unix', path },
    timeoutMs: 1000,
    limits: { maxTokenBytes: 65_536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 },
    clock,
    onError: () => undefined,
    errorsKept: () => undefined,
    pid: '1',
    password: 'x',
    set: undefined,
    urlprefix: undefined,
    allowEmpty: false,
  };
  return { options, clock, heard: () => heard };
}

async function* inputOf(...pieces: string[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) yield Buffer.from(piece);
}
const url = '<url curl="a" mimetype="text/html" len="5"/>\n';
const quiet = () => undefined;

test('an early rejection ends the delivery although the input stalls', async () => {
  const { options } = await uns((socket, heard) => {
    socket.write(ACCEPTED);
    socket.on('data', () => {
      if (heard().includes('<url')) socket.end(setRejected(203, 'too large', false));
    });
  });
  async function* stalled(): AsyncGenerator<Buffer> {
    yield Buffer.from(url);
    await new Promise(() => undefined);
  }
  await assert.rejects(deliver(stalled(), options, quiet), {
    code: 'data.refused',
    message: /rejected the set: too large \(code 203\)/,
  });
});

test('silence of the UNS ends the wait for init, for room, and for the answer to the set', async () => {
  for (const [say, message] of [
    ['', /without an answer to init/],
    [ACCEPTED, /without the answer to the set/],
  ] as const) {
    const { options, clock } = await uns(socket => {
      if (say !== '') socket.write(say);
      socket.on('data', chunk => {
        if (say === '' || chunk.includes('</lococa:set>')) setImmediate(() => clock.advance(1000));
      });
    });
    await assert.rejects(deliver(inputOf(url), options, quiet), { code: 'peer.unavailable', message });
  }
  const { options, clock } = await uns(socket => {
    socket.write(ACCEPTED);
    socket.pause();
  });
  const session = await UnsSession.open(options);
  await session.init('1', 'x');
  const sending = (async () => {
    for (;;) await session.send('x'.repeat(65_536));
  })();
  // Whatever the socket's buffers take, some send has to wait in the end; its timer is the only one there is.
  const tick = setInterval(() => clock.advance(1000), 20);
  await assert.rejects(sending, { code: 'peer.unavailable', message: /without room for more of the set/ });
  clearInterval(tick);
  session.drop();
});

test('a UNS that does not read stops the reading of the input', async () => {
  const { options, clock } = await uns(socket => {
    socket.write(ACCEPTED);
    socket.once('data', () => socket.pause());
  });
  let taken = 0;
  async function* endless(): AsyncGenerator<Buffer> {
    for (;;) {
      taken += 65_536;
      yield Buffer.from(url.repeat(Math.ceil(65_536 / url.length)));
    }
  }
  const delivery = deliver(endless(), options, quiet);
  const tick = setInterval(() => clock.advance(100), 5);
  await assert.rejects(delivery, { code: 'peer.unavailable' });
  clearInterval(tick);
  assert.ok(taken < 4 * 1024 * 1024, `${taken} bytes were read`);
});

test('a UNS that hangs up before it has all of the set has accepted nothing', async () => {
  /** Of which the rest never comes. */
  async function* unfinished(): AsyncGenerator<Buffer> {
    yield Buffer.from(url.repeat(10_000));
    await new Promise(() => undefined);
  }
  for (const [until, accepts] of [
    ['<lococa:init', false],
    ['<url', true],
  ] as const) {
    const { options } = await uns((socket, heard) => {
      if (accepts) socket.write(ACCEPTED);
      socket.on('data', () => {
        if (heard().includes(until)) socket.end();
      });
    });
    await assert.rejects(deliver(unfinished(), options, quiet), {
      code: 'peer.unavailable',
      message: /closed the connection; nothing was accepted$/,
    });
  }
});

test('where a UNS goes away that had all of the set, nobody says that nothing was accepted', async () => {
  for (const isGone of [true, false]) {
    const { options, clock } = await uns((socket, heard) => {
      socket.write(ACCEPTED);
      socket.on('data', () => {
        if (!heard().includes('</lococa:set>')) return;
        if (isGone) socket.end(SET_RESULT_START);
        else clock.advance(3_600_000);
      });
    });
    await assert.rejects(deliver(inputOf(url, url), options, quiet), {
      code: 'peer.unavailable',
      message:
        /(closed the connection|see --timeout); whether the set was accepted is not known: send it again$/,
    });
  }
});

test('a web server is told from a UNS, also one that takes us for HTTP/0.9', async () => {
  for (const answer of [
    'HTTP/1.1 400 Bad Request\r\n\r\n',
    '<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">\n<html><head>\n<title>400 Bad Request</title>',
    '<html>\r\n<head><title>400 Bad Request</title></head><body><hr></body></html>',
  ]) {
    const { options } = await uns(socket => socket.end(answer));
    await assert.rejects(deliver(inputOf(url), options, quiet), {
      code: 'peer.protocol',
      message: /^unix:\S+ is no UNS, it speaks HTTP: name where lccd-uns listens$/,
    });
  }
});

test('each rejection is known by its code', async () => {
  for (const [code, expected] of [
    [101, 'auth.refused'],
    [102, 'peer.busy'],
    [104, 'peer.protocol'],
    [105, 'auth.refused'],
    [106, 'data.refused'],
  ] as const) {
    const { options } = await uns(socket =>
      socket.end(`<lococa:init_rejected><reason code="${code}">why</reason></lococa:init_rejected>`),
    );
    await assert.rejects(deliver(inputOf(url), options, quiet), {
      code: expected,
      message: `the UNS refused us: why (code ${code})${code === 101 ? '; compare --pid and the password with those of your registration' : ''}`,
    });
  }
});

test('a full set that outgrows the quota while it is read is dropped before its end', async () => {
  const { options, heard } = await uns((socket, said) => {
    socket.write(ACCEPTED);
    socket.on('data', () => {
      if (said().includes('</lococa:set>')) socket.end(SET_RESULT_START + setAccepted(1));
    });
  });
  const urls = Array.from({ length: 11 }, () => url);
  await assert.rejects(deliver(inputOf(...urls), { ...options, set: 'full' }, quiet), {
    code: 'data.refused',
    message: /11 urls, the quota is 10 files \(code 202\)/,
  });
  await assert.rejects(deliver(inputOf(url.replace('"5"', '"1001"')), { ...options, set: 'full' }, quiet), {
    message: /1001 bytes, the quota is 1000 bytes \(code 203\)/,
  });
  assert.ok(!heard().includes('</lococa:set>'));
});

test('nobody listening is told as such', async () => {
  const { options } = await uns(() => undefined);
  await assert.rejects(
    deliver(inputOf(url), { ...options, uns: { kind: 'unix', path: '/nonexistent/s' } }, quiet),
    {
      code: 'peer.unavailable',
      message: /cannot reach the UNS at unix:\/nonexistent\/s: there is no such socket/,
    },
  );
});
