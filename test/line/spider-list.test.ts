/** The lines of docs/guide/spider.md, in their order, with a site on the loopback. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { binDir, shell } from '../support/shell.js';
import { freePort } from '../support/free-port.js';
import { TestSite } from '../support/site.js';
import { readProjectFile } from '../support/tree.js';

const LINES = (readProjectFile('docs/guide/spider.md').match(/^ {4}lcc\w+ .+$/gm) ?? []).map(line =>
  line.trim(),
);

const dir = mkdtempSync(join(tmpdir(), 'readme-spider-'));
after(() => rmSync(dir, { recursive: true }));

it('the lines of the guide have a list fetched, and show what came of it', async () => {
  assert.equal(LINES.length, 5);
  const site = await TestSite.listen();
  const pages = { '/a.html': 'first page', '/b.html': 'second page' };
  for (const [path, content] of Object.entries(pages)) site.pages.set(path, content);
  site.pages.set('/robots.txt', 'User-agent: *\nDisallow: /private/\n');
  const urls = ['/a.html', '/b.html', '/private/c.html', '/missing.html'].map(path => site.urlOf(path));
  writeFileSync(join(dir, 'urls.txt'), `${urls.join('\n')}\n`);
  writeFileSync(join(dir, 'lcc.toml'), '[spider]\nallow_private = true\n');
  const ports = { '9020': await freePort(), '9021': await freePort() };
  // The third ends with 1, for one url is forbidden.
  const script = [
    ...LINES.map(line => line.replace(/\b(9020|9021)\b/g, port => String(ports[port as keyof typeof ports]))),
    'kill %1 %2',
    'wait',
  ].join('\n');
  const { stdout, stderr } = await shell(
    script,
    { ...process.env, LCC_HOME: dir, LCC_CONFIG: '', PATH: `${binDir}:${process.env['PATH']}` },
    dir,
  );
  const rows = stdout
    .trimEnd()
    .split('\n')
    .map(line => line.split('\t'));
  assert.deepEqual(
    rows.map(([docId, success, reason]) => [docId, success, reason]),
    [
      ['1', '1', '0'],
      ['2', '1', '0'],
      ['4', '0', '10'],
    ],
    stderr,
  );
  assert.equal(readFileSync(join(dir, 'failed.tsv'), 'utf8'), `3\t${urls[2]}\tforbidden by robots.txt\n`);
  assert.equal(readFileSync(join(dir, 'first.html'), 'utf8'), pages['/a.html']);
  site.close();
});
