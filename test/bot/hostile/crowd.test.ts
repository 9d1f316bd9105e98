import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { spawnBot } from '../lccbot.js';
import { Authority } from '../../fetch/authority.js';
import { filesBelow, newFolder, rawServer } from '../../fetch/support.js';
import { CASES } from '../../fetch/hostile/cases.js';
import { listen, TLS_CASES } from '../../fetch/hostile/tls.js';

const SLOTS = 64;
/** The robot's own, which no fetch may need. */
const DEADLINE_S = 120;
/** For what has no other end. */
const ENDS_S = 5;
const MAX_RESIDENT_MB = 256;

interface Wanted {
  name: string;
  url: string;
  expected: readonly (string | number)[];
  /** Its provider's deadline. */
  endsS?: number | undefined;
}

describe(`a robot with ${SLOTS} slots among all hostile servers at a time`, () => {
  const authority = new Authority();
  const servers: Server[] = [];
  const folder = newFolder();
  const wanted: Wanted[] = [];
  const results = new Map<number, string>();
  let doubled = 0;
  let peakMb = 0;
  let canaryConnections = 0;
  let bot: ReturnType<typeof spawnBot>;
  after(() => {
    for (const server of servers) server.close();
    bot.child.kill();
  });
  const want = (name: string, url: string, expected: Wanted['expected']) =>
    wanted.push({
      name,
      url,
      expected,
      endsS: expected.includes(603) ? ENDS_S : undefined,
    });

  before(async () => {
    const canary = createServer(socket => {
      canaryConnections++;
      socket.destroy();
    });
    servers.push(canary);
    await new Promise<void>(resolve => void canary.listen(0, '127.0.0.2', resolve));
    const address = canary.address();
    const forbidden = `http://127.0.0.2:${typeof address === 'object' ? address?.port : ''}/`;
    const luring = await rawServer(
      socket =>
        void socket.write(`HTTP/1.1 302 Found\r\nLocation: ${forbidden}\r\nContent-Length: 0\r\n\r\n`),
    );
    want('a forbidden address', forbidden, [610]);
    want('a redirect to a forbidden address', luring.url, [610]);
    for (const { name, serve, expect, orElse, onConnect } of CASES) {
      const { url } = await rawServer(serve, onConnect && (socket => onConnect(socket, '', 0)));
      want(name, url, [expect, orElse ?? expect]);
    }
    for (const { name, make, expect } of TLS_CASES) {
      const server = make(authority);
      servers.push(server);
      want(`TLS, ${name}`, await listen(server), [expect]);
    }
    const config = join(newFolder(), 'lcc.toml');
    writeFileSync(
      config,
      `[bot]
connect_timeout_ms = "${DEADLINE_S}s"
headers_timeout_ms = "${DEADLINE_S}s"
idle_timeout_ms = "${DEADLINE_S}s"
total_timeout_ms = "${DEADLINE_S}s"
max_content_bytes = "1MB"
`,
    );
    bot = spawnBot(
      ['--stdio', '--allow-address=127.0.0.1', `--slots=${SLOTS}`, `--config=${config}`],
      authority.env,
    );
    const { stdin, stdout, pid } = bot.child;
    assert.ok(stdin !== null && stdout !== null);
    wanted.forEach(({ url, endsS }, id) => {
      const timeout = endsS === undefined ? '' : ` timeout="${endsS}"`;
      stdin.write(`<fetch id="${id}" url="${url}" file="${join(folder, String(id))}"${timeout}/>\n`);
    });
    for await (const line of createInterface({ input: stdout })) {
      const id = /^<fetched id="(\d+)"/.exec(line)?.[1];
      if (id === undefined) continue;
      if (results.has(Number(id))) doubled++;
      results.set(Number(id), line);
      if (results.size < wanted.length) continue;
      const status = readFileSync(`/proc/${pid}/status`, 'latin1');
      peakMb = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
      stdin.end();
    }
  });

  it('gives each its one result, the one that it has to have', () => {
    const wrong = wanted.flatMap(({ name, expected }, id) => {
      const line = results.get(id) ?? 'no result';
      const code = / code="(\d+)"/.exec(line)?.[1];
      const verdict = code === undefined ? (/ status="(\w+)"/.exec(line)?.[1] ?? '') : Number(code);
      return expected.includes(verdict) ? [] : [`${name}: ${expected.join(' or ')}, but ${line}`];
    });
    assert.deepEqual(wrong, []);
    assert.equal(doubled, 0);
  });

  it('by the deadline of its provider, and leaves nothing behind', () => {
    for (const line of results.values()) {
      const seconds = Number(/ time="([\d.]+)"/.exec(line)?.[1]);
      assert.ok(seconds < DEADLINE_S, line);
    }
    const kept = [...results].filter(([, line]) => line.includes('status="ok"')).map(([id]) => String(id));
    assert.deepEqual(filesBelow(folder).sort(), kept.sort());
  });

  it('in bounded memory, without touching what is forbidden, and ends in good order', async () => {
    assert.ok(peakMb > 0 && peakMb < MAX_RESIDENT_MB, `${peakMb} MB`);
    assert.equal(canaryConnections, 0);
    assert.equal(await bot.exited, 0);
  });
});
