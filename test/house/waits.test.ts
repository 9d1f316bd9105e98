/** Tests wait for what has a name, with one bound (test/support/until.ts): timers and waits besides may only become fewer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { projectFiles, readProjectFile } from '../support/tree.js';
import { until, watchLog, within } from '../support/until.js';

/** What is counted, and how many lines of tests have it: lower a number when it has fallen, never raise one. */
const COUNTED = {
  // What is left: a peer or a site that is slow, a process that outlives its test, a kill at a random instant.
  timers: { pattern: /\bset(?:Timeout|Interval)\(|'node:timers\/promises'|\bsleep \d/, lines: 29 },
  // Turns of the event loop in which a conversation goes on, on a clock in the hand of the test, are no waits.
  'waits without a bound': { pattern: /\bwhile \(.*\) await (?!settle|turn|pass)/, lines: 0 },
} as const;
/** Where tests wait. */
const OWN = ['test/support/until.ts', 'test/house/waits.test.ts'];

for (const [what, { pattern, lines }] of Object.entries(COUNTED))
  test(`${what} in tests only become fewer`, () => {
    const places = projectFiles('test')
      .filter(path => path.endsWith('.ts') && !OWN.includes(path))
      .flatMap(path => {
        const counted = readProjectFile(path)
          .split('\n')
          .filter(line => pattern.test(line) && !line.includes('setImmediate as turn'));
        return counted.map(line => `${path}: ${line.trim()}`);
      });
    const shown = `${places.length} ${what}:\n${places.join('\n')}`;
    assert.ok(places.length <= lines, `${shown}\nuse until() of test/support/until.ts`);
    assert.ok(places.length === lines, `${shown}\nlower the number (${lines})`);
  });

test('modules that test files share have no hook at the end of their own: atEnd is for the whole process', () => {
  const own = projectFiles('test').filter(
    path =>
      path.endsWith('.ts') &&
      !path.endsWith('.test.ts') &&
      path !== 'test/support/at-end.ts' &&
      /^after\(/m.test(readProjectFile(path)),
  );
  assert.deepEqual(own, []);
});

test('a wait that passes its bound says for what, and what each daemon logged last', async () => {
  const line = (daemon: string, n: number) => `{"daemon":"${daemon}","event":"no. ${n}"}\n`;
  const numbers = Array.from({ length: 30 }, (_, i) => i);
  watchLog(() => numbers.map(n => line('lccd-qm', n) + line('lccd-bm', n)).join(''));
  watchLog(() => 'Error: not of a logger\n');
  for (const wait of [
    until('the moon is blue', () => false, 30),
    within('the moon is blue', new Promise(() => undefined), 30),
  ])
    await assert.rejects(wait, ({ message }: Error) => {
      assert.match(message, /^the moon is blue: not within 0\.03 s\n/);
      for (const daemon of ['lccd-qm', 'lccd-bm']) {
        const shown = [...message.matchAll(new RegExp(`"daemon":"${daemon}","event":"no\\. (\\d+)"`, 'g'))];
        assert.deepEqual(
          shown.map(([, n]) => Number(n)),
          numbers.slice(-20),
        );
      }
      assert.match(message, /Error: not of a logger/);
      return true;
    });
});

test('a wait ends with what was seen, and at once with what fails', async () => {
  let looks = 0;
  assert.equal(await until('a third look', () => (++looks === 3 ? 'seen' : undefined)), 'seen');
  assert.equal(await within('an event', Promise.resolve(7)), 7);
  await assert.rejects(
    until('nothing', () => Promise.reject(new Error('the look itself'))),
    /the look itself/,
  );
});
