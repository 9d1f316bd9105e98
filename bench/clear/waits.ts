/** What waits: a request when all is idle, rails beside a slow one, a long queue and a rail that is down. */
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { idsOf, pagesOf } from '../../test/support/clear.js';
import { freePort } from '../../test/support/free-port.js';
import { startRail } from '../../test/support/rails.js';
import { until } from '../../test/support/until.js';
import { median, peakRssBytes, type Outcome } from '../harness.js';
import { amountOf, countPages, listen, newHome, QUIET, RAILS, stop, WAIT_MS, WORKERS } from './homes.js';

const QUEUED = amountOf(1_000_000);
const BESIDE_SLOW_IDS = amountOf(5000);
const SINGLE_REQUESTS = 51;
const SLOW_MS = 1500;
const MAX_BESIDE_SLOW = 1.1;
const MAX_MORE_MB = 32;
/** Beyond the poll interval. */
const MAX_START_MS = 20;
const MB = 1024 * 1024;

/** From a request to the first DELETE, where nothing else is to be done. */
export async function idle(): Promise<Outcome> {
  const home = newHome();
  let arrived: () => void = () => undefined;
  const rail = createHttpServer((_request, response) => {
    arrived();
    response.writeHead(204).end();
  });
  const port = await listen(rail);
  home.addRail('r1', { url: `http://127.0.0.1:${port}/` });
  const daemon = home.startHard();
  await daemon.ready;
  const pollMs = 1000;
  const tookMs: number[] = [];
  for (const id of idsOf(SINGLE_REQUESTS)) {
    const arrival = new Promise<void>(resolve => (arrived = resolve));
    const startedMs = performance.now();
    home.request([id]);
    await arrival;
    tookMs.push(performance.now() - startedMs);
    await until('the request is done', () => home.db.queue.count(1) === 0);
  }
  await stop(daemon);
  rail.closeAllConnections();
  rail.close();
  return {
    work: 'clear: one request, when all is idle',
    unit: 'requests',
    rounds: 1,
    lines: [],
    bounds: [
      {
        what: `from the request to the first DELETE, median of ${SINGLE_REQUESTS}, poll interval ${pollMs} ms`,
        value: median(tookMs),
        atMost: MAX_START_MS,
        unit: 'ms',
      },
    ],
    notes: [
      `the issue permits the poll interval besides; the longest of them took ${Math.max(...tookMs).toFixed(1)} ms`,
    ],
  };
}

/** How long two rails take beside a third one that takes 1.5 s for each answer, and beside one like them. */
export async function besideSlow(): Promise<Outcome> {
  const runs = { slow: [] as number[], fast: [] as number[] };
  for (let round = 0; round < 3; round++) {
    runs.fast.push(await secondsOfTwo(0));
    runs.slow.push(await secondsOfTwo(SLOW_MS));
  }
  return {
    work: `clear: ${BESIDE_SLOW_IDS.toLocaleString('en-US')} pages on 3 rails, of which one takes ${SLOW_MS} ms for an answer`,
    unit: 'pages',
    rounds: 3,
    lines: [],
    bounds: [
      {
        what: 'time of the other two rails, as a multiple of that beside one like them',
        value: median(runs.slow) / median(runs.fast),
        atMost: MAX_BESIDE_SLOW,
        unit: '×',
      },
    ],
  };
}

async function secondsOfTwo(delayMs: number): Promise<number> {
  const home = newHome();
  const two = await home.addRails(RAILS.slice(1), {}, QUIET);
  const third = await startRail('nginx', join(home.dir, 'third'), QUIET);
  const proxy = delayedTo(Number(new URL(third.url).port), delayMs);
  try {
    home.addRail('third', { url: `http://127.0.0.1:${await listen(proxy)}/`, driver: 'nginx-dav' });
    const ids = idsOf(BESIDE_SLOW_IDS);
    for (const rail of [...two, third]) rail.write(pagesOf(ids));
    home.request(ids);
    const startedMs = performance.now();
    const daemon = home.startHard();
    await until('two rails are clear', () => two.every(rail => countPages(rail) === 0), WAIT_MS);
    const seconds = (performance.now() - startedMs) / 1000;
    daemon.child.kill('SIGKILL');
    await daemon.ended;
    return seconds;
  } finally {
    proxy.close();
    await third.stop();
  }
}

/** Passes on what clients send, and what the server answers after a while. */
function delayedTo(port: number, delayMs: number): Server {
  return createServer(client => {
    const server = connect(port, '127.0.0.1');
    client.on('data', bytes => void server.write(bytes));
    server.on('data', (bytes: Buffer) => {
      if (delayMs === 0) client.write(bytes);
      else setTimeout(() => void (client.destroyed || client.write(bytes)), delayMs);
    });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const)
      one.on('close', () => other.destroy()).on('error', () => other.destroy());
  });
}

/** Whether the daemon needs ever more memory with a queue that is long, and a rail that is down. */
export async function memory(): Promise<Outcome> {
  const home = newHome();
  await home.addRails(['nginx'], { workers: WORKERS }, QUIET);
  home.addRail('down', { url: `http://127.0.0.1:${await freePort()}/` });
  home.request(idsOf(QUEUED));
  const daemon = home.startHard();
  await daemon.ready;
  const pid = daemon.child.pid ?? 0;
  const done = async () => Number((await home.status())['requests_completed']);
  await until('a tenth is done', async () => (await done()) >= QUEUED / 10, WAIT_MS);
  const early = peakRssBytes(pid) / MB;
  await until('all is done', () => home.db.queue.count(1) === 0, WAIT_MS);
  const whole = peakRssBytes(pid) / MB;
  const parked = home.db.backlog.counts().reduce((sum, { waiting }) => sum + waiting, 0);
  if (parked !== QUEUED) throw new Error(`${parked} pages wait for the rail that is down`);
  await stop(daemon);
  const count = (requests: number) => requests.toLocaleString('en-US');
  return {
    work: `clear: memory with ${count(QUEUED)} requests queued and a rail down`,
    unit: 'requests',
    rounds: 1,
    lines: [],
    bounds: [
      {
        what: `peak of lccd-hard beyond that of the first ${count(QUEUED / 10)} (${early.toFixed(0)} MB)`,
        value: whole - early,
        atMost: MAX_MORE_MB,
        unit: 'MB',
      },
    ],
  };
}
