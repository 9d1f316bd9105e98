import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Announced } from '../../../src/qm/schedule/announced.js';

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
