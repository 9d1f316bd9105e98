/** The session of lccbot(8), as a person has it: with the real telnet, and byte by byte. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { it } from 'node:test';
import { spawnBot } from '../bot/lccbot.js';
import { answer, newFolder, rawServer } from '../fetch/support.js';
import { freePort } from '../support/free-port.js';
import { readProjectFile } from '../support/tree.js';
import { until } from '../support/until.js';

const noTelnet =
  spawnSync('telnet', ['--help']).error !== undefined && process.env['CI'] !== 'true' && 'no telnet';

/** What the page shows below the telnet command, with our addresses and file names in place of its own. */
function session(siteUrl: string, folder: string): string[] {
  const page = readProjectFile('man/lccbot.8').split('\n');
  const start = page.findIndex(line => line.startsWith('$ telnet'));
  return page
    .slice(start + 1, page.indexOf('.Ed', start))
    .map(line => line.replaceAll('http://127.0.0.1:8080/', siteUrl).replaceAll('/tmp/', `${folder}/`));
}

const isTyped = (line: string) => /^<(fetch|recall) /.test(line);
/** What differs between two runs of the same session. */
const comparable = (line: string) =>
  line.replace(/ (time|wirebytes)="[\d.]+"/g, ' $1=""').replace(/peer 127\.0\.0\.1:\d+/, 'peer');

/** The site of the page; `/big` takes until its lane has been recalled. */
async function pageSite() {
  let release = () => {};
  const recalled = new Promise<void>(resolve => (release = resolve));
  const site = await rawServer((socket, head) => {
    const [, path] = head.split(' ');
    if (path === '/nothing') socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
    else if (path === '/big')
      void recalled.then(() => socket.write(answer('x'.repeat(9_437_184), 'Content-Type: text/html\r\n')));
    else if (/if-modified-since: Fri, 20 Nov 2026 16:16:23 GMT/i.test(head))
      socket.write('HTTP/1.1 304 Not Modified\r\n\r\n');
    else
      socket.write(
        answer('a page', 'Content-Type: text/html\r\nLast-Modified: Fri, 20 Nov 2026 16:16:23 GMT\r\n'),
      );
  });
  return { site, release };
}

/** Types the lines of a session, each after what is answered before it, and returns the transcript. */
async function hold(
  lines: readonly string[],
  type: (line: string) => Promise<void>,
  heard: () => string,
  release: () => void,
): Promise<string[]> {
  const transcript: string[] = [];
  let read = 0;
  const hear = async () => {
    await until('a line is heard', () => heard().slice(read).includes('\n'));
    const end = heard().indexOf('\n', read);
    transcript.push(heard().slice(read, end).replace(/\r$/, ''));
    read = end + 1;
  };
  for (const line of lines) {
    if (!isTyped(line)) {
      await hear();
      if (line.includes('status="recalled"')) release();
      continue;
    }
    await type(line);
    transcript.push(line);
  }
  return transcript;
}

it('is held with telnet as the page shows it', { skip: noTelnet, timeout: 300_000 }, async () => {
  const { site, release } = await pageSite();
  const folder = newFolder();
  const port = await freePort();
  const bot = spawnBot(['--name=try', `--listen=${port}`, `--dir=${folder}`, '--allow-address=127.0.0.1']);
  await untilListening(port);
  const telnet = spawn('telnet', ['127.0.0.1', String(port)]);
  const exited = once(telnet, 'exit');
  let heard = '';
  for (const stream of [telnet.stdout, telnet.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (heard += text));
  const lines = session(site.url, folder);
  assert.equal(lines.filter(isTyped).length, 7);
  const type = (line: string) =>
    new Promise<void>(resolve => telnet.stdin.write(`${line}\n`, () => resolve()));
  const transcript = await hold(lines, type, () => heard, release);
  assert.deepEqual(transcript.map(comparable), lines.map(comparable));
  await exited;
  assert.equal(readFileSync(join(folder, 'x'), 'utf8'), 'a page');
  assert.equal(readFileSync(join(folder, 'y')).length, 9_437_184);
  bot.child.kill('SIGTERM');
  assert.equal(await bot.exited, 0);
});

it('is held byte by byte, lines ending as a terminal ends them', { timeout: 300_000 }, async () => {
  const { site, release } = await pageSite();
  const folder = newFolder();
  const port = await freePort();
  spawnBot([`--listen=${port}`, `--dir=${folder}`, '--allow-address=127.0.0.1']);
  await untilListening(port);
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  let heard = '';
  socket.setEncoding('utf8').on('data', (text: string) => (heard += text));
  const lines = session(site.url, folder).filter(line => line.startsWith('<'));
  const type = async (line: string) => {
    for (const byte of Buffer.from(`${line}\r\n`)) await typed(socket, byte);
  };
  const transcript = await hold(lines, type, () => heard, release);
  assert.deepEqual(transcript.map(comparable), lines.map(comparable));
  if (!socket.closed) await once(socket, 'close');
});

it('goes on when a request is spread over lines, and while another is being typed', async () => {
  const { site } = await pageSite();
  const folder = newFolder();
  const port = await freePort();
  spawnBot([`--listen=${port}`, `--dir=${folder}`, '--allow-address=127.0.0.1', '--slots=2']);
  await untilListening(port);
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  let heard = '';
  socket.setEncoding('utf8').on('data', (text: string) => (heard += text));
  const one = `<fetch\r\n  id='1'\r\n  url='${site.url}'\r\n  file='${folder}/1'\r\n/>`;
  socket.write(`${one}\r\n\r\n  <fetch id="2"`);
  await until('the first is answered', () => heard.includes('<fetched id="1" status="ok"'));
  socket.write(` url="${site.url}" file="${folder}/2" />`);
  await until('the second is answered', () => heard.includes('<fetched id="2" status="ok"'));
  socket.destroy();
});

async function typed(socket: Socket, byte: number): Promise<void> {
  await new Promise<void>(resolve => void socket.write(Uint8Array.of(byte), () => resolve()));
  // Each byte is a packet of its own, read before the next is sent.
  await new Promise(resolve => void setImmediate(resolve));
}

async function untilListening(port: number): Promise<void> {
  await until(`somebody listens on port ${port}`, async () => {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>(resolve => {
      socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    });
    socket.destroy();
    return isOpen;
  });
}
