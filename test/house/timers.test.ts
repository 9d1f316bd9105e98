/** Tests wait for what has a name, with one bound (test/support/until.ts): timers and waits besides may only become fewer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { projectFiles, readProjectFile } from '../support/tree.js';

/** What is counted, and how many lines of tests have it: lower a number when it has fallen, never raise one. */
const COUNTED = {
  // What is left: a peer or a site that is slow, a process that outlives its test, a kill at a random instant.
  timers: { pattern: /\bset(?:Timeout|Interval)\(|'node:timers\/promises'|\bsleep \d/, lines: 31 },
  // Turns of the event loop in which a conversation goes on, on a clock in the hand of the test, are no waits.
  'waits without a bound': { pattern: /\bwhile \(.*\) await (?!settle|turn|pass)/, lines: 0 },
} as const;
/** Where tests wait. */
const OWN = ['test/support/until.ts', 'test/house/timers.test.ts'];

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
