import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { openSqlite } from '../../src/lib/sqlite.js';
import { runCommand } from '../support/command.js';
import { startDaemon, statusOf, type Daemon } from '../support/daemon.js';
import { until, within } from '../support/until.js';
import { longIt } from '../support/long.js';

const homes: string[] = [];
const daemons: Daemon[] = [];
after(async () => {
  await Promise.all(daemons.map(daemon => daemon.stop('SIGKILL')));
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

function newHome(toml: string): string {
  const home = mkdtempSync(join(tmpdir(), 'lcc-rs-'));
  homes.push(home);
  writeFileSync(join(home, 'lcc.toml'), toml);
  return home;
}

async function start(home: string): Promise<Daemon> {
  const daemon = startDaemon('lccd-rs', home, ['--listen=127.0.0.1:0']);
  daemons.push(daemon);
  await daemon.ready;
  return daemon;
}

const RS = '[rs]\nurl = "http://lcc.example.org/lcc/"\n';

describe('lccd-rs', () => {
  it('answers below its base path, and alone for its home', async () => {
    const home = newHome(RS);
    const daemon = await start(home);
    const base = `http://127.0.0.1:${daemon.port}`;
    const look = async (path: string) => {
      const response = await fetch(base + path);
      return `${response.status} ${(await response.text()).trim()}`;
    };
    assert.equal(await look('/healthz'), '503 the Queue Manager is away\nthe UNS is away');
    assert.equal(await look('/robots.txt'), '200 User-agent: *\nDisallow: /');
    assert.match(await look('/lcc/api/v1/pairs/x'), /^404 \{"code":"unknown"/);
    assert.equal(await look('/api/v1/pairs/x'), '404 there is nothing here');
    assert.equal(await look('/op'), '404 there is nothing here');
    const second = runCommand(home, 'lccd-rs', ['--listen=127.0.0.1:0']);
    assert.equal(second.status, 69);
    assert.match(second.stderr, /rs\.lock: held by lccd-rs \(process \d+\); stop that one first/);
    const { idle, qm_connected: isConnected } = await statusOf(home, 'lccd-rs');
    assert.deepEqual([idle, isConnected], [true, false]);
    assert.equal(await daemon.stop(), 0);
  });

  it('logs of a request that fails no pair, and nothing of a client that goes away while it sends', async () => {
    const home = newHome(`${RS}ports = ["8080"]\n`);
    const daemon = await start(home);
    const api = `http://127.0.0.1:${daemon.port}/lcc/api/v1`;
    const post = (path: string, body: object) =>
      fetch(api + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const { id } = (await (await post('/pairs', { url: 'http://h.example:8080/' })).json()) as { id: string };
    for (const type of ['application/json', 'application/x-www-form-urlencoded']) {
      const gone = connect(daemon.port, '127.0.0.1');
      gone.write(
        `POST /lcc/api/v1/pairs HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: 99\r\n\r\n{`,
      );
      await once(gone, 'ready');
      gone.resetAndDestroy();
    }
    const db = openSqlite(join(home, 'rs/rs.db'));
    db.exec('BEGIN IMMEDIATE');
    assert.equal((await post(`/pairs/${id}/check`, {})).status, 503);
    db.exec('ROLLBACK');
    db.close();
    assert.equal(await daemon.stop(), 0);
    const failed = daemon.log.split('\n').filter(line => line.includes('"level":"error"'));
    assert.equal(failed.length, 1, daemon.log);
    assert.match(failed[0] ?? '', /"path":"\/lcc\/api\/v1\/pairs\/ID\/check"/);
    assert.ok(!daemon.log.includes(id));
  });

  longIt(
    'says at /healthz what does not answer, to operators as well, and that all does when it is back',
    async () => {
      const home = newHome(RS);
      const run = join(home, 'run');
      const begin = async (name: string, args: string[]) => {
        const daemon = startDaemon(name, home, args);
        daemons.push(daemon);
        await daemon.ready;
        return daemon;
      };
      const rs = await begin('lccd-rs', ['--listen=127.0.0.1:0', `--operator-listen=unix:${run}/op.sock`]);
      const look = async () => {
        const outside = await fetch(`http://127.0.0.1:${rs.port}/healthz`);
        const inside = await new Promise<IncomingMessage>((resolve, reject) => {
          get({ socketPath: join(run, 'op.sock'), path: '/healthz' }, resolve).on('error', reject);
        });
        const said = (await outside.text()).trim().replace('\n', ', ');
        return `${outside.status}, operators ${inside.resume().statusCode}: ${said}`;
      };
      const untilSaid = async (status: number, said: string) => {
        const all = `${status}, operators ${status}: ${said}`;
        await until(`/healthz says ${all}`, async () => (await look()) === all);
      };
      await untilSaid(503, 'the Queue Manager is away, the UNS is away');
      const listening = ['uns', 'bm', 'rs'].map(kind => `--listen-${kind}=unix:${run}/qm-${kind}.sock`);
      const qm = await begin('lccd-qm', listening);
      await untilSaid(503, 'the UNS is away');
      await begin('lccd-uns', [
        `--listen=unix:${run}/cp.sock`,
        `--listen-door=unix:${run}/uns-door.sock`,
        `--qm=unix:${run}/qm-uns.sock`,
      ]);
      await untilSaid(200, 'ok');
      await qm.stop('SIGKILL');
      await untilSaid(503, 'the Queue Manager is away');
      await begin('lccd-qm', listening);
      await untilSaid(200, 'ok');
    },
  );

  longIt('lets sites of a network register that --allow-address names', async () => {
    const ask = async (...args: string[]) => {
      const daemon = startDaemon('lccd-rs', newHome(`${RS}ports = ["8080"]\n`), [
        '--listen=127.0.0.1:0',
        ...args,
      ]);
      daemons.push(daemon);
      await daemon.ready;
      const { status } = await fetch(`http://127.0.0.1:${daemon.port}/lcc/api/v1/pairs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ url: 'http://127.0.0.1:8080/' }),
      });
      return status;
    };
    assert.equal(await ask(), 400);
    assert.equal(await ask('--allow-address=127.0.0.0/8'), 201);
  });

  it('does not start without an endpoint or a public address, or with one that is none', () => {
    const cases: [number, RegExp, string, string[]][] = [
      [64, /--listen=ENDPOINT is missing/, RS, []],
      [78, /rs\.url is missing: the public address/, '', ['--listen=127.0.0.1:0']],
      [78, /rs\.url = .*: write an http or https url/, '[rs]\nurl = "http://lcc.example.org/?x"\n', []],
      [78, /rs\.ports = .*: write ports as texts/, '[rs]\nports = ["http"]\n', []],
      [78, /plain text beyond loopback/, RS, ['--listen=0.0.0.0:0']],
    ];
    for (const [status, says, toml, args] of cases) {
      const done = runCommand(newHome(toml), 'lccd-rs', args);
      assert.match(done.stderr, says);
      assert.equal(done.status, status, String(says));
    }
  });

  longIt('answers beside 500 connections that say nothing, for one address has few places', async () => {
    const daemon = await start(newHome(RS));
    const silent = Array.from({ length: 500 }, () =>
      connect(daemon.port, '127.0.0.1').on('error', () => undefined),
    );
    try {
      await daemon.logged('too many connections from 127.0.0.1');
      assert.match(daemon.log, /20 \(web\.max_connections_per_address\)/);
      const answer = new Promise<number | undefined>((resolve, reject) => {
        const options = {
          port: daemon.port,
          host: '127.0.0.1',
          localAddress: '127.0.0.2',
          path: '/lcc/register',
        };
        get(options, response => resolve(response.resume().statusCode)).on('error', reject);
      });
      assert.equal(await within('a page is answered', answer), 200);
    } finally {
      for (const socket of silent) socket.destroy();
    }
  });

  it('answers beside 500 slow connections from as many addresses, whatever they are slow with, and always at once', async () => {
    const daemon = await start(newHome(RS));
    const page = (address: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const options = {
          port: daemon.port,
          host: '127.0.0.1',
          localAddress: address,
          path: '/lcc/register',
        };
        get(options, response => resolve(response.resume().statusCode)).on('error', reject);
      });
    const BEGINNINGS = [
      '',
      'GET /lcc/ HTTP/1.1\r\nHost: x\r\nX-Slow: ',
      'POST /lcc/register HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\nurl',
    ];
    const slow: Socket[] = [];
    const attack = (from: number, to: number) =>
      Promise.all(
        Array.from({ length: to - from }, (_, i) => {
          const n = from + i;
          const localAddress = `127.0.${1 + (n >> 7)}.${1 + (n & 127)}`;
          const socket = connect({ port: daemon.port, host: '127.0.0.1', localAddress });
          slow.push(socket.on('error', () => undefined));
          socket.write(BEGINNINGS[n % BEGINNINGS.length] ?? '');
          return once(socket, 'connect');
        }),
      );
    try {
      await attack(0, 250);
      assert.equal(await within('a page is answered', page('127.0.9.1')), 200);
      await attack(250, 500);
      assert.equal(await within('a page is answered', page('127.0.9.2')), 200);
      assert.equal(await within('a page is answered', page('127.0.9.3')), 200);
      assert.match(await (await fetch(`http://127.0.0.1:${daemon.port}/healthz`)).text(), /away/);
    } finally {
      for (const socket of slow) socket.destroy();
    }
  });

  longIt('has no such limit for a proxy that is believed', async () => {
    const daemon = await start(newHome(`${RS}proxies = ["127.0.0.1"]\n`));
    const silent = Array.from({ length: 40 }, () =>
      connect(daemon.port, '127.0.0.1').on('error', () => undefined),
    );
    try {
      await Promise.all(silent.map(async socket => within('it is connected', once(socket, 'connect'))));
      const response = await fetch(`http://127.0.0.1:${daemon.port}/healthz`);
      assert.match(await response.text(), /away/);
    } finally {
      for (const socket of silent) socket.destroy();
    }
  });
});
