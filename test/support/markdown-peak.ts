/** Makes text, or Markdown and pieces, of a page on standard input, in a process of its own, and prints what that took. */
import { readFileSync } from 'node:fs';
import { Chunks, DEFAULT_CHUNK_SIZE } from '../../src/text/chunks.js';
import { textOf } from '../../src/text/content.js';
import { markdownOf } from '../../src/text/markdown/page.js';

export interface Peak {
  /** Characters of what was made, and of the text of all pieces. */
  length: number;
  pieces: number;
  /** Processor time, which beside other tests is what it is alone. */
  cpuMs: number;
  rssBytes: number;
}

const SOURCE = { mimetype: 'text/html', charset: 'utf-8', url: 'https://h.example/d/p.html' };
const bytes = readFileSync(0);
const before = process.cpuUsage();
let length = 0;
let pieces = 0;
if (process.argv[2] === 'text') length = textOf(bytes, SOURCE, 'readable')?.text.length ?? 0;
else {
  const page = markdownOf(bytes, SOURCE);
  length = page?.markdown.length ?? 0;
  if (page !== undefined)
    for (const { text } of new Chunks(page, DEFAULT_CHUNK_SIZE).all()) pieces += text.length;
}
const { user, system } = process.cpuUsage(before);
const peak: Peak = {
  length,
  pieces,
  cpuMs: (user + system) / 1000,
  rssBytes: process.resourceUsage().maxRSS * 1024,
};
process.stdout.write(JSON.stringify(peak));
