/** The doors of lccd-rs by which somebody says that something happened to pages (docs/design/push.md). */

export const PUSH_DOORS = ['indexnow', 'ping', 'feed'] as const;
export type PushDoor = (typeof PUSH_DOORS)[number];

/** Those of a list with commas; undefined where one is none. `none` is an empty list. */
export function parseDoors(text: string): PushDoor[] | undefined {
  if (text === '' || text === 'none') return [];
  const names = text.split(',').map(name => name.trim());
  const doors = PUSH_DOORS.filter(door => names.includes(door));
  return names.every(name => PUSH_DOORS.some(door => door === name)) ? doors : undefined;
}

/** A provider as the Queue Manager describes it to lccd-rs: its pages, and the doors that are open to it. */
export interface Pushable {
  pid: number;
  /** Those at a host, where lccd-rs asks for a host; else all. */
  roots: readonly string[];
  /** Urls held. */
  held: number;
  doors: readonly PushDoor[];
}

/** Providers that may share a host. */
export const MAX_PUSHABLE = 8;
