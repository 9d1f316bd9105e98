import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Lcc, startLcc } from '../support/lcc.js';

describe('urls of every kind, from a provider to the content', () => {
  const servers: Server[] = [];
  /** Requests, as `host path`. */
  const asked: string[] = [];
  let six = '';
  let four = '';
  let named = '';
  let lcc: Lcc;

  async function listen(host: string): Promise<number> {
    const server = createServer((request, response) => {
      asked.push(`${request.headers.host} ${request.url}`);
      response.setHeader('content-type', 'text/html');
      if (request.headers['if-none-match'] === '"same"') response.writeHead(304).end();
      else {
        if (request.url?.includes('same') === true) response.setHeader('etag', '"same"');
        response.end(`${request.headers.host} ${request.url}`);
      }
    });
    servers.push(server);
    await new Promise<void>(resolve => void server.listen(0, host, resolve));
    return (server.address() as AddressInfo).port;
  }

  before(async () => {
    six = `http://[::1]:${await listen('::1')}/`;
    const port = await listen('127.0.0.1');
    four = `http://127.0.0.1:${port}/`;
    named = `http://localhost:${port}/`;
    lcc = await startLcc(four, '[bot]\nallow_addresses = ["127.0.0.0/8", "::1/128"]\n[qm]\nretries = 0\n');
    await lcc.run(`lccpidb root add --pid=1 --root=${six} --root=${named}`);
  });
  after(async () => {
    await lcc?.remove();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  async function send(urls: string[]): Promise<string> {
    const lines = urls.map(attributes => `<url mimetype="text/html" ${attributes}/>\n`);
    writeFileSync(join(lcc.dir, 'urls'), lines.join(''));
    const { stdout } = await lcc.sh(
      `lcccp --uns=${lcc.uns} --pid=1 --set=partial --urlprefix=${four} < urls`,
    );
    await lcc.idle();
    return stdout;
  }

  /** The content held, by curl. */
  async function held(): Promise<Map<string, string>> {
    const rows = (await lcc.run('lccq --format=jsonl')).split('\n').filter(line => line.includes('"curl"'));
    const parsed = rows.map(line => JSON.parse(line) as { curl: string; file?: string });
    return new Map(
      parsed.flatMap(({ curl, file }) => (file === undefined ? [] : [[curl, readFileSync(file, 'utf8')]])),
    );
  }

  it('are fetched over IPv6 and IPv4, by name and by address, whatever bytes their paths hold', async () => {
    await send([
      `curl="${six}a"`,
      `curl="${named}a"`,
      `curl="${four}a"`,
      `curl="caf%E9/%C3%A9"`,
      `curl="stra\u00dfe?q=\u00fc"`,
      // The one is what is talked about, the other what is fetched.
      `curl="urn:isbn:0451450523" furl="${named}cgi?page=1&amp;lang=de&amp;x=%20%26"`,
    ]);
    const host = new URL(four).host;
    const pages = await held();
    assert.equal(pages.get(`${six}a`), `${new URL(six).host} /a`);
    assert.equal(pages.get(`${named}a`), `${new URL(named).host} /a`);
    assert.equal(pages.get(`${four}a`), `${host} /a`);
    assert.equal(pages.get(`${four}caf%E9/%C3%A9`), `${host} /caf%E9/%C3%A9`);
    assert.equal(pages.get(`${four}stra\u00dfe?q=\u00fc`), `${host} /stra%C3%9Fe?q=%C3%BC`);
    assert.equal(pages.get('urn:isbn:0451450523'), `${new URL(named).host} /cgi?page=1&lang=de&x=%20%26`);
  });

  it('are refused where they name no web site, or somebody else’s', async () => {
    const before = asked.length;
    const refused = await send([
      `curl="file:///etc/passwd"`,
      `curl="http://x.test/a" furl="file:///etc/passwd"`,
      `curl="ftp://127.0.0.1/a"`,
      `curl="http://127.0.0.2/a"`,
    ]);
    assert.deepEqual(
      [...refused.matchAll(/code="(\d+)"/g)].map(([, code]) => code),
      ['305', '305', '305', '304'],
    );
    assert.equal(asked.length, before);
  });

  it('are asked for conditionally when the provider says nothing of them', async () => {
    await send([`curl="${six}same"`]);
    const first = await held();
    const before = asked.length;
    await send([`curl="${six}same"`]);
    assert.equal(asked.length, before + 1);
    assert.deepEqual(await held(), first);
    assert.match(await lcc.run('lccstat --json'), /"unchanged":1\b/);
  });
});
