/** The store servers: the record of document DOC_ID goes to server number DOC_ID mod N, counted from 0 in the
 * order in which they are named. So the last record of a document is with the same server as those before. */
import type { OutgoingRecord, StoreServer } from './store-server-link.js';

export class StoreServers {
  readonly #servers: readonly StoreServer[];

  /** @param servers one at least */
  constructor(servers: readonly StoreServer[]) {
    this.#servers = servers;
  }

  deliver(record: OutgoingRecord): void {
    this.#servers[record.docId % this.#servers.length]?.deliver(record);
  }

  get awayCount(): number {
    return this.#servers.filter(({ state }) => state === 'away').length;
  }

  /** Records that went out once more. */
  get resentCount(): number {
    return this.#servers.reduce((sum, { resentCount }) => sum + resentCount, 0);
  }

  close(): void {
    for (const server of this.#servers) server.close();
  }
}
