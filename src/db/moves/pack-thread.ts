/** The thread that packs a provider, which takes as long as reading all that its shard has. */
import { serveThread } from '../../lib/thread.js';
import { pack } from './parcel.js';

export interface ToPack {
  from: string;
  to: string;
  pid: number;
  src: number;
}

/** Serves the thread's owner until ended. */
export function servePacking(): void {
  serveThread(
    () =>
      ({ from, to, ...of }: ToPack) =>
        pack(from, to, of),
  );
}
