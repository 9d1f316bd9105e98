/** A way to a node of an engine on which the answer to a COMMIT is lost, before or after the node has it. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** `before`: the node never hears of it; `after`: it is done, and nobody is told. */
export type Loss = 'before' | 'after';

const COMMIT = Buffer.from('\x03COMMIT', 'latin1');

export class EngineProxy {
  /** Commits that were lost. */
  lost = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #next: Loss | undefined;

  private constructor(target: number) {
    this.#server = createServer(client => this.#join(client, connect(target, '127.0.0.1')));
  }

  static async to(target: number): Promise<EngineProxy> {
    const proxy = new EngineProxy(target);
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The next COMMIT of any connection is lost. */
  lose(loss: Loss): void {
    this.#next = loss;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #join(client: Socket, node: Socket): void {
    const end = () => [client, node].forEach(socket => void socket.destroy());
    let isLosing = false;
    client.on('data', (chunk: Buffer) => {
      if (this.#next !== undefined && chunk.includes(COMMIT)) {
        const isHeard = this.#next === 'after';
        this.#next = undefined;
        this.lost++;
        isLosing = true;
        if (!isHeard) return end();
      }
      node.write(chunk);
    });
    node.on('data', (chunk: Buffer) => {
      if (isLosing) end();
      else client.write(chunk);
    });
    for (const socket of [client, node]) {
      this.#sockets.add(socket);
      socket.on('error', end);
      socket.on('close', end);
    }
  }
}
