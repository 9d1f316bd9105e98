/**
 * A web archive of pages: lccq writes what the LCC holds, wget fetches the same pages from nginx on this machine and writes
 * them. wget's archive has the HTTP headers besides, and a request for each; both hash every page (lccq twice: md5, sha1).
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startSite } from '../test/support/nginx.js';
import { compare, removeAtEnd, requireProgram, shell, type Outcome } from './harness.js';
import { fill } from './lccq.js';

const lccq = join(dirname(fileURLToPath(import.meta.url)), '../../bin/lccq');
const PAGES = 5000;
const PAGE_BYTES = 4096;

export async function bench(): Promise<Outcome[]> {
  requireProgram('nginx', 'nginx-light');
  requireProgram('wget', 'wget');
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-warc-'));
  const home = join(dir, 'home');
  const names: string[] = [];
  const bytes = Buffer.alloc(PAGE_BYTES, 'content of a page, four kilobytes of it. ');
  fill(home, PAGES, (file, i) => {
    bytes.writeUInt32LE(i);
    mkdirSync(dirname(join(home, 'store', file)), { recursive: true });
    writeFileSync(join(home, 'store', file), bytes);
    names.push(file);
    return createHash('md5').update(bytes).digest('hex');
  });
  const site = await startSite(join(home, 'store'), join(dir, 'nginx'));
  try {
    const list = join(dir, 'urls');
    writeFileSync(list, names.map(name => `${site.url}${name}\n`).join(''));
    const wget = `wget --quiet --input-file=${list} --output-document=/dev/null --warc-file=${dir}/wget --no-warc-compression`;
    return [
      await compare({
        work: `lccq: ${PAGES.toLocaleString('en-US')} pages of 4 KB as a web archive`,
        amount: PAGES,
        unit: 'pages',
        ours: shell('lccq --format=warc', `${lccq} --format=warc >${dir}/lccq.warc`, {
          env: { ...process.env, LCC_HOME: home },
        }),
        peers: [{ contender: shell('wget --warc-file', wget), atLeast: 1 }],
        rounds: 3,
      }),
    ];
  } finally {
    await site.stop();
    removeAtEnd(dir);
  }
}
