/** Sites register in a shell with a real lccd: each failure has its status, two roots and hours of other zones arrive (3, 6, 7). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Authority } from '../fetch/authority.js';
import { Lcc } from '../support/lcc.js';
import { freePort } from '../support/free-port.js';

const servers: Server[] = [];

/** A site on a port of its own. */
async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

describe('sites that register with an LCC', () => {
  let lcc: Lcc;
  let rs = '';
  /** The site over http, and the same over https with a certificate that is trusted, and with one that is not. */
  const ports = { http: 0, https: 0, untrusted: 0 };
  let answer: RequestListener = (_, response) => void response.writeHead(404).end();

  before(async () => {
    const authority = new Authority();
    const site: RequestListener = (request, response) => answer(request, response);
    ports.http = await listen(createServer(site));
    ports.https = await listen(createHttpsServer(authority.issue(), site));
    ports.untrusted = await listen(createHttpsServer(authority.selfSigned(), site));
    const port = await freePort();
    rs = `http://127.0.0.1:${port}/`;
    const sites = Object.values(ports).map(each => `"${each}"`);
    lcc = new Lcc(
      '',
      `[rs]\nlisten = ["127.0.0.1:${port}"]\nurl = "${rs}"\nports = [${sites.join(', ')}]\nmode = "open"\n` +
        'pairs_per_network = 99\ncheck_interval_ms = 0\nchecks_per_hour = 99\nfetch_timeout_ms = 1000\nretry_ms = 50\n',
    );
    await lcc.start({ ...authority.env, TZ: 'UTC' });
  });
  after(async () => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    await lcc.remove();
  });

  const pwdfile = () => join(lcc.dir, 'password');
  const begin = (url: string, more = '') =>
    lcc.sh(`lccregister new --server=${rs} --url=${url} --pwdfile=${pwdfile()} ${more}`);
  const forget = () => {
    for (const file of [pwdfile(), `${pwdfile()}.pair`]) rmSync(file, { force: true });
  };
  /** Answers with the secret of the pair that is under way under its name, as the line says that lccregister prints. */
  const hold = (line: string, redirect?: (url: string) => string | undefined) => {
    const [, secret = '', name = ''] = /^printf '%s\\n' (\S+) > (\S+)\n$/.exec(line) ?? [];
    assert.notEqual(name, '', line);
    answer = (request, response) => {
      const { url = '' } = request;
      const location = 'encrypted' in request.socket ? undefined : redirect?.(url);
      if (location !== undefined) response.writeHead(301, { location }).end();
      else if (url.endsWith(name)) response.end(secret);
      else response.writeHead(404).end();
    };
  };

  it('are told what is wrong with the file, each failure with its status (3)', async () => {
    const says =
      (text: string | Buffer): RequestListener =>
      (_, response) =>
        void response.end(text);
    const leads: RequestListener = (request, response) =>
      void response.writeHead(301, { location: `http://localhost:${ports.http}${request.url}` }).end();
    const cases: [RequestListener, number, RegExp, number?][] = [
      [(_, response) => void response.writeHead(404).end(), 66, /the file is not there/],
      [says('<!doctype html><title>x</title>'), 65, /there is a page of HTML/],
      [says(''), 65, /the file is empty/],
      [says('another text'), 65, /another text than the secret/],
      [says(Buffer.alloc(1024 * 1024, 'x')), 65, /longer than 1 KB/],
      [() => undefined, 75, /did not answer in time/],
      [says(''), 65, /the certificate of the site is not good/, ports.untrusted],
      [
        leads,
        65,
        /leads to another address; register the address that it leads to, often the one with www\./,
      ],
    ];
    for (const [how, status, what, port] of cases) {
      answer = how;
      const url = port === undefined ? `http://127.0.0.1:${ports.http}/` : `https://localhost:${port}/`;
      const done = await begin(url);
      assert.equal(done.status, status, done.stderr);
      assert.match(done.stderr, what);
      assert.ok(existsSync(`${pwdfile()}.pair`), 'it can be mended');
      forget();
    }
  });

  it('have both roots where http leads to the same path under https (6)', async () => {
    answer = (_, response) => void response.writeHead(404).end();
    const url = `http://localhost:${ports.http}/~joe/`;
    const begun = await begin(url);
    assert.equal(begun.status, 66, begun.stderr);
    hold(begun.stdout, path => `https://localhost:${ports.https}${path}`);
    const done = await lcc.sh(`lccregister check --pwdfile=${pwdfile()} --wait=60`);
    assert.equal(done.status, 0, done.stderr);
    const [, pid = ''] = /is provider (\d+)/.exec(done.stderr) ?? [];
    const { roots } = JSON.parse(await lcc.run(`lccpidb show --pid=${pid} --json`)) as { roots: string[] };
    assert.deepEqual(roots, [url, `https://localhost:${ports.https}/~joe/`]);
    forget();
  });

  it('have their hours of another zone as hours of the LCC (7)', async () => {
    // New York is four or five hours behind UTC; Kolkata five and a half, so that its half hours are not used.
    const newYork = new Intl.DateTimeFormat('en', {
      timeZone: 'America/New_York',
      timeZoneName: 'shortOffset',
    });
    const isSummer = newYork.format(Date.now()).includes('GMT-4');
    for (const [zone, slots] of [
      ['Asia/Kolkata', '19-23'],
      ['America/New_York', isSummer ? '4-9' : '5-10'],
    ]) {
      answer = (_, response) => void response.writeHead(404).end();
      const begun = await begin(`http://127.0.0.1:${ports.http}/${zone}/`, `--hours=0-5 --zone=${zone}`);
      assert.equal(begun.status, 66, begun.stderr);
      hold(begun.stdout);
      const done = await lcc.sh(`lccregister check --pwdfile=${pwdfile()} --wait=60`);
      assert.equal(done.status, 0, done.stderr);
      const [, pid = ''] = /is provider (\d+)/.exec(done.stderr) ?? [];
      await lcc.shows(`lccpidb show --pid=${pid}`, new RegExp(`^time of day: +${slots}$`, 'm'));
      forget();
    }
  });
});
