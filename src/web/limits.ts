/** The limits of an HTTP server. */
import type { Settings } from '../config/settings/index.js';
import type { Bound } from '../daemon/types.js';
import { plainAnswer } from './answer.js';

export type WebLimits = Settings['web'];

/** Connections at a time, over all that a daemon serves. */
export const WEB_PLACES: Bound = {
  key: 'web.max_connections',
  ofAddress: { key: 'web.max_connections_per_address' },
  whose: 'HTTP clients',
  say: ({ message }) => plainAnswer(503, message),
  // One that is slow to ask is not told from one that never will. In a flood the youngest have the best
  // chance to be answered.
  evict: {
    fromMs: 0,
    end({ socket }, { message }, mayLinger) {
      if (mayLinger && socket.bytesWritten === 0) socket.write(plainAnswer(503, message));
      socket.destroySoon();
    },
  },
};
