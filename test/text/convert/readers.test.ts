/** Ten readers at once, each of which has documents made into text: all get the same, and nothing is left. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { homeEnv, runProgramLater } from '../../support/command.js';
import { TestCache } from '../../support/cache.js';
import { pdfOf, skip } from '../../support/converters.js';
import { LCCQ } from '../../support/lccq.js';
import { until } from '../../support/until.js';

const READERS = 10;

describe('ten readers at once', { skip }, () => {
  let cache: TestCache;
  beforeEach(() => (cache = new TestCache()));
  afterEach(() => cache.close());

  it('have each document as text, those reported that are none, and leave no program and no file behind', async () => {
    // Known among the processes of this machine.
    const mark = `6${process.pid}.5`;
    const code = `import os\nif os.fork() == 0:\n    os.setsid(); os.execvp("sleep", ["sleep", "${mark}"])\nraise SystemExit(3)`;
    const leaves = `python3 -c exec(__import__('base64').b64decode('${Buffer.from(code).toString('base64')}'))`;
    const temporary = join(cache.home, 'tmp');
    writeFileSync(
      join(cache.home, 'lcc.toml'),
      `[convert]
commands = ["application/pdf text/plain pdftotext -enc UTF-8 - -", "x/leaves text/plain ${leaves}"]
sandbox = "required"
`,
    );
    for (let i = 1; i <= 6; i++)
      cache.put({
        curl: `https://h/${i}`,
        mimetype: i === 3 ? 'x/leaves' : 'application/pdf',
        content: i === 5 ? 'no PDF' : pdfOf(`First page of ${i}`, `Second page of ${i}`),
      });
    cache.put({ curl: 'https://h/7', content: '<h1>The last</h1>' });
    mkdirSync(temporary);
    const env = homeEnv(cache.home, { TMPDIR: temporary });
    const answers = await Promise.all(
      Array.from({ length: READERS }, () => runProgramLater(LCCQ, ['--format=chunks'], { env })),
    );
    for (const { status, stdout, stderr } of answers) {
      assert.equal(status, 1, stderr);
      assert.match(stderr, /h\/3: left without text: convert: python3 exited with 3/);
      assert.match(stderr, /h\/5: left without text: convert: pdftotext exited with/);
      assert.deepEqual(stdout, answers[0]?.stdout, stderr);
    }
    const lines = answers[0]?.stdout.toString().trim().split('\n') ?? [];
    const pieces = lines
      .map(line => JSON.parse(line) as { op: string; doc: number; page_number?: number; text: string })
      .filter(({ op }) => op === 'upsert');
    assert.deepEqual(
      pieces.map(({ doc, page_number, text }) => [doc, page_number, text]),
      [
        ...[1, 2, 4, 6].flatMap(doc => [
          [doc, 1, `First page of ${doc}`],
          [doc, 2, `Second page of ${doc}`],
        ]),
        [7, undefined, 'The last'],
      ],
    );
    await until('whatever the programs started is gone', () => processesWith(mark) === 0);
    assert.deepEqual(readdirSync(temporary), []);
  });
});

function processesWith(argument: string): number {
  return readdirSync('/proc').filter(pid => {
    try {
      return (
        /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0').includes(argument)
      );
    } catch {
      // It has ended.
      return false;
    }
  }).length;
}
