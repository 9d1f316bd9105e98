import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { DemoHome, finish } from './support/demo.js';
import { readProjectFile } from './support/tree.js';

let home: DemoHome;

beforeEach(() => void (home = new DemoHome()));
afterEach(() => home.remove());

/** Lines of a demo without what depends on its site: paths, words, numbers; equal neighbours are one. */
function alike(output: string): string[] {
  const lines = output
    .replace(/^<url .*$/gm, '<url>')
    .replace(/ store="[^"]*"/g, ' store=""')
    .replace(/^lccq: \d+ rows without text in them were not indexed\n/gm, '')
    .replace(/node '?[^ ]*sqlite3\.mjs'?/g, 'sqlite3')
    .replace(/http:\/\/127\.0\.0\.1:\d+\/[^\s")]+/g, 'URL')
    .replace(/^(The web server was asked for:) .*$/gm, '$1 …')
    .replace(/('?)\bsite\/(?!new\.html).*\1$/gm, 'FILE')
    .replace(/MATCH '(?!quokka|axolotl)[^']*'/g, 'MATCH WORD')
    .replace(/\S*\/lcc-demo-\w+/g, 'DIR')
    .replace(/\d+(?:\.\d+)?(?: (?:bytes|[KMG]B)\b)?/g, 'N')
    .split('\n')
    .filter(line => line !== '');
  return lines.filter((line, index) => line !== lines[index - 1]);
}

/** Fails unless each line that a document records is printed, on one of the streams, after the lines before it. */
function assertPrinted(path: string, streams: readonly string[]): void {
  const [, recorded = ''] = /^```text\n([^]*?)^```$/m.exec(readProjectFile(path)) ?? [];
  const left = streams.map(alike);
  const lines = alike(recorded);
  assert.ok(lines.length > 5, path);
  for (const line of lines) {
    const stream = left.find(each => each.includes(line));
    assert.ok(stream !== undefined, `${path}: the demo does not print this, or not here: ${line}`);
    stream.splice(0, stream.indexOf(line) + 1);
  }
}

describe('the demo', () => {
  it('takes a directory through the whole line and cleans up, without sqlite3, and prints what README.md and the guide say', async () => {
    const { status, output, complaints } = await finish(home.start());
    assert.equal(status, 0, output + complaints);
    assert.match(output, /The web server was asked for 2 files\. All 2 files stored equal their source/);
    assert.match(output, /nothing has changed[\s\S]*The web server was asked for 0 files/);
    assert.match(complaints, /lcccpstate: 1 new, 1 changed, 1 deleted, 0 unchanged/);
    const changes = output.split('\n').filter(line => /^(upsert|delete)\t/.test(line));
    assert.equal(changes.filter(line => line.startsWith('delete\t')).length, 1);
    assert.equal(changes.length, 3);
    assert.match(output, /MATCH 'axolotl'.*\nhttp:\/\/127\.0\.0\.1:\d+\/new\.html\n/);
    assert.match(output, /MATCH 'quokka'.*\nhttp:/);
    assert.match(output, /ORDER BY rank"\n\(nothing\)\n/);
    assert.deepEqual(readdirSync(home.temporary), []);
    for (const path of ['README.md', 'docs/guide/demo.md']) assertPrinted(path, [output, complaints]);
  });
});
