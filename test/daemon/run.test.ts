import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { text } from 'node:stream/consumers';
import { newHome, startEcho } from './echo.js';

const children: ChildProcess[] = [];
after(() => {
  for (const child of children) child.kill('SIGKILL');
});

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
    const echo = startEcho(home, [`unix:${home}/echo.sock`]);
    await echo.ready;
    const status = (await control(home, 'status')).ok as Record<string, unknown>;
    assert.equal(status['daemon'], 'echo');
    assert.equal(status['pid'], echo.child.pid);
    assert.equal(status['endpoint'], `unix:${home}/echo.sock`);
    assert.deepEqual(await control(home, 'add 2 3'), { ok: 5 });
    assert.deepEqual(await control(home, 'refuse'), { error: 'refused as asked', code: 'usage' });
    assert.match((await control(home, 'toString')).error ?? '', /unknown control "toString"/);
    assert.equal(await echo.stop(), 0);
  });

  it('says which settings its options replace, and not those that say the same', async () => {
    const home = newHome();
    writeFileSync(
      join(home, 'lcc.toml'),
      '[uns]\nlisten = ["9000", "tls:0.0.0.0:9443"]\n[wire]\nmax_hello_bytes = 5000\n',
    );
    const said = async (env: NodeJS.ProcessEnv) => {
      const echo = startEcho(home, [`unix:${home}/echo.sock`], {
        ...env,
        ECHO_SETTINGS: JSON.stringify({
          'uns.listen': ['9017'],
          'wire.max_hello_bytes': '5000',
          'qm.pace_ms': '1s',
        }),
      });
      await echo.ready;
      assert.equal(await echo.stop(), 0);
      return echo.log.match(/.*an option replaces a setting.*/g) ?? [];
    };
    const [line = '', ...more] = await said({});
    assert.match(line, /uns\.listen.*lcc\.toml.*9000,tls:0\.0\.0\.0:9443.*9017/);
    assert.deepEqual(more, []);
  });

  it('answers so many at a time on its control socket, tells the next why not, and serves its work all the same', async () => {
    const home = newHome();
    const echo = startEcho(home, [`unix:${home}/echo.sock`]);
    await echo.ready;
    const ctl = `${home}/run/echo.ctl.sock`;
    const all = await Promise.all(Array.from({ length: 100 }, () => connectTo(ctl)));
    const [stays = assert.fail(), leaves = assert.fail(), ...others] = all;
    for (let n = 0; n < 3; n++)
      assert.deepEqual(JSON.parse(await text(connect(ctl))), {
        error: 'too many connections of controls, try again later: the limit is 100',
        code: 'limit',
      });
    stays.write('add 2 3\n');
    assert.equal(String((await once(stays, 'data'))[0]), '{"ok":5}\n');
    const client = await connectTo(`${home}/echo.sock`);
    client.write('hello');
    assert.equal(String((await once(client, 'data'))[0]), 'hello');
    leaves.destroy();
    while ((await control(home, 'add 2 3')).ok !== 5);
    for (const socket of [stays, client, ...others]) socket.destroy();
    assert.equal(await echo.stop(), 0);
    assert.equal(echo.log.split('connections refused').length - 1, 1);
  });

  it('reads 16 KB of each connection ahead, however much Node would', async () => {
    const home = newHome();
    const echo = startEcho(home, [`unix:${home}/echo.sock`]);
    await echo.ready;
    const client = await connectTo(`${home}/echo.sock`);
    client.write('hello');
    await once(client, 'data');
    const { ok } = await control(home, 'status');
    assert.equal((ok as Record<string, unknown>)['readAheadBytes'], 16 * 1024);
    client.destroy();
    await echo.stop();
  });

  it('logs what Node warns of like everything else', async () => {
    const home = newHome();
    const echo = startEcho(home, [`unix:${home}/echo.sock`]);
    await echo.ready;
    await control(home, 'warn');
    await control(home, 'status');
    await echo.stop();
    const lines = echo.log
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as Record<string, unknown>);
    const { level, warning, reason } = lines.find(({ event }) => event === 'Node warning') ?? {};
    assert.deepEqual([level, warning, reason], ['warn', 'OddWarning', 'look here']);
  });

  it('ends with status 0 on SIGTERM and removes its sockets', async () => {
    const home = newHome();
    const echo = startEcho(home, [`unix:${home}/echo.sock`]);
    await echo.ready;
    const client = await connectTo(`${home}/echo.sock`);
    client.on('error', () => undefined);
    const stopped = echo.stop();
    client.destroy();
    assert.equal(await stopped, 0);
    assert.equal(existsSync(`${home}/echo.sock`), false);
    assert.equal(existsSync(`${home}/run/echo.ctl.sock`), false);
  });

  it('takes over the socket of a killed predecessor but never that of a running one', async () => {
    const home = newHome();
    const first = startEcho(home, [`unix:${home}/echo.sock`]);
    await first.ready;
    const second = startEcho(home, [`unix:${home}/echo.sock`]);
    assert.equal(await second.ended, 69);
    assert.match(second.log, /in use by a running daemon/);
    await first.stop('SIGKILL');
    assert.equal(existsSync(`${home}/echo.sock`), true);
    const third = startEcho(home, [`unix:${home}/echo.sock`]);
    await third.ready;
    assert.equal(await third.stop(), 0);
  });

  it('leaves a file alone that is no socket, and the socket of one that is too busy to answer', async () => {
    const home = newHome();
    writeFileSync(`${home}/file`, 'precious');
    const overFile = startEcho(home, [`unix:${home}/file`]);
    assert.equal(await overFile.ended, 69);
    assert.match(overFile.log, /file: exists and is not a socket/);
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
    const second = startEcho(home, [`unix:${path}`]);
    assert.equal(await second.ended, 69);
    assert.match(second.log, /in use by a running daemon/);
    assert.equal(existsSync(path), true);
    for (const socket of waiting) socket.destroy();
    busy.kill('SIGKILL');
  });

  it('stops when the pipe of its parent closes', async () => {
    const home = newHome();
    const stdio = ['ignore', 'ignore', 'pipe', 'pipe'] as const;
    const echo = startEcho(home, [`unix:${home}/echo.sock`], { LCC_PARENT_FD: '3' }, [...stdio]);
    await echo.ready;
    (echo.child.stdio[3] as Socket).destroy();
    assert.equal(await echo.ended, 0);
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
    const echo = startEcho(home, [`unix:${home}/echo.sock`, `unix:${path}`]);
    await echo.ready;
    const [socket] = await before.connection;
    socket.destroy();
    before.server.close();
    await once(before.server, 'close');
    const later = await serve();
    const [again] = await later.connection;
    again.destroy();
    later.server.close();
    assert.equal(await echo.stop(), 0);
  });

  it('refuses plain text beyond loopback unless configured, naming the key', async () => {
    const home = newHome();
    const refused = startEcho(home, ['0.0.0.0:0']);
    assert.equal(await refused.ended, 78);
    assert.match(refused.log, /net\.allow_plain/);
    writeFileSync(join(home, 'lcc.toml'), '[net]\nallow_plain = true\n');
    const allowed = startEcho(home, ['0.0.0.0:0']);
    await allowed.ready;
    assert.equal(await allowed.stop(), 0);
    assert.match(allowed.log, /without TLS beyond loopback/);
  });

  it('refuses a tls: endpoint without a certificate', async () => {
    const refused = startEcho(newHome(), ['tls:127.0.0.1:0']);
    assert.equal(await refused.ended, 78);
    assert.match(refused.log, /net\.tls_cert/);
  });

  it('ends at once with the status of an error it cannot go on with', async () => {
    const home = newHome();
    const echo = startEcho(home, [`unix:${home}/echo.sock`]);
    await echo.ready;
    await control(home, 'crash');
    assert.equal(await echo.ended, 74);
    assert.match(echo.log, /"event":"fatal error, exiting","error":"fsync failed"/);
  });

  it('that is told to read its files again while it starts does so once it is there: it may have read them', async () => {
    const home = newHome();
    const echo = startEcho(home, [`unix:${home}/echo.sock`], { ECHO_HUP: '1' });
    await echo.ready;
    assert.equal(echo.log.match(/"event":"read again"/g)?.length, 1);
  });

  it('ends with what is wrong where it cannot stop in order, and answers no more', async () => {
    const home = newHome();
    const echo = startEcho(home, [`unix:${home}/echo.sock`], { ECHO_STOP_FAILS: '1' });
    await echo.ready;
    assert.equal(await echo.stop(), 74);
    assert.match(echo.log, /"event":"cannot stop in order, exiting","error":"notes: disk full"\}\n$/);
    await assert.rejects(control(home, 'status'), { code: 'ENOENT' });
  });

  it('logs one JSON object a line', async () => {
    const home = newHome();
    const echo = startEcho(home, [`unix:${home}/echo.sock`]);
    await echo.ready;
    await echo.stop();
    const lines = echo.log.trimEnd().split('\n');
    const events = lines.map(line => (JSON.parse(line) as { event: string; daemon: string }).event);
    assert.deepEqual(events, ['ready', 'stopping']);
  });
});
