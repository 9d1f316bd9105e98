import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIGURES } from '../../src/commands/figures.js';
import { reasonsOf } from '../../src/run/look/reasons.js';

const NOW_MS = new Date(2026, 10, 20, 13, 30).getTime();

test('lccstat says until when pushed urls wait for the end of their interval', () => {
  const reasons = (push_due_ms: number | null) => {
    const status = {
      daemon: 'lccd-rs',
      pid: 1,
      up_s: 1,
      rss_bytes: 1,
      idle: false,
      pushes_waiting: 2,
      push_due_ms,
    };
    const looks = [
      { name: 'lccd-rs', status },
      { name: 'lccd-qm', status: { ...status, daemon: 'lccd-qm' } },
    ];
    return reasonsOf(looks, undefined, NOW_MS, FIGURES).filter(reason => reason.includes('pushed'));
  };
  assert.deepEqual(reasons(NOW_MS + 20_000), [
    '2 pushed urls wait for the end of push.url_interval_ms, the first at 13:30:20',
  ]);
  for (const due of [NOW_MS, null]) assert.deepEqual(reasons(due), []);
});
