/** Connections to UNSes that are ready before a CP needs them. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { PassThrough, type Duplex } from 'node:stream';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { UnsDoors } from '../../src/fe/ready.js';
import { systemClock } from '../../src/lib/clock.js';
import { Conversation } from '../../src/lib/conversation.js';
import { silentLog } from '../../src/lib/log.js';
import { certify } from '../support/certify.js';
import { until } from '../support/until.js';

const LONG_MS = 60_000;
const dir = mkdtempSync(join(tmpdir(), 'lcc-ready-'));
const [cert, key, ca] = certify(dir, ['127.0.0.1']).map(file => readFileSync(file));
after(() => rmSync(dir, { recursive: true }));

/** A UNS, as far as it is reached, and a front end. */
class Scene {
  readonly reached: Socket[] = [];
  readonly #server: Server;
  readonly #kind: 'tls' | 'tcp';
  readonly #lost = new Set<() => void>();
  trust = { ca, ...(cert && { cert }), ...(key && { key }) };
  readonly doors: UnsDoors;

  /** @param isDeaf a UNS that shakes no hands */
  constructor(kind: 'tls' | 'tcp', isDeaf = false) {
    this.#kind = kind;
    const reach = (socket: Socket) => {
      socket.on('error', () => undefined);
      this.reached.push(socket.resume());
    };
    this.#server =
      kind === 'tls' && !isDeaf
        ? createTlsServer({ cert, key, ca, requestCert: true }, reach)
        : createServer(reach);
    this.doors = new UnsDoors({
      trust: () => this.trust,
      routes: {
        watch: (_, lost) => {
          this.#lost.add(lost);
          return () => void this.#lost.delete(lost);
        },
      },
      clock: systemClock,
      log: silentLog,
    });
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  take(cp: Duplex = new PassThrough(), limitMs = LONG_MS) {
    const to = { kind: this.#kind, host: '127.0.0.1', port: this.#port } as const;
    return this.doors.take(to, limitMs, new Conversation(cp, 'CP', systemClock));
  }

  /** The same, of one that must be had. */
  async taken() {
    const uns = await this.take();
    assert.ok(uns);
    return uns;
  }

  moved(): void {
    for (const lost of this.#lost) lost();
  }

  close(): void {
    this.doors.close();
    this.#server.close();
    for (const socket of this.reached) socket.destroy();
  }
}

let scene: Scene;
const newScene = async (...args: ConstructorParameters<typeof Scene>) =>
  (scene = await new Scene(...args).start());
afterEach(() => scene.close());

describe('a connection to a UNS', () => {
  it('is ready for the next CP, and resumes what was agreed on, until certificates are others', async () => {
    const { reached } = await newScene('tls');
    const resumed = () => reached.map(socket => (socket as TLSSocket).isSessionReused());
    await scene.taken();
    await until('the next is ready', () => reached.length === 2);
    await scene.taken();
    await until('one more is', () => reached.length === 3);
    assert.deepEqual(resumed(), [false, false, true]);
    scene.trust = { ...scene.trust };
    await scene.taken();
    await until('one more is', () => reached.length === 4);
    assert.equal(resumed()[3], false);
  });

  it('is one that its UNS has not ended', async () => {
    const { reached } = await newScene('tcp');
    await scene.taken();
    await until('the next is ready', () => reached.length === 2);
    reached[1]?.end();
    await until('it is dropped', () => reached[1]?.closed === true);
    const { talk } = await scene.taken();
    reached[2]?.write('here');
    assert.equal(String(await talk.next()), 'here');
  });

  it('is ready for a second, or until the owner is another', async () => {
    const { reached } = await newScene('tcp');
    await scene.taken();
    await until('the next is ready', () => reached.length === 2);
    await until('it is dropped', () => reached[1]?.closed === true);
    await scene.taken();
    await until('the next is ready', () => reached.length === 4);
    scene.moved();
    await until('it is dropped', () => reached[3]?.closed === true);
  });

  it('is one of eight that are ready, however many CPs have come', async () => {
    const { reached } = await newScene('tcp');
    const all = await Promise.all(Array.from({ length: 40 }, () => scene.taken()));
    assert.equal(new Set(all).size, 40);
    await until('all others are dropped', () => reached.filter(({ closed }) => !closed).length === 40);
    assert.ok(reached.length <= 48, String(reached.length));
  });

  it('is one of sixteen that are dialled, and none is dialled for CPs that have gone', async () => {
    const { reached } = await newScene('tls', true);
    const cps = Array.from({ length: 100 }, () => new PassThrough());
    const waiting = cps.map(cp => scene.take(cp));
    await until('sixteen are dialled', () => reached.length === 16);
    assert.equal(await scene.take(new PassThrough(), 100), undefined, 'nobody answers in its time');
    for (const cp of cps) cp.destroy();
    for (const socket of reached) socket.destroy();
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set([undefined]));
    assert.equal(reached.length, 16);
  });
});
