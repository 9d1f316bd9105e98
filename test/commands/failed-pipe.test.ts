/** A pipe of filters of which one fails: one of them says why, and the status of the pipe is its. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runProgram } from '../support/command.js';
import { ROOT } from '../support/tree.js';

const dir = mkdtempSync(join(tmpdir(), 'lcc-failed-'));
after(() => rmSync(dir, { recursive: true }));
const site = join(dir, 'site');
mkdirSync(site);
for (const name of ['a.html', 'b.html']) writeFileSync(join(site, name), name);
const bad = join(dir, 'bad.txt');
writeFileSync(bad, 'no line of a state\n');
/** Asks a port where nobody listens: what would be sent is refused there, with 69. */
const LCCCP = 'lcccp -q --uns=127.0.0.1:1 --pid=1 --pwd=x';

/** Lines that were said, and the statuses of all in the pipe. */
function pipe(line: string): { said: string[]; statuses: string; out: string } {
  const path = `${join(ROOT, 'bin')}:${process.env['PATH']}`;
  const done = runProgram('bash', ['-c', `${line}; echo "status \${PIPESTATUS[*]}"`], {
    cwd: dir,
    env: { ...process.env, PATH: path, LCC_HOME: dir, LCC_CONFIG: '' },
  });
  const [, out = '', statuses = ''] = /^([^]*)status (.*)\n$/.exec(done.stdout.toString()) ?? [];
  return { said: done.stderr.split('\n').filter(text => text !== ''), statuses, out };
}

const STATE = 'lcccpstate -q --statefile=state.txt';
/** A pipe, the line of the one that failed, and all statuses. */
const FAILURES: readonly (readonly [string, RegExp, string])[] = [
  [`file2url --docroot=none --find . | ${STATE} | ${LCCCP}`, /^file2url: --docroot none: /, '66 66 66'],
  [`file2url --nosuch | ${STATE} | ${LCCCP}`, /^file2url: unknown option/, '64 64 64'],
  [`file2url --docroot=site --find site | ${STATE} --nosuch | ${LCCCP}`, /^lcccpstate: unknown/, '0 64 64'],
  [`file2url --docroot=site </dev/null | ${STATE} | ${LCCCP}`, /^lcccpstate: no url in the input/, '0 65 65'],
  [
    `file2url --docroot=site --find site | lcccpstate -q --statefile=bad.txt | ${LCCCP}`,
    /^lcccpstate: [^ ]*bad\.txt:1: /,
    '0 65 65',
  ],
  [`sitemap2url none.xml | ${STATE} | ${LCCCP}`, /^sitemap2url: none\.xml: /, '66 66 66'],
  [`feed2url none.xml | ${STATE} | ${LCCCP}`, /^feed2url: none\.xml: /, '66 66 66'],
  [`lccq --config=none.toml | ${LCCCP}`, /^lccq: .*none\.toml/, '66 66'],
];

test('where one command of a pipe fails it alone says why, in one line, and all after it end with its status', () => {
  for (const [line, why, expected] of FAILURES) {
    const { said, statuses } = pipe(line);
    // A second line names the help.
    const words = said.filter(text => !text.includes("--help'"));
    assert.equal(words.length, 1, `${line}\n${said.join('\n')}`);
    assert.match(words[0] ?? '', why, line);
    assert.equal(statuses, expected, line);
  }
  assert.deepEqual(readdirSync(dir).toSorted(), ['bad.txt', 'site']);
});

test('a find that fails is told by find and file2url, and by nobody after them', () => {
  const { said, statuses } = pipe(`file2url --docroot=site --find site none -type f | ${STATE} | ${LCCCP}`);
  assert.equal(said.length, 2, said.join('\n'));
  assert.match(said[0] ?? '', /^find: /);
  assert.match(said[1] ?? '', /^file2url: find ended with status 1: /);
  assert.equal(statuses, '74 74 74');
});

test('a stream whose writer was killed is cut, and says so', () => {
  const { said, statuses } = pipe(
    `(file2url --docroot=site --find site | head -n 2; kill -9 $BASHPID) 2>/dev/null | ${STATE} | ${LCCCP}`,
  );
  assert.equal(said.length, 1, said.join('\n'));
  assert.match(said[0] ?? '', /^lcccpstate: standard input: the stream was cut: /);
  assert.equal(statuses, '137 65 65');
});

test('a stream of a command that failed is taken for failed from a file, too, and that is said', () => {
  const { out } = pipe('file2url --docroot=none -- x 2>/dev/null');
  assert.equal(out, '<?lcc-failed status="66"?>\n');
  writeFileSync(join(dir, 'stream'), `<?lcc from="file2url"?>\n${out}`);
  for (const command of [STATE, LCCCP]) {
    const { said, statuses } = pipe(`${command} <stream`);
    const name = command.split(' ', 1)[0] ?? '';
    assert.deepEqual(said, [
      `${name}: standard input: the command that writes it has failed, with 66; run that again`,
    ]);
    assert.equal(statuses, '66');
  }
});

test('a status in a stream that is none of a failure counts as 65', () => {
  for (const status of ['0', '1', '999', 'x', '']) {
    const { statuses } = pipe(`echo '<?lcc?><?lcc-failed status="${status}"?>' | ${LCCCP}`);
    assert.equal(statuses, '0 65', status);
  }
});
