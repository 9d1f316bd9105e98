/** What a status says under a name that another version may have left out. */
import type { DaemonStatus } from './ask.js';

/** A number, or how many of a list; 1 for what is so, 0 for what is not, or not said. */
export function figureOf(status: DaemonStatus | undefined, name: string): number {
  const value = status?.[name];
  return typeof value === 'number' ? value : Array.isArray(value) ? value.length : value === true ? 1 : 0;
}

export function listOf(
  status: Readonly<Record<string, unknown>>,
  name: string,
): readonly Record<string, unknown>[] {
  const value = status[name];
  return Array.isArray(value) ? value.map(item => Object(item) as Record<string, unknown>) : [];
}
