/** The login of a provider's site is in no answer and in no log, at its most talkative, whatever goes wrong around it. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { before, describe, it } from 'node:test';
import { createLog } from '../../src/lib/log.js';
import { World } from '../bm/support.js';
import { until } from '../support/until.js';
import { socketIn, spawnBot, talk } from './lccbot.js';
import { answer, newFolder, rawServer, type RawServer } from '../fetch/support.js';

const SECRET = 'open-sesame-9';
const LOGIN = `k:${SECRET}`;
const BASIC = Buffer.from(LOGIN).toString('base64');

/** Messages with the login in them that cannot be understood. */
const BROKEN = [
  `<fetch id="1" lane="1" login="${LOGIN}"/>`,
  `<fetch id="x" lane="1" url="http://127.0.0.1:1/" file="/nowhere/x" login="${LOGIN}"/>`,
  `<fetch id="1" lane="1" url="http://127.0.0.1:1/" file="/nowhere/x" login="${LOGIN}" login="${LOGIN}"/>`,
  `<fetch id="1" lane="1" url="http://127.0.0.1:1/" file="/nowhere/x" login="${LOGIN}" maxlen="many"/>`,
  `<fetch id="1" lane="1" url="http://127.0.0.1:1/" file="/nowhere/x" login="${LOGIN}" enforce="perhaps"/>`,
  `<fetch id="1" login="${LOGIN}" url=oops/>`,
  `<fetch id="1" login=${LOGIN}/>`,
  `<fetch id="1" login="${LOGIN}&;"/>`,
  `<fetch id="1" login="${LOGIN}\0"/>`,
  `<fetch id="1" login="${LOGIN}<"/>`,
  `<fetch id="1" login="${LOGIN}`,
  `<fetch id="1" login="${LOGIN}${'x'.repeat(70_000)}"/>`,
  `<fetch id="1" login="${LOGIN}"><fetch id="2" login="${LOGIN}"/></fetch>`,
  `<fetsch id="1" login="${LOGIN}"/>`,
  `${LOGIN}<fetch id="1"/>`,
];

function holdsNothingOf(said: string, what: string): void {
  for (const secret of [SECRET, BASIC]) assert.ok(!said.includes(secret), `${what}: ${said}`);
}

describe('the login of a site', () => {
  let site: RawServer;
  before(async () => {
    site = await rawServer((socket, request) => {
      const path = request.split(' ')[1] ?? '';
      if (path === '/401')
        socket.write(answer('who?', 'WWW-Authenticate: Basic realm="x"\r\n', '401 Unauthorized'));
      else if (path === '/302') socket.write(answer('', 'Location: ftp://x/\r\n', '302 Found'));
      else if (path === '/with')
        socket.write(answer('', `Location: http://${LOGIN}@127.0.0.1/\r\n`, '302 Found'));
      else if (path === '/echo') socket.end(`HTTP/1.1 200 ${request}\r\n\r\n`);
      else if (path === '/reset') socket.resetAndDestroy();
      else socket.write(answer('page'));
    });
  });

  it('is sent to it, and in no answer or log of a robot whatever becomes of the fetch', async () => {
    const folder = newFolder();
    const urls = ['page', '401', '302', 'with', 'echo', 'reset'].map(path => site.url + path);
    const requests = [
      ...urls,
      'http://127.0.0.1:1/',
      'http://nowhere.invalid/',
      'http://[',
      'http://10.0.0.1/',
    ].map(
      (url, id) => `<fetch id="${id}" url="${url}" file="${join(folder, String(id))}" login="${LOGIN}"/>\n`,
    );
    const { out, err } = await talk(requests.join(''), ['-v']);
    assert.equal(out.match(/<fetched /g)?.length, requests.length);
    assert.ok(site.requests.every(request => request.includes(`authorization: Basic ${BASIC}`)));
    holdsNothingOf(out + err, 'fetched');
  });

  it('is in no answer or log of a robot that does not understand it', async () => {
    const path = socketIn(newFolder());
    const bot = spawnBot([`--listen=unix:${path}`, '-v']);
    let log = '';
    bot.child.stderr?.on('data', (chunk: Buffer) => (log += chunk.toString()));
    const logged = async (event: string, count: number) => {
      await until(`${event} is logged`, () => log.split(`"event":"${event}"`).length > count);
    };
    await logged('ready', 1);
    for (const message of BROKEN) {
      const socket = connect(path);
      socket.end(message);
      const answered = await text(socket);
      assert.match(answered, /<lococa:error /);
      holdsNothingOf(answered, message.slice(0, 90));
    }
    await logged('connection lost', BROKEN.length);
    bot.child.kill('SIGTERM');
    assert.equal(await bot.exited, 0);
    holdsNothingOf(log, 'log');
  });

  it('is in no answer or log of a Bot Manager that does not understand it', async () => {
    let log = '';
    const write = (line: string) => void (log += line);
    const world = new World({ log: createLog({ name: 'lccd-bm', level: 'debug', human: false, write }) });
    for (const message of BROKEN) {
      const source = world.source();
      await source.hear();
      await source.say(message);
      await source.leave();
      const answered = (await source.hear()).join();
      holdsNothingOf(answered, message.slice(0, 90));
    }
    await world.stop();
    assert.equal(log.match(/"source gone"/g)?.length, BROKEN.length);
    holdsNothingOf(log, 'log');
  });
});
