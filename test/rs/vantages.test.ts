/** Real robots that look at a site from elsewhere, and what passes for robots. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import type { SettingKey } from '../../src/config/settings/index.js';
import type { Registration } from '../../src/db/rs/registrations.js';
import { vantageOptions } from '../../src/rs/proof/vantages.js';
import { Daemons, type Daemon } from '../support/daemon.js';
import { RsScene } from './support.js';

const daemons = new Daemons();
const dir = mkdtempSync(join(tmpdir(), 'lcc-vantages-'));
const fakes: Server[] = [];
const scenes: RsScene[] = [];
after(async () => {
  for (const fake of fakes) fake.close();
  for (const scene of scenes) scene.close();
  await daemons.end();
  rmSync(dir, { recursive: true });
});

const at = (name: string) => `unix:${join(dir, name)}`;

/** A robot that listens there; sites know it by its name. */
async function robot(name: string, allows = '127.0.0.0/8'): Promise<Daemon> {
  const config = join(dir, `${name}.toml`);
  writeFileSync(config, `[bot]\nuser_agent = "${name}/1"\n`);
  const options = [`--listen=${at(name)}`, `--name=${name}`, `--allow-address=${allows}`];
  const daemon = daemons.start('lccbot', dir, options, { LCC_CONFIG: config });
  await daemon.ready;
  return daemon;
}

/** What listens there instead of a robot. @param answer to what it is asked @returns what that was */
async function pretend(name: string, greeting: string, answer: () => string): Promise<string[]> {
  const asked: string[] = [];
  const fake = createServer(socket => {
    socket.on('error', () => undefined).write(greeting);
    socket.setEncoding('utf8').on('data', (text: string) => {
      asked.push(text);
      socket.write(answer());
    });
  });
  fakes.push(fake);
  await new Promise<void>(resolve => void fake.listen(join(dir, name), resolve));
  return asked;
}

interface Checked {
  standing: Registration;
  /** The last row of the audit. */
  row: string;
  /** Who asked for the file. */
  asked: string[];
  secret: string;
}

/**
 * A pair, its file, and a check by these vantages.
 * @param shows what a robot is given: its text, or a status
 */
async function checkBy(
  vantages: readonly string[],
  shows: (robot: string, secret: string) => string | number = (_robot, secret) => secret,
  checkTimeoutMs = 15_000,
  prepare: (secret: string) => void = () => undefined,
): Promise<Checked> {
  const scene = await RsScene.start(
    { 'rs.vantages': vantages.map(at), 'rs.mode': 'approve' },
    ({ proof }) => (proof.checkTimeoutMs = checkTimeoutMs),
  );
  scenes.push(scene);
  const pair = scene.issue('/docs/');
  const { secret, registration } = pair;
  const asked: string[] = [];
  scene.site.answer = (request, response) => {
    const [name = ''] = (request.headers['user-agent'] ?? '').split('/');
    const isFile = request.url === `/docs/${registration.file.split('/').at(-1) ?? ''}`;
    if (isFile) asked.push(name);
    const shown = isFile ? (name.startsWith('lccbot') ? secret : shows(name, secret)) : 404;
    if (typeof shown === 'number') response.writeHead(shown).end();
    else response.end(shown);
  };
  prepare(secret);
  await scene.registrar.check(pair.capability);
  const { event, detail } = scene.db.audit.page(1)[0] ?? {};
  return { standing: scene.standing(pair), row: `${event}: ${detail}`, asked, secret };
}

describe('a site that robots elsewhere look at', () => {
  let hanging: Daemon;
  before(async () => {
    await Promise.all([robot('paris'), robot('quito'), robot('osaka'), robot('unreached', '10.0.0.0/8')]);
    hanging = await robot('hanging');
    hanging.child.kill('SIGSTOP');
  });

  it('is proven when they see the same file, with whatever end', async () => {
    const ends: Record<string, string> = { paris: '\n', quito: '\r\n', osaka: '' };
    const { standing, row, asked } = await checkBy(
      Object.keys(ends),
      (name, secret) => secret + (ends[name] ?? ''),
    );
    assert.equal(standing.state, 'waiting');
    assert.match(row, /^proven: \S+ \(127\.0\.0\.1\)$/);
    assert.deepEqual(asked.toSorted(), ['lccbot', 'osaka', 'paris', 'quito']);
  });

  it('is proven when one sees something else, which the audit says', async () => {
    const differences: [string | number, string][] = [
      ['another text', 'another content'],
      [404, 'error 404'],
      ['x'.repeat(5000), 'another content'],
      [203, 'error \\d+|status 203'],
    ];
    for (const [shown, said] of differences) {
      const { standing, row } = await checkBy(['paris', 'quito'], (name, secret) =>
        name === 'quito' ? shown : secret,
      );
      assert.equal(standing.state, 'waiting', said);
      assert.match(
        row,
        new RegExp(`^proven: .*\\(127\\.0\\.0\\.1; vantage unix:\\S+/quito: (?:${said})\\)$`),
      );
    }
  });

  it('is not proven when two see something else: its owner is told why, in the audit stands who', async () => {
    const { standing, row, asked } = await checkBy(['paris', 'quito', 'osaka'], (name, secret) =>
      name === 'paris' ? secret : 'of somebody else',
    );
    assert.deepEqual([standing.state, standing.reason?.code, standing.proven], ['issued', 'vantages', []]);
    assert.match(standing.reason?.what ?? '', /from other networks the site does not show the file/);
    assert.match(row, /^check failed: vantages \(.*\/quito: another content; .*\/osaka: another content\)$/);
    assert.equal(asked.length, 4);
    const unreached = await checkBy(['unreached', 'quito'], () => 503);
    assert.equal(unreached.standing.reason?.code, 'vantages');
    assert.match(unreached.row, /unreached: error 610; .*quito: error 503/);
  });

  it('is proven while one of them hangs, or is not there', async () => {
    const hung = await checkBy(['paris', 'hanging'], undefined, 3000);
    assert.equal(hung.standing.state, 'waiting');
    assert.match(hung.row, /^proven: .*\/hanging: no answer in time\)$/);
    const away = await checkBy(['paris', 'nobody']);
    assert.equal(away.standing.state, 'waiting');
    assert.match(away.row, /\/nobody: .*ENOENT/);
  });

  it('is checked again later when two of them are away: that is no fault of the site', async () => {
    const { standing, row } = await checkBy(['nobody', 'hanging'], undefined, 3000);
    assert.deepEqual([standing.state, standing.reason?.code], ['issued', 'vantages-later']);
    assert.match(standing.reason?.do ?? '', /ask the operator/);
    assert.match(row, /^check failed: vantages-later \(/);
    const mixed = await checkBy(['nobody', 'quito'], () => 404);
    assert.equal(mixed.standing.reason?.code, 'vantages-later');
  });

  it('is not shown to them before it is found from here', async () => {
    const scene = await RsScene.start({ 'rs.vantages': ['paris', 'quito'].map(at) });
    scenes.push(scene);
    const pair = scene.issue();
    const asked: string[] = [];
    scene.site.answer = (request, response) => {
      asked.push(request.headers['user-agent'] ?? '');
      response.writeHead(404).end();
    };
    await scene.registrar.check(pair.capability);
    assert.equal(scene.standing(pair).reason?.code, 'missing');
    assert.deepEqual(
      asked.map(each => each.split('/')[0]),
      ['lccbot'],
    );
  });
});

describe('what listens as a vantage', () => {
  const OK = '<fetched id="1" status="ok" http="200" ';
  const md5 = (text: string) => createHash('md5').update(text).digest('hex');

  it('may be a robot that sends no content: md5 and length are compared', async () => {
    let answer = '';
    const asked = await pretend('old', '<lococa:bot slots="1"/>\n', () => answer);
    const said = async (made: (secret: string) => string) => {
      const { standing, row } = await checkBy(['old', 'nobody'], undefined, undefined, secret => {
        answer = made(secret);
      });
      return standing.state === 'waiting' ? 'same' : (/\/old: ([\w ]+)/.exec(row)?.[1] ?? row);
    };
    for (const end of ['', '\n', '\r\n'])
      assert.equal(
        await said(secret => `${OK}md5="${md5(secret + end)}" len="${secret.length + end.length}"/>\n`),
        'same',
      );
    assert.equal(await said(secret => `${OK}md5="${md5(secret)}" len="99"/>\n`), 'another content');
    assert.equal(
      await said(secret => `${OK}md5="${md5('x')}" len="${secret.length}"/>\n`),
      'another content',
    );
    assert.equal(
      await said(
        secret => `${OK}md5="${md5(secret)}" len="${secret.length}" furl="http://www.example.org/"/>\n`,
      ),
      'another place',
    );
    assert.match(
      asked[0] ?? '',
      /^<fetch id="1" url="[^"]+\.txt" file="\/tmp\/[^"]+" maxlen="1024" timeout="10" roots=/,
    );
    assert.doesNotMatch(asked[0] ?? '', /inline/);
  });

  it('counts as away when it is no robot, says too much, or what nobody asked for', async () => {
    const robots: [string, string, string][] = [
      ['ssh', 'SSH-2.0-OpenSSH_9.2\r\n', ''],
      ['endless', `<lococa:bot slots="1" ${'x'.repeat(1_000_000)}`, ''],
      ['much', '<lococa:bot slots="1" unasked="yes"/>', `<part id="1">${'QUFB'.repeat(2000)}</part>`],
      ['unasked', '<lococa:bot slots="1" unasked="yes"/>', '<part id="7">QUFB</part>'],
      ['else', '<lococa:bot slots="1" unasked="yes"/>', '<lococa:error code="106">full</lococa:error>'],
    ];
    await robot('rome');
    for (const [name, greeting, answer] of robots) {
      await pretend(name, greeting, () => answer);
      const { standing, row } = await checkBy(['rome', name], undefined, 5000);
      assert.equal(standing.state, 'waiting', name);
      assert.match(row, new RegExp(`; vantage unix:\\S+/${name}: `), name);
    }
  });

  it('is asked over TLS or on this machine, and is not the only one', () => {
    const read = (vantages: string[], more: Partial<Record<SettingKey, string>> = {}) =>
      vantageOptions(
        loadConfig({ env: { LCC_HOME: dir }, overrides: { 'rs.vantages': vantages, ...more } }).settings,
      );
    assert.equal(read([]), undefined);
    assert.throws(() => read([at('a')]), /rs\.vantages: one alone decides nothing/);
    assert.throws(() => read([at('a'), at('a')]), /one alone/);
    assert.throws(
      () => read(['192.0.2.7:9100', at('a')]),
      /rs\.vantages: 192\.0\.2\.7:9100: plain text beyond loopback; use tls:192\.0\.2\.7:9100/,
    );
    assert.equal(read(['192.0.2.7:9100', at('a')], { 'net.allow_plain': 'true' })?.endpoints.length, 2);
    assert.deepEqual(read(['tls:bot.example.org:9443', '127.0.0.1:9100'])?.endpoints.length, 2);
    assert.throws(() => read(['tls:a:1', 'tls:b:1'], { 'net.tls_ca': join(dir, 'none') }), /net\.tls_ca/);
  });
});
