/** Certificates of connections to UNSes: to read and check them costs as much as the handshake. */
import { createSecureContext } from 'node:tls';
import type { Clock } from '../lib/clock.js';
import type { Trust } from '../lib/dial.js';

/** Time after which files are read again. */
const FRESH_MS = 1000;

/** @param read reads the files, and may throw @returns the same as before, unless they have changed */
export function trustKept(read: () => Trust, clock: Clock): () => Trust {
  let text: string | undefined;
  let trust: Trust = {};
  let untilMs = -Infinity;
  return () => {
    if (clock.monotonicMs() < untilMs) return trust;
    const { ca, cert, key } = read();
    const now = [ca, cert, key].map(String).join();
    if (now !== text) trust = { secureContext: createSecureContext({ ca, cert, key }) };
    text = now;
    untilMs = clock.monotonicMs() + FRESH_MS;
    return trust;
  };
}
