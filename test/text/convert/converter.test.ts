/** Programs that make text of documents: real ones, and those that do what they should not. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../../src/lib/clock.js';
import { Converter, type Converted } from '../../../src/text/convert/converter.js';
import { pdfOf, skip } from '../../support/converters.js';

const MB = 1024 * 1024;
const notes: string[] = [];

function converter(
  commands: readonly string[],
  options: { sandbox?: string; timeoutMs?: number; jobs?: number; maxOutputBytes?: number } = {},
): Converter {
  return new Converter({
    commands,
    sandbox: 'required',
    timeoutMs: 30_000,
    memoryBytes: 1024 * MB,
    jobs: 4,
    maxOutputBytes: 16 * MB,
    clock: systemClock,
    note: message => void notes.push(message),
    ...options,
  });
}
const made = (converted: Converted): string =>
  'bytes' in converted ? converted.bytes.toString() : `problem: ${converted.problem}`;
const of = (program: Converter, bytes: Buffer | string = 'x', type = 'x/y') =>
  program.convert(type, () => [Buffer.from(bytes)]).then(made);

describe('documents are made into text', { skip }, () => {
  let folder: string;
  before(() => (folder = mkdtempSync(join(tmpdir(), 'lcc-convert-test-'))));
  after(() => rmSync(folder, { recursive: true, force: true }));
  /** A program in Python, where the sandbox sees it. */
  const python = (code: string) => {
    const encoded = Buffer.from(code).toString('base64');
    return `x/* text/plain python3 -c exec(__import__('base64').b64decode('${encoded}'))`;
  };

  it('by pdftotext, page by page', async () => {
    const pdf = converter(['application/pdf text/plain pdftotext -enc UTF-8 - -']);
    assert.match(
      await of(pdf, pdfOf('First page', 'Second page'), 'application/pdf'),
      /^First page\s*\f\s*Second page\s*\f\s*$/,
    );
    assert.equal(pdf.takes('application/pdf'), true);
    assert.equal(pdf.takes('image/png'), false);
    assert.match(
      await of(pdf, 'no PDF', 'application/pdf'),
      /^problem: convert: pdftotext exited with [1-9]/,
    );
  });

  it('by pandoc, of three kinds', async () => {
    for (const [kind, type] of [
      ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
      ['odt', 'application/vnd.oasis.opendocument.text'],
      ['epub', 'application/epub+zip'],
    ] as const) {
      const file = join(folder, `a.${kind}`);
      execFileSync('pandoc', ['-f', 'markdown', '-t', kind, '-o', file, '-M', 'title=T'], {
        input: '# Head\n\nSome *words*.\n\n- item\n',
      });
      const pandoc = converter([`${type} text/markdown pandoc --sandbox -f ${kind} -t gfm`]);
      const bytes = execFileSync('cat', [file]);
      assert.match(await of(pandoc, bytes, type), /# .*Head[^]*Some \*words\*\.[^]*- +item/, kind);
    }
  });

  it('the first rule that fits counts', async () => {
    const rules = ['x/y text/plain echo one', 'x/* text/plain echo two'];
    assert.equal(await of(converter(rules), '', 'x/y'), 'one\n');
    assert.equal(await of(converter(rules), '', 'x/z'), 'two\n');
  });

  it('sees nothing: no file, no network, no environment, an empty folder', async () => {
    let heard = 0;
    const canary = createServer(() => heard++).listen(0, '127.0.0.1');
    await new Promise(resolve => canary.once('listening', resolve));
    const { port } = canary.address() as AddressInfo;
    writeFileSync(join(folder, 'secret'), 's');
    const code = `
import os, socket
seen = []
for path in ('/etc/passwd', ${JSON.stringify(join(folder, 'secret'))}, '/root', '/home', '/proc/1/environ'):
    if os.path.exists(path): seen.append(path)
try:
    socket.create_connection(('127.0.0.1', ${port}), 2); seen.append('network')
except OSError: pass
print(seen, sorted(os.environ), os.listdir('.'))
try:
    open('/usr/x', 'w'); print('wrote')
except OSError: pass
`;
    const env = await of(converter([python(code)]));
    canary.close();
    assert.equal(heard, 0);
    assert.equal(env, "[] ['HOME', 'LC_ALL', 'PWD'] []\n");
  });

  for (const [what, code, problem] of [
    ['sleeps', 'import time; time.sleep(600)', /took more than 1 s \(convert\.timeout_ms\)/],
    [
      'leaves a child behind that holds its output',
      'import os, time\nif os.fork() == 0:\n    os.setsid(); time.sleep(600)\nprint("text")',
      /^text\n$/,
    ],
    [
      'forks and waits',
      'import os, time\nfor _ in range(20):\n    if os.fork() == 0: time.sleep(600)\ntime.sleep(600)',
      /took more than/,
    ],
    [
      'writes without end',
      'import sys\nwhile True: sys.stdout.write("x" * 65536)',
      /wrote more than 1048576 bytes \(cu\.max_text_bytes\)/,
    ],
    [
      'writes 2 GB to a file',
      'f = open("f", "wb")\nfor _ in range(2048): f.write(b"x" * 1048576)',
      /exited with|was killed/,
    ],
    ['takes 4 GB', 'x = bytearray(4 << 30)', /exited with 1/],
    ['dies', 'import os; os.kill(os.getpid(), 11)', /exited with 139|was killed by SIGSEGV/],
  ] as const)
    it(`one that ${what} ends, and is reported`, async () => {
      const program = converter([python(code)], {
        timeoutMs: /sleep|waits/.test(what) ? 1000 : 30_000,
        maxOutputBytes: MB,
      });
      assert.match(await of(program), problem);
      assert.equal(await of(converter(['x/* text/plain cat']), 'the next'), 'the next');
    });

  it('one that is not there is reported', async () => {
    assert.equal(
      await of(converter(['x/* text/plain no-such-program'])),
      'problem: convert: no-such-program was not found',
    );
  });

  it('so many at a time', async () => {
    const two = converter([python('import time; print(time.time()); time.sleep(0.2); print(time.time())')], {
      jobs: 2,
    });
    const spans = (await Promise.all(Array.from({ length: 6 }, () => of(two)))).map(text =>
      text.trim().split('\n').map(Number),
    );
    for (const [start = 0] of spans)
      assert.ok(spans.filter(([from = 0, to = 0]) => from <= start && start < to).length <= 2);
  });

  it('takes a document that nobody reads, and a large one', async () => {
    const large = Buffer.alloc(8 * MB, 'a');
    assert.equal(await of(converter(['x/* text/plain true']), large), '');
    assert.equal(await of(converter(['x/* text/plain wc -c']), large), `${8 * MB}\n`);
  });

  it('without a sandbox it is said once, and whatever was started ends as well', async () => {
    const path = process.env['PATH'];
    notes.length = 0;
    process.env['PATH'] = join(folder, 'none');
    try {
      assert.throws(() => converter(['x/* text/plain cat']), {
        code: 'config',
        message: /^convert\.sandbox: bwrap is not installed/,
      });
      assert.match(await of(converter(['x/* text/plain cat'], { sandbox: 'auto' })), /prlimit is missing/);
    } finally {
      process.env['PATH'] = path;
    }
    assert.equal(notes.length, 1);
    assert.equal(await of(converter(['x/* text/plain cat'], { sandbox: 'off' }), 'words'), 'words');
  });

  it('a rule that is none is refused', () => {
    for (const line of ['', 'x/y text/plain', 'x/y image/png cat'])
      assert.throws(() => converter([line]), { code: 'config' });
  });
});
