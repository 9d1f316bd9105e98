/** Overviews as a Queue Manager gives them. */
import type { RsOverview } from '../../src/wire/rs-looks.js';

/** @param counted since the start of the Queue Manager */
export function overviewAt(atMs: number, counted: Record<string, number> = {}, ages = [1, 2, 3]): RsOverview {
  const all = Array.from({ length: 10 }, (_, i) => ages[i] ?? 0);
  return {
    at_ms: atMs,
    took_ms: 3,
    summary: '6 urls wait for 1 provider',
    reasons: [],
    providers: 1,
    queue: {
      age_minutes: [5, 10, 20, 40, 80, 160, 320, 640, 1280],
      total: { waiting: all.reduce((sum, count) => sum + count, 0), ages: all, exact: true },
      providers: [],
      left_off: { providers: 0, waiting: 0 },
    },
    machines: [
      { name: 'm1', isHere: true, slots: 16, note: '' },
      { name: 'm2', isHere: false, slots: 0, note: 'away' },
    ],
    daemons: [
      {
        name: 'lccd-qm',
        idle: false,
        up_s: 9,
        rss_bytes: 1,
        doing: '',
        figures: { pid: 1, in_flight: 4, stored: 0, wire_bytes: 0, ...counted },
      },
    ],
  };
}
