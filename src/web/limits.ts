/** The limits of an HTTP server, from the settings in one place. */
import type { Config } from '../config/load.js';
import { limitText, type SettingKey } from '../config/settings/index.js';
import type { Bound } from '../daemon/types.js';
import { plainAnswer } from './answer.js';

const LIMITS = [
  'web.headers_timeout_ms',
  'web.request_timeout_ms',
  'web.max_url_bytes',
  'web.max_header_bytes',
  'web.max_body_bytes',
] as const satisfies readonly SettingKey[];
type WebLimit = (typeof LIMITS)[number];
export type WebLimits = Readonly<Record<WebLimit, number>>;

export function webLimitsOf(config: Pick<Config, 'get'>): WebLimits {
  return Object.fromEntries(LIMITS.map(key => [key, config.get(key)])) as Record<WebLimit, number>;
}

/** Connections at a time, over all that a daemon serves. */
export const WEB_PLACES: Bound = {
  key: 'web.max_connections',
  ofAddress: { key: 'web.max_connections_per_address' },
  whose: 'HTTP clients',
  say: ({ message }) => plainAnswer(503, message),
  // One that is slow to ask is not told from one that never will. In a flood the youngest have the best chance to be answered.
  evict: {
    fromMs: 0,
    end({ socket }, { message }, mayLinger) {
      if (mayLinger && socket.bytesWritten === 0) socket.write(plainAnswer(503, message));
      socket.destroySoon();
    },
  },
};

/** `16 KB (web.max_body_bytes)`: a limit as a refusal names it. */
export function limitOf(limits: WebLimits, key: WebLimit): string {
  return limitText(key, limits[key]);
}
