/**
 * Conversations of CPs through lccd-fe beside the same without it: one large set, and sets of one url one after the other. The UNS
 * has no Queue Manager: sets stay in its spool, and nothing else is measured.
 */
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
import { PREFIX } from './qm.js';

const URLS = Number(process.env['LCC_BENCH_URLS'] ?? 200_000);
const SETS = 100;
const AT_LEAST = 0.7;
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
    ];
  } finally {
    await daemons.end();
    await end();
    rmSync(dir, { recursive: true, force: true });
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
