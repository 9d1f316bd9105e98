/** Both ends of a byte stream in this process, and what has come out of one of them. */
import { duplexPair, type Duplex } from 'node:stream';
import type { ChannelOptions } from '../../src/wire/messages.js';
import { FairShare } from '../../src/lib/fair-share.js';
import { ManualClock } from './manual-clock.js';

export interface Ends {
  /** The end that the code under test has. */
  ours: Duplex;
  /** The peer's end, played by the test. */
  theirs: Duplex;
  /** All that the peer has received so far. */
  received: () => string;
}

/** @param reading whether the peer reads what it is sent */
export function ends(reading = true): Ends {
  const [ours, theirs] = duplexPair({ highWaterMark: 16 * 1024 }); // Node 20 and 24 differ in their default
  const chunks: Buffer[] = [];
  theirs.on('error', () => undefined);
  if (reading) theirs.on('data', (chunk: Buffer) => void chunks.push(chunk));
  return { ours, theirs, received: () => Buffer.concat(chunks).toString() };
}

/** Lets everything that is under way between the ends arrive: turns of the event loop, no time. */
export async function settle(turns = 20): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise(resolve => void setImmediate(resolve));
}

export function channelOptions(more: Partial<ChannelOptions> = {}): ChannelOptions & { clock: ManualClock } {
  return {
    where: 'peer',
    xml: { maxTokenBytes: 1000, maxDepth: 4, maxAttributes: 32, maxNameBytes: 64 },
    maxHelloBytes: 4096,
    share: new FairShare(),
    maxPendingBytes: 100_000,
    stallTimeoutMs: 5000,
    ...more,
    clock: new ManualClock(),
  };
}
