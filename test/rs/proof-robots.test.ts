/** What robots.txt of a site says of a proof (RFC 9309): wherever it is, however long, and when it is not to be had. */
import assert from 'node:assert/strict';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Authority } from '../fetch/authority.js';
import { AT, check, codeOf, files, listen, SECRET } from './proof-scene.js';

const FORBIDS = 'User-agent: lccbot\nDisallow: /docs/\n';

/** A site with the secret whose robots.txt is answered so. */
function answering(answer: (response: ServerResponse, url: string, host: string) => void): RequestListener {
  return (request, response) => {
    const { url = '' } = request;
    if (url.includes('robots')) answer(response, url, request.headers.host ?? '');
    else files({ [AT]: SECRET })(request, response);
  };
}

function leadsTo(response: ServerResponse, location: string): void {
  response.writeHead(301, { location }).end();
}

describe('robots.txt of a proof', () => {
  it('refuses it where it forbids lccbot by name, and nowhere else', async () => {
    const robots = (text: string) => codeOf(files({ [AT]: SECRET, '/robots.txt': text }));
    assert.equal(await robots(FORBIDS), 'robots');
    assert.equal(await robots('user-agent: LCCbot # ours\ndisallow: /\n'), 'robots');
    assert.equal(await robots('User-agent: *\nDisallow: /\n'), undefined);
    assert.equal(await robots('User-agent: lccbot\nDisallow: /private/\n'), undefined);
  });

  it('is read at its beginning, however long it is, and however it is sent', async () => {
    const long = (bytes: number) => `User-agent: lccbot\nDisallow: /\n#${'x'.repeat(bytes)}`;
    for (const bytes of [600_000, 5_000_000])
      assert.equal(await codeOf(files({ [AT]: SECRET, '/robots.txt': long(bytes) })), 'robots', `${bytes}`);
    // With its length announced, in pieces without one, and packed.
    const announced = (text: string) =>
      answering(response => response.writeHead(200, { 'content-length': text.length }).end(text));
    assert.equal(await codeOf(announced(long(5_000_000))), 'robots');
    const pieces = answering(response => {
      response.write(long(1_000_000));
      response.end('x'.repeat(4_000_000));
    });
    assert.equal(await codeOf(pieces), 'robots');
    const packed = gzipSync(long(5_000_000));
    assert.equal(
      await codeOf(
        answering(response => response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed)),
      ),
      'robots',
    );
    assert.equal(await codeOf(announced(`#${'x'.repeat(5_000_000)}`)), undefined);
  });

  it('is followed to other hosts, five times, within the ports of sites', async () => {
    const authority = new Authority();
    const seen: string[] = [];
    const secure = await listen(
      createHttpsServer(authority.issue('other.example.org'), (_, response) => void response.end(FORBIDS)),
    );
    const port = await listen(
      createServer(
        answering((response, url, host) => {
          seen.push(host.replace(/:.*/, '') + url);
          if (host.startsWith('www.')) leadsTo(response, `http://other.example.org:${port}/robots`);
          else leadsTo(response, `https://other.example.org:${secure}/robots`);
        }),
      ),
    );
    const ports = [String(port), String(secure)];
    const at = async (more: Parameters<typeof check>[2]) =>
      (await check(port, '/docs/', { ports, ca: authority.ca, ...more })).failed?.code;
    assert.equal(await at({}), 'robots');
    assert.deepEqual(seen, ['www.example.org/robots.txt', 'other.example.org/robots']);
    assert.equal(await at({ ports: [String(port)] }), 'robots-later', 'another port is not asked');

    const times = (hops: number, last: string) =>
      answering((response, url) => {
        const n = Number(/\d+$/.exec(url)?.[0] ?? 0);
        if (n === hops) response.end(last);
        else leadsTo(response, `/robots${n + 1}`);
      });
    assert.equal(await codeOf(times(5, FORBIDS)), 'robots');
    assert.equal(await codeOf(times(5, '')), undefined);
    assert.equal(await codeOf(times(6, '')), 'robots-later');
  });

  it('permits where there is none, and has the applicant come again where nobody knows', async () => {
    const status = (code: number) => codeOf(answering(response => response.writeHead(code).end(FORBIDS)));
    for (const code of [400, 401, 403, 404, 410, 451]) assert.equal(await status(code), undefined, `${code}`);
    for (const code of [304, 429, 500, 503, 599]) assert.equal(await status(code), 'robots-later', `${code}`);
    const others: Record<string, (response: ServerResponse, url: string) => void> = {
      'closed at once': response => void response.destroy(),
      'a circle': (response, url) => leadsTo(response, url === '/robots.txt' ? '/robots' : '/robots.txt'),
      'an inner address': response => leadsTo(response, 'http://127.0.0.1/robots.txt'),
      'an unknown name': response => leadsTo(response, 'http://unknown.example.org/robots.txt'),
      'a login': response => leadsTo(response, 'http://user:x@www.example.org/robots.txt'),
      'no address': response => void response.writeHead(301).end(),
      'another scheme': response => leadsTo(response, 'ftp://www.example.org/robots.txt'),
      damaged: response => response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip'),
    };
    for (const [name, answer] of Object.entries(others))
      assert.equal(await codeOf(answering(answer)), 'robots-later', name);
    const elsewhere = answering((response, url) =>
      url === '/robots.txt' ? leadsTo(response, '/robots-none') : response.writeHead(404).end(),
    );
    assert.equal(await codeOf(elsewhere), undefined);
  });
});
