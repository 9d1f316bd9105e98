import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Server } from 'node:net';
import { Authority } from '../../fetch/authority.js';
import { talk } from '../lccbot.js';
import { filesBelow, MOST_WIRE_BYTES, newFolder } from '../../fetch/support.js';
import { expectedOf, HTTP2_CASES, mutantOf, serveHttp2 } from '../../fetch/hostile/http2.js';

const MUTANTS = Number(process.env['LCC_TEST_HTTP2_MUTANTS'] ?? 100);
/** The provider's deadline, for what may have no other end; everything else has all the time it needs. */
const TIMEOUT = ' timeout="6"';

describe('a robot among hostile HTTP/2 servers', () => {
  const authority = new Authority();
  const servers: Server[] = [];
  const folder = newFolder();
  const results = new Map<number, string>();
  after(() => servers.forEach(server => server.close()));

  before(async () => {
    const certificate = authority.issue();
    const config = join(newFolder(), 'lcc.toml');
    writeFileSync(
      config,
      '[bot]\nconnect_timeout_ms = "2min"\nheaders_timeout_ms = "2min"\nidle_timeout_ms = "2min"\ntotal_timeout_ms = "2min"\nmax_content_bytes = "1MB"\n',
    );
    const parts = { first: '', crowd: '' };
    await Promise.all(
      HTTP2_CASES.map(async (wanted, id) => {
        const { url, server } = await serveHttp2(certificate, wanted);
        servers.push(server);
        const timeout = expectedOf(wanted).includes(603) ? TIMEOUT : '';
        const part = wanted.isAskedAgain === true ? 'first' : 'crowd';
        parts[part] += `<fetch id="${id}" url="${url}" file="${join(folder, String(id))}"${timeout}/>\n`;
      }),
    );
    let seed = 0;
    const mutants = await serveHttp2(certificate, {
      name: '',
      expect: '',
      serve: socket => mutantOf(++seed)(socket),
    });
    servers.push(mutants.server);
    for (let n = 0; n < MUTANTS; n++) {
      const id = HTTP2_CASES.length + n;
      parts.crowd += `<fetch id="${id}" url="${mutants.url}${n}" file="${join(folder, String(id))}"${TIMEOUT}/>\n`;
    }
    for (const fetches of [parts.first, parts.crowd]) {
      const { out, status } = await talk(fetches, [`--config=${config}`, '--slots=64'], authority.env);
      assert.equal(status, 0);
      for (const line of out.split('\n')) {
        const id = /^<fetched id="(\d+)"/.exec(line)?.[1];
        if (id === undefined) continue;
        assert.ok(!results.has(Number(id)), `a second result of ${id}`);
        results.set(Number(id), line);
      }
    }
  });

  it('gives one result to each of many answers that are nearly good, and takes none for what it is not', () => {
    for (let id = HTTP2_CASES.length; id < HTTP2_CASES.length + MUTANTS; id++)
      assert.match(results.get(id) ?? '', / status="ok" | code="(?:4\d\d|5\d\d|60[3-7]|611)" /, String(id));
  });

  // Nothing else is going on then that would keep the process alive until the deadline.
  for (const name of ['content before the head', 'a frame of 16 MB']) {
    it(`gives one result when it is alone with it, its input at an end: ${name}`, async () => {
      const wanted = HTTP2_CASES.find(each => each.name === name);
      assert.ok(wanted !== undefined);
      const { url, server } = await serveHttp2(authority.issue(), wanted);
      servers.push(server);
      const config = join(newFolder(), 'lcc.toml');
      writeFileSync(config, '[bot]\ntotal_timeout_ms = 2000\n');
      const request = `<fetch id="1" url="${url}" file="${join(newFolder(), '1')}"/>\n`;
      const { out, status } = await talk(request, [`--config=${config}`], authority.env);
      assert.match(out, /^<fetched id="1" status="error" code="6\d\d" /m);
      assert.equal(status, 0);
    });
  }

  HTTP2_CASES.forEach((wanted, id) => {
    it(`gives one result and leaves nothing behind: ${wanted.name}`, () => {
      const line = results.get(id) ?? '';
      const wireBytes = Number(/ wirebytes="(\d+)"/.exec(line)?.[1]);
      assert.ok(wireBytes <= MOST_WIRE_BYTES, `${wireBytes} bytes were taken`);
      const code = / code="(\d+)"/.exec(line)?.[1];
      const verdict = code === undefined ? / status="(\w+)"/.exec(line)?.[1] : Number(code);
      const isExpected = verdict !== undefined && expectedOf(wanted).includes(verdict);
      assert.ok(isExpected, `${line} instead of ${wanted.expect}`);
      assert.deepEqual(
        filesBelow(folder).filter(file => file.split('.')[0] === String(id)),
        verdict === 'ok' ? [String(id)] : [],
      );
    });
  });
});
