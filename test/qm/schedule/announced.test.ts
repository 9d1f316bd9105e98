import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AllAnnounced, Announced } from '../../../src/qm/schedule/announced.js';

test('what is announced is believed until something else came', () => {
  const announced = new Announced();
  assert.equal(announced.believed(5000), 5000);
  announced.heard(5000, 5400);
  assert.equal(announced.believed(8000), 8000);
});

test('of lengths that do not come less is believed each time, and more again when they do', () => {
  const announced = new Announced();
  announced.heard(1_000_000, 0);
  assert.equal(announced.believed(1_000_000), 0);
  announced.heard(1_000_000, 1_000_000);
  const once = announced.believed(1000);
  assert.ok(once > 500 && once < 600, `${once}`);
  for (let i = 0; i < 20; i++) announced.heard(1_000_000, 1_000_000);
  assert.ok(announced.believed(1000) > 990);
});

test('those of half of which nothing comes are expected to take half', () => {
  const announced = new Announced();
  for (let i = 0; i < 100; i++) announced.heard(1000, i % 2 === 0 ? 0 : 1000);
  const half = announced.believed(1000);
  assert.ok(half > 400 && half < 600, `${half}`);
});

test('others wait for no more than has come lately, and of one without history for what anybody brings', () => {
  const announced = new Announced();
  assert.equal(announced.mostAhead(700), 700);
  announced.heard(null, 100);
  assert.equal(announced.mostAhead(700), 100);
  for (let i = 0; i < 50; i++) announced.heard(10_000_000, 0);
  assert.ok(announced.mostAhead(700) < 1);
});

test('what is known of a provider outlives its queue, for a bounded number of them', () => {
  const all = new AllAnnounced();
  all.of(1).heard(1000, 10);
  for (let pid = 2; pid <= 9000; pid++) all.of(pid);
  assert.equal(all.of(1).believed(1000), 10);
  for (let pid = 9001; pid <= 30_000; pid++) all.of(pid);
  assert.equal(all.size, 10_000);
  assert.equal(all.of(1).believed(1000), 1000);
});
