/** A front end in this process, whose routes a test decides on. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { xmlLimitsOf } from '../../src/config/limits.js';
import { describe } from '../../src/daemon/connection.js';
import { UnsDoors } from '../../src/fe/ready.js';
import type { Routes } from '../../src/fe/routes.js';
import { CpPassage, type FrontEnd } from '../../src/fe/session.js';
import { systemClock } from '../../src/lib/clock.js';
import type { Endpoint } from '../../src/lib/endpoint.js';
import { FairShare } from '../../src/lib/fair-share.js';
import { silentLog } from '../../src/lib/log.js';
import { configOf } from './settings.js';

export class TestFrontEnd {
  /** Where every provider is; undefined: nowhere. */
  to: Endpoint | undefined;
  /** Ids that were looked for. */
  readonly asked: string[] = [];
  readonly counts = { passed: 0, refused: 0, lost: 0 };
  held = 0;
  readonly passages = new Set<CpPassage>();
  readonly #sockets = new Set<Socket>();
  readonly #watching = new Set<() => void>();
  readonly #server: Server;
  readonly #doors: UnsDoors;

  private constructor(more: Partial<FrontEnd>) {
    const { uns, fe, xml, wire } = configOf({}).settings;
    const routes: Routes = {
      find: id => {
        this.asked.push(id);
        return Promise.resolve(this.to);
      },
      watch: (_, lost) => {
        this.#watching.add(lost);
        return () => void this.#watching.delete(lost);
      },
    };
    this.#doors = new UnsDoors({ trust: () => ({}), routes, clock: systemClock, log: silentLog });
    const front: FrontEnd = {
      limits: uns,
      waitMs: fe.waitMs,
      xml: { ...xmlLimitsOf(xml), maxHelloBytes: wire.maxHelloBytes },
      routes,
      doors: this.#doors,
      share: new FairShare(),
      clock: systemClock,
      log: silentLog,
      counted: what => void this.counts[what]++,
      held: by => void (this.held += by),
      ...more,
    };
    this.#server = createServer(socket => {
      socket.on('error', () => undefined);
      this.#sockets.add(socket);
      const passage = new CpPassage(front, describe(socket), { known: () => true });
      this.passages.add(passage);
      void passage.run().finally(() => this.passages.delete(passage));
    });
  }

  static async listen(to?: Endpoint, more: Partial<FrontEnd> = {}): Promise<TestFrontEnd> {
    const front = new TestFrontEnd(more);
    front.to = to;
    front.#server.listen(0, '127.0.0.1');
    await once(front.#server, 'listening');
    return front;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The owner is another. */
  moved(): void {
    for (const lost of this.#watching) lost();
  }

  close(): void {
    this.#server.close();
    this.#doors.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
