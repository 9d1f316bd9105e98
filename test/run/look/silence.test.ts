/** The words about providers that have fallen silent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeSilence } from '../../../src/run/look/reasons.js';

const NOW_S = 1_795_000_000;
const said = (pid: number, days: number, connected = days, every = 86_400) =>
  describeSilence(
    { pid, lastset: NOW_S - days * 86_400, lastconntime: NOW_S - connected * 86_400, every, silent: true },
    NOW_S * 1000,
  );

test('a provider that has fallen silent is named with its rhythm, and whether its CP still connects', () => {
  assert.equal(
    said(9, 30),
    'provider 9 is silent: its last set came 30 d ago, usually one comes every 1 d; look whether lcccp still runs there',
  );
  assert.equal(
    said(7, 8, 3, 600),
    'provider 7 is silent: its last set came 8 d ago, usually one comes every 10 min; it has connected since, 3 d ago, and had nothing to send',
  );
});
