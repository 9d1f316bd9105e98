import assert from 'node:assert/strict';
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const daemonFile = fileURLToPath(new URL('../fixtures/echo-daemon.js', import.meta.url));
const homes: string[] = [];
const children: ChildProcess[] = [];
after(() => {
  for (const child of children) child.kill('SIGKILL');
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'lcc-daemon-'));
  homes.push(home);
  return home;
}

interface Started {
  child: ChildProcess;
  log: Promise<string>;
  ready: Promise<void>;
  exited: Promise<number | null>;
}

function start(
  home: string,
  args: string[],
  env: NodeJS.ProcessEnv = {},
  stdio: StdioOptions = ['ignore', 'pipe', 'pipe'],
): Started {
  const child = spawn(process.execPath, [daemonFile, ...args], {
    stdio,
    env: { ...process.env, LCC_HOME: home, ...env },
  });
  children.push(child);
  let seen = '';
  const { stderr } = child;
  assert.ok(stderr);
  const ready = new Promise<void>(resolve => {
    stderr.setEncoding('utf8').on('data', (chunk: string) => {
      seen += chunk;
      if (seen.includes('"event":"ready"')) resolve();
    });
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  return { child, log: text(stderr), ready, exited };
}

/** Asks the control socket one line and parses the answer. */
async function control(home: string, line: string): Promise<{ ok?: unknown; error?: string }> {
  const socket = connect(join(home, 'run/echo.ctl.sock'));
  socket.write(`${line}\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return JSON.parse(answer.toString()) as { ok?: unknown; error?: string };
}

function connectTo(path: string): Promise<Socket> {
  const socket = connect(path);
  return once(socket, 'connect').then(() => socket);
}

describe('a daemon', () => {
  it('answers status and controls on its control socket, one line each', async () => {
    const home = newHome();
    const { child, ready, exited } = start(home, [`unix:${home}/echo.sock`]);
    await ready;
    const status = (await control(home, 'status')).ok as Record<string, unknown>;
    assert.equal(status['daemon'], 'echo');
    assert.equal(status['pid'], child.pid);
    assert.equal(status['endpoint'], `unix:${home}/echo.sock`);
    assert.deepEqual(await control(home, 'add 2 3'), { ok: 5 });
    assert.deepEqual(await control(home, 'refuse'), { error: 'refused as asked', code: 'usage' });
    assert.match((await control(home, 'toString')).error ?? '', /unknown control "toString"/);
    child.kill('SIGTERM');
    assert.equal(await exited, 0);
  });

  it('answers so many at a time on its control socket, tells the next why not, and serves its work all the same', async () => {
    const home = newHome();
    writeFileSync(join(home, 'lcc.toml'), '[wire]\nmax_controls = 2\n');
    const { child, ready, exited, log } = start(home, [`unix:${home}/echo.sock`]);
    await ready;
    const ctl = `${home}/run/echo.ctl.sock`;
    const [stays, leaves] = [await connectTo(ctl), await connectTo(ctl)];
    for (let n = 0; n < 3; n++)
      assert.deepEqual(JSON.parse(await text(connect(ctl))), {
        error: 'there are 2 (wire.max_controls) connections of controls already',
        code: 'limit',
      });
    stays.write('add 2 3\n');
    assert.equal(String((await once(stays, 'data'))[0]), '{"ok":5}\n');
    const client = await connectTo(`${home}/echo.sock`);
    client.write('hello');
    assert.equal(String((await once(client, 'data'))[0]), 'hello');
    leaves.destroy();
    while ((await control(home, 'add 2 3')).ok !== 5);
    for (const socket of [stays, client]) socket.destroy();
    child.kill('SIGTERM');
    assert.equal(await exited, 0);
    assert.equal((await log).split('connections are refused').length - 1, 1);
  });

  it('reads 16 KB of each connection ahead, however much Node would', async () => {
    const home = newHome();
    const { child, ready, exited } = start(home, [`unix:${home}/echo.sock`]);
    await ready;
    const client = await connectTo(`${home}/echo.sock`);
    client.write('hello');
    await once(client, 'data');
    const { ok } = await control(home, 'status');
    assert.equal((ok as Record<string, unknown>)['readAheadBytes'], 16 * 1024);
    client.destroy();
    child.kill('SIGTERM');
    await exited;
  });

  it('logs what Node warns of like everything else', async () => {
    const home = newHome();
    const { child, ready, exited, log } = start(home, [`unix:${home}/echo.sock`]);
    await ready;
    await control(home, 'warn');
    await control(home, 'status');
    child.kill('SIGTERM');
    await exited;
    const lines = (await log)
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as Record<string, unknown>);
    const { level, warning, reason } = lines.find(({ event }) => event === 'Node warns') ?? {};
    assert.deepEqual([level, warning, reason], ['warn', 'OddWarning', 'look here']);
  });

  it('ends with status 0 on SIGTERM and removes its sockets', async () => {
    const home = newHome();
    const { child, ready, exited } = start(home, [`unix:${home}/echo.sock`]);
    await ready;
    const client = await connectTo(`${home}/echo.sock`);
    client.on('error', () => undefined);
    child.kill('SIGTERM');
    client.destroy();
    assert.equal(await exited, 0);
    assert.equal(existsSync(`${home}/echo.sock`), false);
    assert.equal(existsSync(`${home}/run/echo.ctl.sock`), false);
  });

  it('takes over the socket of a killed predecessor but never that of a running one', async () => {
    const home = newHome();
    const first = start(home, [`unix:${home}/echo.sock`]);
    await first.ready;
    const second = start(home, [`unix:${home}/echo.sock`]);
    assert.equal(await second.exited, 69);
    assert.match(await second.log, /in use by a running daemon/);
    first.child.kill('SIGKILL');
    await first.exited;
    assert.equal(existsSync(`${home}/echo.sock`), true);
    const third = start(home, [`unix:${home}/echo.sock`]);
    await third.ready;
    third.child.kill('SIGTERM');
    assert.equal(await third.exited, 0);
  });

  it('leaves a file alone that is no socket, and the socket of one that is too busy to answer', async () => {
    const home = newHome();
    writeFileSync(`${home}/file`, 'precious');
    const overFile = start(home, [`unix:${home}/file`]);
    assert.equal(await overFile.exited, 69);
    assert.match(await overFile.log, /file: there is something else than a socket/);
    assert.equal(readFileSync(`${home}/file`, 'utf8'), 'precious');

    const path = `${home}/busy.sock`;
    const program = `require('node:net').createServer().listen({path: ${JSON.stringify(path)}, backlog: 1}, () => process.send('listens'))`;
    const busy = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    children.push(busy);
    await once(busy, 'message');
    busy.kill('SIGSTOP');
    const waiting: Socket[] = [];
    for (let isFull = false; !isFull;) {
      const socket = connect(path);
      waiting.push(socket);
      isFull = await Promise.race([
        once(socket, 'connect').then(() => false),
        once(
          socket.on('error', () => undefined),
          'close',
        ).then(() => true),
      ]).catch(() => true);
    }
    const second = start(home, [`unix:${path}`]);
    assert.equal(await second.exited, 69);
    assert.match(await second.log, /in use by a running daemon/);
    assert.equal(existsSync(path), true);
    for (const socket of waiting) socket.destroy();
    busy.kill('SIGKILL');
  });

  it('stops when the pipe of its parent closes', async () => {
    const home = newHome();
    const { child, ready, exited } = start(home, [`unix:${home}/echo.sock`], { LCC_PARENT_FD: '3' }, [
      'ignore',
      'pipe',
      'pipe',
      'pipe',
    ]);
    await ready;
    (child.stdio[3] as Socket).destroy();
    assert.equal(await exited, 0);
  });

  it('finds its upper server again after that was restarted', async () => {
    const home = newHome();
    const path = `${home}/upper.sock`;
    const serve = async () => {
      const server = createServer();
      const connection = once(server, 'connection') as Promise<[Socket]>;
      await new Promise<void>(resolve => void server.listen(path, resolve));
      return { server, connection };
    };
    const before = await serve();
    const { child, ready, exited } = start(home, [`unix:${home}/echo.sock`, `unix:${path}`]);
    await ready;
    const [socket] = await before.connection;
    socket.destroy();
    before.server.close();
    await once(before.server, 'close');
    const later = await serve();
    const [again] = await later.connection;
    again.destroy();
    later.server.close();
    child.kill('SIGTERM');
    assert.equal(await exited, 0);
  });

  it('refuses plain text beyond loopback unless configured, naming the key', async () => {
    const home = newHome();
    const refused = start(home, ['0.0.0.0:0']);
    assert.equal(await refused.exited, 78);
    assert.match(await refused.log, /net\.allow_plain/);
    writeFileSync(join(home, 'lcc.toml'), '[net]\nallow_plain = true\n');
    const allowed = start(home, ['0.0.0.0:0']);
    await allowed.ready;
    allowed.child.kill('SIGTERM');
    assert.equal(await allowed.exited, 0);
    assert.match(await allowed.log, /plain text beyond loopback/);
  });

  it('refuses a tls: endpoint without a certificate', async () => {
    const refused = start(newHome(), ['tls:127.0.0.1:0']);
    assert.equal(await refused.exited, 78);
    assert.match(await refused.log, /net\.tls_cert/);
  });

  it('ends at once with the status of an error it cannot go on with', async () => {
    const home = newHome();
    const { ready, exited, log } = start(home, [`unix:${home}/echo.sock`]);
    await ready;
    await control(home, 'crash');
    assert.equal(await exited, 74);
    assert.match(await log, /"event":"cannot go on","error":"fsync failed"/);
  });

  it('logs one JSON object a line', async () => {
    const home = newHome();
    const { child, ready, log } = start(home, [`unix:${home}/echo.sock`]);
    await ready;
    child.kill('SIGTERM');
    const lines = (await log).trimEnd().split('\n');
    const events = lines.map(line => (JSON.parse(line) as { event: string; daemon: string }).event);
    assert.deepEqual(events, ['ready', 'stops']);
  });
});
