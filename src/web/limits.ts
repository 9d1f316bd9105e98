/** The limits of an HTTP server. */
import { KB } from '../config/amounts.js';
import type { Bound } from '../daemon/types.js';
import { plainAnswer } from './answer.js';

/** How long a request may take, and how long it may be. */
export const WEB_LIMITS = {
  /** From connecting to the end of the headers, and to that of the answer. */
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 20_000,
  /** Address with its query; first line and headers; body. */
  maxUrlBytes: 8 * KB,
  maxHeaderBytes: 16 * KB,
  maxBodyBytes: 16 * KB,
};
export type WebLimits = typeof WEB_LIMITS;

/** What becomes of connections without a place. @param answer tells them why, as bytes */
export const withoutPlace = (answer: (message: string) => string): Pick<Bound, 'say' | 'evict'> => ({
  say: ({ message }) => answer(message),
  // One that is slow to ask is not told from one that never will. In a flood the youngest have the best
  // chance to be answered.
  evict: {
    fromMs: 0,
    end({ socket }, { message }, mayLinger) {
      if (mayLinger && socket.bytesWritten === 0) socket.write(answer(message));
      socket.destroySoon();
    },
  },
});

/** Connections at a time, over all that a daemon serves. */
export const WEB_PLACES: Bound = {
  key: 'web.max_connections',
  ofAddress: { key: 'web.max_connections_per_address' },
  whose: 'HTTP clients',
  ...withoutPlace(message => plainAnswer(503, message)),
};
