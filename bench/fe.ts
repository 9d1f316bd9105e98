/**
 * Conversations of CPs through lccd-fe beside the same without it: one large set, and sets of one url one after the other. The UNS
 * has no Queue Manager: sets stay in its spool, and nothing else is measured. Then two homes, each on a core of its own, beside one
 * that takes all: their Queue Managers absorb sets from UNSes that are this process, which runs on the core that is less busy.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { makeTables } from '../src/db/engine/home-rows.js';
import { Engine as OurEngine } from '../src/db/engine/engine.js';
import { engineAccount } from '../src/db/engine/nodes.js';
import { systemClock } from '../src/lib/clock.js';
import { silentLog } from '../src/lib/log.js';
import { initMessage } from '../src/wire/cp-uns/client.js';
import { takeOver } from '../test/support/at-end.js';
import { certify } from '../test/support/certify.js';
import { Daemons } from '../test/support/daemon.js';
import { Engine } from '../test/support/engine.js';
import { freePorts } from '../test/support/free-port.js';
import { compare, type Contender, type Outcome } from './harness.js';
import { addProviders, piecesOf } from './lcc.js';
import { BenchQm, PREFIX, urlTag } from './qm.js';

const URLS = Number(process.env['LCC_BENCH_URLS'] ?? 200_000);
const SETS = 100;
const AT_LEAST = 0.7;
const TWO_AT_LEAST = 1.8;
/** Ports of a machine; front ends come to the fourth. */
const PORTS = 5;
const FRONT_DOOR = 3;

export async function bench(): Promise<Outcome[]> {
  const end = takeOver();
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-fe-'));
  const daemons = new Daemons();
  try {
    const { direct, front, password } = await start(dir, daemons);
    const through = (name: string, port: number, urls: number, sets: number): Contender => {
      const names = Array.from({ length: urls }, (_, i) => `guide/section-${i >> 8}/page-${i}.html`);
      const tags = Buffer.concat([...piecesOf(names)].map(({ bytes }) => bytes));
      const head = `${initMessage('1', password)}<lococa:set set="partial" urlprefix="${PREFIX}">`;
      const document = Buffer.concat([Buffer.from(head), tags, Buffer.from('</lococa:set>')]);
      return { name, run: () => timed(port, document, urls, sets) };
    };
    const beside = (work: string, unit: string, urls: number, sets: number, atLeast?: number) =>
      compare({
        work,
        amount: unit === 'urls' ? urls : sets,
        unit,
        rounds: 3,
        ours: through('through lccd-fe', front, urls, sets),
        peers: [
          {
            contender: through('lccd-uns, directly', direct, urls, sets),
            ...(atLeast !== undefined && { atLeast }),
          },
        ],
      });
    return [
      await beside(`front end: one set of ${URLS} urls`, 'urls', URLS, 1, AT_LEAST),
      // Two connections, each with its lookup, where the other has one: below the floor of a large set.
      await beside(`front end: ${SETS} sets of one url, one after the other`, 'sets', 1, SETS),
      await twoHomes(dir),
    ];
  } finally {
    await daemons.end();
    await end();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function twoHomes(dir: string): Promise<Outcome> {
  const sets = ['guide', 'handbook'].map(top =>
    Array.from({ length: URLS }, (_, i) => urlTag(`${top}/section-${i >> 8}/page-${i}.html`, 4096)).join(''),
  );
  const homes = [0, 1].map(core => ({ core, qm: new BenchQm(join(dir, `home-${core}`)) }));
  const begin = async ({ core, qm }: (typeof homes)[number]) => {
    await qm.stop('SIGKILL');
    rmSync(qm.home, { recursive: true, force: true });
    mkdirSync(join(qm.home, 'run'), { recursive: true });
    addProviders(join(qm.home, 'lcc.db'), 1, PREFIX);
    await qm.start();
    execFileSync('taskset', ['-acp', String(core), String(qm.pid)], { stdio: 'ignore' });
  };
  const absorb = async ({ qm }: (typeof homes)[number], texts: string[]) => {
    const link = await qm.connectUns();
    for (const text of texts) await link.set(1, URLS, [text]);
    link.close();
  };
  const contender = (name: string, of: typeof homes): Contender => ({
    name,
    prepare: async () => void (await Promise.all(of.map(begin))),
    run: async () => {
      const beganMs = performance.now();
      await Promise.all(of.map((home, i) => absorb(home, of.length === 1 ? sets : sets.slice(i, i + 1))));
      return { seconds: (performance.now() - beganMs) / 1000 };
    },
  });
  try {
    return await compare({
      work: `two homes on cores of their own: two sets of ${URLS} urls absorbed`,
      amount: 2 * URLS,
      unit: 'urls',
      rounds: 3,
      ours: contender('two homes, a set each', homes),
      peers: [{ contender: contender('one home, both sets', homes.slice(0, 1)), atLeast: TWO_AT_LEAST }],
    });
  } finally {
    await Promise.all(homes.map(({ qm }) => qm.stop('SIGKILL')));
  }
}

/** A UNS, the map in an engine, and a front end. @returns ports of both, and the password of provider 1 */
async function start(dir: string, daemons: Daemons) {
  const engine = await Engine.start();
  const store = { url: engine.url(), password_file: engine.passwordFile(), plain: true };
  const account = {
    url: engine.url().replace('//lcc@', '//lcc_admin@'),
    passwordFile: engine.passwordFile('lcc_admin'),
    tlsCa: '',
    plain: true,
  };
  const maker = new OurEngine(engineAccount(account), { clock: systemClock, log: silentLog });
  await makeTables(maker, new AbortController().signal);
  maker.close();
  const port = await freePorts(PORTS);
  await engine.node.query(`insert into lcc.home values (0, 'u', 1, '127.0.0.1:${port}', 1)`);
  await engine.node.query("insert into lcc.pmdb values (1, 0, 'served')");
  const [cert, key, ca] = certify(dir, ['127.0.0.1']);
  const net = { peer_ca: ca, peer_cert: cert, peer_key: key };
  const homeWith = (name: string, toml: object) => {
    const home = join(dir, name);
    mkdirSync(home);
    writeFileSync(join(home, 'lcc.toml'), stringify(toml));
    return home;
  };
  const home = homeWith('home', { net, uns: { max_spool_bytes: '20GB' } });
  const [password = ''] = addProviders(join(home, 'lcc.db'), 1, PREFIX);
  const listen = '--listen=127.0.0.1:0';
  const doors = [listen, `--listen-fe=tls:127.0.0.1:${port + FRONT_DOOR}`, `--qm=unix:${home}/none.sock`];
  const uns = daemons.start('lccd-uns', home, doors);
  const fe = daemons.start('lccd-fe', homeWith('front', { net, store }), [listen]);
  await Promise.all([uns.ready, fe.ready]);
  return { direct: uns.port, front: fe.port, password };
}

/** Conversations one after the other, each from its connection to the last word. */
async function timed(port: number, document: Buffer, urls: number, sets: number) {
  const beganMs = performance.now();
  for (let n = 0; n < sets; n++) {
    const socket = connect(port, '127.0.0.1');
    let reply = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      reply += text;
      if (reply.includes('set_accepted')) socket.end();
    });
    socket.write(document);
    await once(socket, 'close');
    if (!reply.includes(`set_accepted received="${urls}"`)) throw new Error(`not accepted: ${reply}`);
  }
  return { seconds: (performance.now() - beganMs) / 1000 };
}
