/**
 * Tests of the tests: every safeguard is taken out once, and the test that guards it must fail. A mutation changes the
 * compiled text after a mark of the source; when the text is not there any more, that is a failure too.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { MUTANTS, placesOf } from '../support/marks.js';
import type { Mutation } from '../support/mutation.js';
import { ROOT } from '../support/tree.js';

import type { Mutant } from './mutants.js';

/** Histories in which a mutant must be noticed. */
const HISTORIES = 2000;
const TESTS = join(ROOT, 'dist/test');

describe('without a safeguard a test fails', { concurrency: 2 }, () => {
  for (const mutant of MUTANTS) {
    const noticed = mutant.by === undefined ? 'by random histories' : `by test/${mutant.by.file}.test.ts`;
    it(`${mutant.without}: noticed ${noticed}`, async () => {
      const { status, output } = await run(mutant);
      assert.notEqual(status, 0, `nothing noticed it:\n${output}`);
      if (mutant.by === undefined) assert.match(output, /AssertionError|SqliteError|TypeError/);
      else assert.match(output, new RegExp(`^ *not ok \\d+ - ${escaped(mutant.by.test)}`, 'm'));
    });
  }
});

function run(mutant: Mutant): Promise<{ status: number | null; output: string }> {
  const { by } = mutant;
  const mutation: Mutation = { changes: placesOf(mutant) };
  const what =
    by === undefined
      ? [join(TESTS, 'support/mutant-histories.js'), String(HISTORIES)]
      : [
          '--test-force-exit',
          '--test-reporter=tap',
          `--test-name-pattern=${escaped(by.test)}`,
          join(TESTS, `${by.file}.test.js`),
        ];
  const env: NodeJS.ProcessEnv = { ...process.env, LCC_MUTATION: JSON.stringify(mutation) };
  // Set by the runner of this test; a test file that sees it reports to that.
  delete env['NODE_TEST_CONTEXT'];
  const child = spawn(process.execPath, ['--import', join(TESTS, 'support/mutate.js'), ...what], { env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (output += String(data)));
  return new Promise(resolve => void child.on('close', status => resolve({ status, output })));
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
