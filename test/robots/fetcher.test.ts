/** What a spider makes of the answers of a site to its question for robots.txt. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { it } from 'node:test';
import { configOf } from '../support/settings.js';
import { systemClock } from '../../src/lib/clock.js';
import { RobotsFetcher } from '../../src/robots/fetcher.js';
import { spiderEngineOptions } from '../../src/spider/transaction/options.js';
import { answer, rawServer } from '../fetch/support.js';
import { freePort } from '../support/free-port.js';
import { within } from '../support/until.js';

const RULES = 'User-agent: *\nDisallow: /\n';
const HALF = RULES.slice(0, 16);

it('half of a robots.txt is none of it, one without content has no rules, and a host that is away is silent', async () => {
  const ends = (text: string) => (socket: Socket) => void socket.end(text);
  const breaks = (text: string) => (socket: Socket) =>
    void socket.write(text, () => socket.resetAndDestroy());
  const OPEN = 'HTTP/1.1 200 OK\r\n\r\n';
  const cases: [what: string, says: (socket: Socket) => void, kind: string][] = [
    ['whole', ends(answer(RULES).toString()), 'rules'],
    ['whole, ended by its connection', ends(OPEN + RULES), 'rules'],
    ['half, and a reset', breaks(OPEN + HALF), 'trouble'],
    ['half of its length', ends(`HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\n${HALF}`), 'trouble'],
    [
      'half of its chunks',
      ends(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n${HALF}\r\n`),
      'trouble',
    ],
    ['a folded header', ends(`HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 26\r\n\r\n${RULES}`), 'rules'],
    ['204', ends('HTTP/1.1 204 No Content\r\n\r\n'), 'none'],
    ['404', ends('HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n'), 'none'],
    ['429', ends('HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n\r\n'), 'trouble'],
  ];
  const options = { ...spiderEngineOptions(configOf({}).settings.spider), allowAddresses: ['127.0.0.0/8'] };
  const fetcher = new RobotsFetcher(options, systemClock);
  for (const [what, says, kind] of cases) {
    const { url } = await rawServer(says);
    const found = await within('an answer', fetcher.ask(`${url}robots.txt`));
    assert.equal(found.kind, kind, `${what}: ${JSON.stringify(found)}`);
  }
  const gone = await within('a refusal', fetcher.ask(`http://127.0.0.1:${await freePort()}/robots.txt`));
  assert.deepEqual([gone.kind, 'isSilent' in gone && gone.isSilent], ['trouble', true]);
  const nameless = await within('no address', fetcher.ask('http://nowhere.invalid/robots.txt'));
  assert.equal(nameless.kind, 'trouble');
  fetcher.close();
});
