import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogLines } from '../../src/lib/log-lines.js';
import { ManualClock } from '../support/manual-clock.js';

function collect() {
  const clock = new ManualClock();
  const writes: string[] = [];
  return { clock, writes, lines: new LogLines(clock, text => writes.push(text)) };
}

test('a lone line goes out at once, those that follow soon go out together, in their order', () => {
  const { clock, lines, writes } = collect();
  for (const line of ['a\n', 'b\n', 'c\n']) lines.add(line, false);
  assert.deepEqual(writes, ['a\n']);
  clock.advance(1000);
  assert.deepEqual(writes, ['a\n', 'b\nc\n']);
  lines.add('d\n', false);
  assert.deepEqual(writes, ['a\n', 'b\nc\n', 'd\n']);
});

test('an urgent line goes out at once, behind those before it, and none goes out twice', () => {
  const { clock, lines, writes } = collect();
  lines.add('a\n', false);
  lines.add('b\n', false);
  lines.add('c\n', true);
  assert.deepEqual(writes, ['a\n', 'b\nc\n']);
  clock.advance(1000);
  lines.flush();
  assert.deepEqual(writes, ['a\n', 'b\nc\n']);
});

test('what waits is bounded', () => {
  const { lines, writes } = collect();
  const line = `${'x'.repeat(1000)}\n`;
  for (let i = 0; i < 1000; i++) lines.add(line, false);
  lines.flush();
  assert.equal(writes.join(''), line.repeat(1000));
  assert.ok(writes.every(text => text.length < 70_000));
});
