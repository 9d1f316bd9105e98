/** Machines of an LCC show each other certificates of its own authority: on every listener for machines, as the guide makes them. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect as connectPlain, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type ConnectionOptions } from 'node:tls';
import { after, before, describe, it } from 'node:test';
import { askPeer } from '../../src/cu/peers/ask.js';
import { systemClock } from '../../src/lib/clock.js';
import { Daemons, statusOf, type Daemon } from '../support/daemon.js';
import { runCommand } from '../support/command.js';
import { readProjectFile } from '../support/tree.js';
import { until, within } from '../support/until.js';

const dir = mkdtempSync(join(tmpdir(), 'lcc-peers-'));
const daemons = new Daemons();
after(async () => {
  await daemons.end();
  rmSync(dir, { recursive: true });
});

/** Lines that the guide has indented, block by block, with our folders and names in place of its own. */
function guide(folder: string, name: string): string[] {
  const blocks = readProjectFile('docs/machines.md').match(/(?:^ {4}.*\n)+/gm) ?? [];
  return blocks.map(block =>
    block
      .replace(/^ {4}/gm, '')
      .replaceAll('lcc.example.org', 'localhost')
      .replaceAll('store.example.org', 'elsewhere')
      .replaceAll('/etc/lcc/', `${folder}/`)
      .replaceAll('localhost.', `${name}.`),
  );
}

const sh = (cwd: string, ...lines: string[]) =>
  execFileSync('bash', ['-ec', lines.join('\n')], {
    cwd,
    stdio: ['ignore', 'pipe', 'ignore'],
    encoding: 'utf8',
  });

/** An authority as the guide makes it, with a certificate for localhost. @returns its folder */
function authority(name: string): string {
  const folder = join(dir, name);
  mkdirSync(folder);
  const [makeAuthority = '', makeCertificates = ''] = guide('', 'localhost');
  sh(folder, makeAuthority, makeCertificates);
  return join(folder, 'authority');
}

/** A home whose lcc.toml is that of the guide, and more. */
function home(name: string, from: string, machine: string, more = ''): string {
  const folder = join(dir, name);
  mkdirSync(join(folder, 'run'), { recursive: true });
  const blocks = guide(folder, machine);
  sh(from, blocks[2] ?? '');
  writeFileSync(join(folder, 'lcc.toml'), `${blocks[3]}${more}`);
  return folder;
}

type Shown = Pick<ConnectionOptions, 'cert' | 'key'>;
const shown = (folder: string, name: string) => ({
  cert: readFileSync(join(folder, `${name}.pem`)),
  key: readFileSync(join(folder, `${name}.key`)),
});

let ours = '';
let theirs = '';
before(() => {
  ours = authority('ours');
  theirs = authority('theirs');
  sh(
    ours,
    'openssl x509 -req -in localhost.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days -1 -extfile localhost.ext -out old.pem; cp localhost.key old.key',
  );
});

describe('the guide to several machines', () => {
  it('connects a second machine by its commands', async () => {
    const lcc = home('lcc', ours, 'localhost');
    const store = home('store', ours, 'elsewhere');
    const [, , , , relay = '', other = ''] = guide('', 'localhost');
    const words = (line: string, where: string, port: number) =>
      line
        .trim()
        .replaceAll('$LCC_HOME', where)
        .replace('0.0.0.0:9002', '0.0.0.0:0')
        .replace('localhost:9002', `localhost:${port}`)
        .split(' ');
    const start = async (line: string, where: string, port = 0) => {
      const [name = '', ...args] = words(line, where, port);
      const daemon = daemons.start(name, where, args);
      await daemon.ready;
      return daemon;
    };
    await start('lccd --listen=127.0.0.1:0 --bots=1', lcc);
    await start(relay, lcc);
    const listens = await portOf(lcc, 'lccd-bm-relay');
    const [manager = '', robot = ''] = other.trim().split('\n');
    await start(manager, store, listens);
    await start(robot, store);
    await until('the second machine is there', async () =>
      JSON.stringify((await statusOf(lcc, 'lccd-qm'))['bot_managers']).includes('store1'),
    );
    const { tls_until_ms: untilMs } = await statusOf(store, 'lccd-bm');
    assert.ok(Number(untilMs) > 0, 'lccstat hears when the certificate ends');
  });
});

describe('the ports of content and of lccq', () => {
  it('take certificates as the guide has it, and nobody without one; no key is in logs or process lists', async () => {
    const store = home('content', ours, 'localhost');
    const [, , , , , , cluster = '', manager = '', users = '', curl = ''] = guide(store, 'localhost');
    assert.match(cluster, /^\[cluster\]\nmachines = \[/);
    const started: Daemon[] = [];
    for (const line of [manager, users]) {
      const [name = '', ...args] = line
        .trim()
        .replaceAll('$LCC_HOME', store)
        .replace(/0\.0\.0\.0:\d+/, '127.0.0.1:0')
        .replace(/--source=\S+/, `--source=unix:${store}/no.sock`)
        .split(' ');
      const daemon = daemons.start(name, store, args);
      started.push(daemon);
      await daemon.ready;
    }
    const port = await portOf(store, 'lccd-bm');
    const line = curl.replace('elsewhere:9021', `localhost:${port}`).trim();
    assert.equal(sh(store, line.replace('curl', 'curl -s')), 'store1\n');
    const without = sh(store, line.replace('curl', 'curl -s').replace(/--cert \S+ --key \S+ /, ''));
    assert.match(without, /^no certificate; machines of this LCC show one of its authority/);
    const query = '<lococa:query last="yes"/>';
    const asked = (certificate: Shown) => talkAt(store, 'lccd-cu', certificate, query);
    assert.match(await asked(shown(ours, 'localhost')), /cannot be read|<lococa:result/);
    assert.match(await asked({}), /no certificate/);
    const secret = readFileSync(join(store, 'machine.key'), 'utf8').split('\n')[1] ?? assert.fail();
    for (const { log, child } of started) {
      assert.ok(!log.includes(secret));
      assert.ok(!readFileSync(`/proc/${child.pid}/cmdline`, 'latin1').includes(secret));
    }
  });

  it('of a machine by another name, or of none of the LCC, are not read from', async () => {
    const reader = home('reader', ours, 'localhost');
    const ca = join(reader, 'machines.pem');
    const from = async (name: string, authority: string, machine: string) => {
      const { port } = await listening(
        home(name, authority, machine),
        ofOption('--listen-content'),
        'tls:127.0.0.1:0',
      );
      const trust = () => ({ ca: readFileSync(ca), ...shown(ours, 'localhost') });
      return askPeer(
        { endpoint: { kind: 'tls', host: 'localhost', port }, trust, clock: systemClock },
        '',
        () => undefined,
      );
    };
    assert.deepEqual(await from('named', ours, 'localhost'), { machineId: 'm', isThere: true });
    await assert.rejects(from('misnamed2', ours, 'elsewhere'), /its certificate is for another name/);
    await assert.rejects(from('foreign', theirs, 'localhost'), /its certificate is not trusted/);
  });
});

/** Says a line to the one port of a daemon, over TLS. */
async function talkAt(at: string, name: string, certificate: Shown, line: string): Promise<string> {
  const ca = readFileSync(join(ours, 'ca.pem'));
  const socket = connect({
    host: '127.0.0.1',
    port: await portOf(at, name),
    servername: 'localhost',
    ca,
    ...certificate,
  });
  let heard = '';
  socket.on('error', () => undefined);
  socket.on('data', data => (heard += data.toString()));
  socket.write(`${line}\n`);
  await within(`${name} has answered`, new Promise(resolve => socket.once('close', resolve)));
  return heard;
}

/** Where a daemon listens whose log does not name it. */
async function portOf(lcc: string, name: string): Promise<number> {
  const { pid } = await statusOf(lcc, name);
  const fds = `/proc/${Number(pid)}/fd`;
  const inodes = new Set(
    readdirSync(fds).map(fd => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(join(fds, fd)))?.[1];
      } catch {
        return undefined; // closed meanwhile
      }
    }),
  );
  const line = readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .map(row => row.trim().split(/\s+/))
    .find(row => row[3] === '0A' && inodes.has(row[9] ?? ''));
  assert.ok(line !== undefined, `${name} listens`);
  return parseInt(line[1]?.split(':')[1] ?? '', 16);
}

/** Every daemon that machines connect to, with one such listener. */
const LISTENERS: readonly [name: string, option: string, rest: readonly string[]][] = [
  ['lccd-qm', '--listen-uns', ['--listen-bm=unix:HOME/bm.sock']],
  ['lccd-qm', '--listen-bm', ['--listen-uns=unix:HOME/uns.sock']],
  ['lccd-qm', '--listen-rs', ['--listen-uns=unix:HOME/uns.sock', '--listen-bm=unix:HOME/bm.sock']],
  ['lccd-bm', '--listen', ['--source=unix:HOME/no.sock', '--machineid=m']],
  ['lccd-bm', '--listen', ['--source=unix:HOME/no.sock']],
  ['lccbot', '--listen', []],
  ['lccd-cu', '--listen-machines', []],
  [
    'lccd-bm',
    '--listen-content',
    ['--listen=unix:HOME/bm.sock', '--source=unix:HOME/no.sock', '--machineid=m'],
  ],
  ['lccurld', '--listen', ['--file=HOME/urls']],
  ['lccd-uns', '--listen-door', ['--qm=unix:HOME/no.sock', '--listen=unix:HOME/cps.sock']],
  ['lccstored', '--listen', ['--dir=HOME/docs']],
];

const find = (name: string) => LISTENERS.find(([each]) => each === name) ?? assert.fail(name);
const ofOption = (option: string) => LISTENERS.find(([, each]) => each === option) ?? assert.fail(option);
const [BOT_MANAGER, ROBOT] = [find('lccd-bm'), find('lccbot')];

async function listening(at: string, [name, option, rest]: (typeof LISTENERS)[number], endpoint: string) {
  writeFileSync(join(at, 'urls'), 'http://127.0.0.1:1/\n');
  const args = [`${option}=${endpoint}`, ...rest.map(word => word.replace('HOME', at))];
  const daemon = daemons.start(name, at, args);
  await daemon.ready;
  const control = name === 'lccd-bm' && rest.length === 1 ? 'lccd-bm-relay' : name;
  return { daemon, port: await portOf(at, control) };
}

/** Connects from an address of its own, and says what was heard until the server hung up, or good-bye was said. */
async function talk(port: number, from: string, options: Shown | 'plain'): Promise<string> {
  let heard = '';
  const plain = connectPlain({ host: '127.0.0.1', port, localAddress: from });
  const ca = readFileSync(join(ours, 'ca.pem'));
  const socket: Socket =
    options === 'plain' ? plain : connect({ socket: plain, servername: 'localhost', ca, ...options });
  socket.on('error', () => undefined);
  socket.on('data', data => (heard += data.toString()));
  socket.end('hello\n');
  await within(`${from} is through`, new Promise(resolve => socket.once('close', resolve)));
  return heard;
}

describe('a listener for machines', () => {
  for (const [i, listener] of LISTENERS.entries())
    it(`of ${listener[0]} ${listener[1]} (${i}) lets in who shows a certificate of the authority, and nobody else`, async () => {
      const at = home(`peers${i}`, ours, 'localhost');
      const { daemon, port } = await listening(at, listener, 'tls:127.0.0.1:0');
      const refused: [string, Shown, string][] = [
        ['127.0.0.11', {}, 'no certificate'],
        ['127.0.0.12', shown(theirs, 'localhost'), 'certificate refused'],
        ['127.0.0.13', shown(ours, 'old'), 'certificate refused (it has expired)'],
      ];
      for (const [from, options, why] of refused) {
        const heard = await talk(port, from, options);
        assert.ok(daemon.log.includes(`"peer":"${from}:`), daemon.log);
        if (listener[0] !== 'lccstored') assert.ok(heard.includes(why), heard);
      }
      assert.equal(daemon.log.match(/"event":"machine refused"/g)?.length, refused.length);
      await talk(port, '127.0.0.11', {});
      assert.doesNotMatch(await talk(port, '127.0.0.14', 'plain'), /lococa|urlserver|lccstored|OK/i);
      const heard = await talk(port, '127.0.0.15', shown(ours, 'localhost'));
      assert.doesNotMatch(heard, /certificate/);
      assert.equal(daemon.log.match(/"event":"machine refused"/g)?.length, refused.length, 'once an address');
      await daemon.stop();
    });

  it('beyond loopback is refused where anybody could connect, in one line', () => {
    for (const [i, [name, option, rest]] of LISTENERS.entries()) {
      const at = join(dir, `open${i}`);
      mkdirSync(at);
      writeFileSync(join(at, 'urls'), '');
      writeFileSync(
        join(at, 'lcc.toml'),
        `[net]\nallow_plain = true\ntls_cert = "${ours}/localhost.pem"\ntls_key = "${ours}/localhost.key"\n`,
      );
      const endpoint = i % 2 === 0 ? '0.0.0.0:0' : 'tls:0.0.0.0:0';
      const args = [`${option}=${endpoint}`, ...rest.map(word => word.replace('HOME', at))];
      const { status, stderr } = runCommand(at, name, args);
      assert.equal(status, 78, `${name} ${endpoint}: ${stderr}`);
      // A UNS has begun to listen to CPs.
      const lines = stderr
        .trim()
        .split('\n')
        .filter(line => !line.includes('"level":"info"'));
      assert.equal(lines.length, 1, stderr);
      assert.match(
        stderr,
        /anybody could connect as a machine of this LCC; use tls:0\.0\.0\.0:\d+ and set net\.peer_ca/,
      );
    }
  });

  it('is open where the operator says so, with a warning', async () => {
    const at = join(dir, 'strangers');
    mkdirSync(at);
    writeFileSync(join(at, 'lcc.toml'), '[net]\nallow_plain = true\nallow_strangers = true\n');
    const { daemon, port } = await listening(at, ROBOT, '0.0.0.0:0');
    assert.match(await talk(port, '127.0.0.11', 'plain'), /<lococa:bot/);
    assert.match(daemon.log, /listening for machines without asking who they are/);
  });

  it('reads authority and certificate again on SIGHUP', async () => {
    const at = home('again', ours, 'localhost');
    const { daemon, port } = await listening(at, ROBOT, 'tls:127.0.0.1:0');
    assert.match(await talk(port, '127.0.0.11', shown(ours, 'localhost')), /<lococa:bot/);
    copyFileSync(join(theirs, 'ca.pem'), join(at, 'machines.pem'));
    daemon.child.kill('SIGHUP');
    await daemon.logged('TLS certificate reloaded');
    assert.match(await talk(port, '127.0.0.12', shown(ours, 'localhost')), /certificate refused/);
    assert.match(await talk(port, '127.0.0.13', shown(theirs, 'localhost')), /<lococa:bot/);
  });
});

describe('a machine that connects', () => {
  const robotAt = (at: string, to: string) =>
    daemons.start('lccbot', at, [`--bm=tls:${to}`, `--name=${to.replace(/\W/g, '.')}`]);

  it('believes its own authority alone, and the name', async () => {
    const good = await listening(home('good', ours, 'localhost'), BOT_MANAGER, 'tls:127.0.0.1:0');
    const other = await listening(home('other', theirs, 'localhost'), BOT_MANAGER, 'tls:127.0.0.1:0');
    const misnamed = await listening(home('misnamed', ours, 'elsewhere'), BOT_MANAGER, 'tls:127.0.0.1:0');
    const at = home('robots', ours, 'localhost');
    await robotAt(at, `localhost:${good.port}`).logged('"event":"connected"');
    const cannot = async (daemon: Daemon, why: RegExp) => {
      await daemon.logged('cannot connect, retrying');
      assert.match(daemon.log, why);
      assert.doesNotMatch(daemon.log, /"event":"connected"/);
    };
    await cannot(robotAt(at, `localhost:${other.port}`), /certificate/);
    await cannot(robotAt(at, `localhost:${misnamed.port}`), /does not match certificate's altnames/);
    assert.match(good.daemon.log, /"event":"robot connected"/);
    assert.doesNotMatch(other.daemon.log + misnamed.daemon.log, /"event":"robot connected"/);
  });

  it('that is refused says so, and goes on trying; the log of the other side has why', async () => {
    const { daemon, port } = await listening(
      home('strict', ours, 'localhost'),
      BOT_MANAGER,
      'tls:127.0.0.1:0',
    );
    const at = join(dir, 'nobody');
    mkdirSync(at);
    writeFileSync(join(at, 'lcc.toml'), `[net]\ntls_ca = "${ours}/ca.pem"\n`);
    const robot = robotAt(at, `localhost:${port}`);
    await robot.logged('connections are closed at once, retrying');
    assert.match(daemon.log, /"event":"machine refused","peer":"[^"]+","reason":"no certificate"/);
  });

  it('without a certificate of its own is a mistake of its settings', () => {
    const at = join(dir, 'half');
    mkdirSync(at);
    writeFileSync(join(at, 'lcc.toml'), `[net]\npeer_ca = "${ours}/ca.pem"\n`);
    const { status, stderr } = runCommand(at, 'lccbot', ['--bm=tls:localhost:1']);
    assert.equal(status, 78);
    assert.match(stderr, /net\.peer_ca needs net\.tls_cert and net\.tls_key/);
  });
});
