/** Half of a page on its way through a whole LCC: it replaces nothing, and a site whose announcements are out of date does not starve. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, before, beforeEach, it } from 'node:test';
import { answer, md5, rawServer, type RawServer } from '../fetch/support.js';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';

const RETRIES = 2;
const OPEN = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n';
const OLD = '<p>the page as it was</p>';
const NEW = '<p>the page as it is from now on, and it is longer</p>';
const HALF = NEW.slice(0, 20);

type Says = (socket: Socket) => void;
const whole = (text: string) => (socket: Socket) =>
  void socket.write(answer(text, 'Content-Type: text/html\r\n'));
const ended = (text: string) => (socket: Socket) => void socket.end(OPEN + text);
const reset = (text: string) => (socket: Socket) =>
  void socket.write(OPEN + text, () => socket.resetAndDestroy());

/** What the site says next, the last of it for ever. */
let next: Says[] = [];
let site: RawServer;
let lcc: Lcc;
let pages = 0;

before(async () => {
  site = await rawServer((socket, request) => {
    if (request.startsWith('GET /gone ')) {
      socket.write(answer('', 'Retry-After: 86400\r\n', '404 Not Found'));
      return;
    }
    const says = next.length > 1 ? next.shift() : next[0];
    (says ?? whole(OLD))(socket);
  });
  lcc = await startLcc(site.url, `[qm]\nretries = ${RETRIES}\nretry_delay_ms = 0\n`);
});
beforeEach(() => (next = [whole(OLD)]));
after(() => lcc.remove());

/** Announces a page, fetched. @returns what is held of it, `md5 status`, and how often it was asked for */
async function announced(name: string, text: string): Promise<[held: string, asked: number]> {
  const before = site.requests.length;
  await lcc.deliver('partial', [urlTag(name, ` len="${text.length}" md5="${md5(text)}"`)]);
  await lcc.idle();
  const held = await lcc.run(`lccq --fields=curl,md5,status | grep -F '${site.url}${name}'`);
  const [, digest = '', status = ''] = /md5="(\w*)".* status="(\w*)"/.exec(held) ?? [];
  return [`${digest} ${status}`, site.requests.length - before];
}

async function newPage(): Promise<string> {
  const name = `page-${pages++}.html`;
  next = [whole(OLD)];
  assert.deepEqual(await announced(name, OLD), [`${md5(OLD)} ok`, 1]);
  return name;
}

it('a page is replaced when all of the new one has come, whatever ended the halves before it', async () => {
  for (const half of [reset(HALF), ended(HALF)]) {
    const name = await newPage();
    next = [half, half, ended(NEW)];
    assert.deepEqual(await announced(name, NEW), [`${md5(NEW)} ok`, 3]);
  }
});

it('what the site has each time is taken at the last try, and said not to be verified', async () => {
  const name = await newPage();
  const other = `${NEW}<!-- made now -->`;
  next = [ended(other)];
  assert.deepEqual(await announced(name, NEW), [`${md5(other)} unverified`, 1 + RETRIES]);
});

it('a missing page that asks for a day of patience keeps no other waiting', async () => {
  const names = Array.from({ length: 10 }, (_, n) => `beside-${n}.html`);
  await lcc.deliver('partial', [urlTag('gone'), ...names.map(name => urlTag(name))]);
  await lcc.idle();
  const held = await lcc.run('lccq --fields=curl');
  assert.equal(names.filter(name => held.includes(`${site.url}${name}"`)).length, names.length);
});
