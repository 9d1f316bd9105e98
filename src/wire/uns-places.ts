/**
 * Where a UNS takes what daemons in front of it say. That of another home is reached where front ends pass
 * CPs on (daemon/proxied.ts): instead of a CP the first line names a door.
 */
import type { Trust } from '../lib/dial.js';
import type { Endpoint } from '../lib/endpoint.js';

/** First lines: looks at providers (uns/web-door.ts), and pushes (uns/spider-door.ts). */
export const UNS_DOORS = { look: 'DOOR LOOK', push: 'DOOR PUSH' } as const;
export type UnsDoorName = keyof typeof UNS_DOORS;

export interface UnsPlace {
  door: Endpoint;
  trust?: Trust;
  /** Said first. */
  hello?: string;
}
