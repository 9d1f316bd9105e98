/** lccurld put together: its list, and listeners for spiders. */
import { createReadStream } from 'node:fs';
import { spiderEngineOptions } from '../transaction/options.js';
import { listenAll } from '../../daemon/listen-all.js';
import { placesOf } from '../../daemon/places.js';
import type { Bound, Entrance, Running, Services } from '../../daemon/types.js';
import type { Endpoint } from '../../lib/endpoint.js';
import { EXIT, messageOf } from '../../lib/errors.js';
import { writeFullyLater } from '../../lib/stdio.js';
import { formatErr } from '../../wire/spider-lines.js';
import type { UrldStatus } from './figures.js';
import { Journal, type JournalOptions } from './journal.js';
import { robotsOptions, urlServerOptions } from './options.js';
import { Report } from './report.js';
import { RobotsFetcher } from '../../robots/fetcher.js';
import { RobotsGate } from './robots-gate.js';
import { digestOfLines, markOf, reportLine, UrlList } from './url-list.js';
import { UrlServer } from './url-server.js';

/** Where spiders connect when an endpoint names no port. */
export const DEFAULT_PORT = 9020;

const SPIDERS: Bound = {
  key: 'spider.max_spiders',
  whose: 'spiders',
  say: ({ message }) => formatErr(message),
};
/** The server counts them itself: it knows which of them have nothing to do. */
const ENTRANCE: Entrance = { machines: true, say: SPIDERS.say };
/** Lines of failed urls that nobody has read at which no more of the list is read. */
const MAX_REPORT_LENGTH = 256 * 1024;

/** A list of urls, and where it is reported what failed. */
interface ListEdge {
  listens: readonly Endpoint[];
  /** Undefined: standard input. */
  file: string | undefined;
  stdin: () => AsyncIterable<Buffer>;
  /** Where it is reported: a descriptor. */
  stdout: number;
}

/** @throws as `Journal` */
export async function startList(
  services: Services,
  { listens, file, stdin, stdout }: ListEdge,
): Promise<Running> {
  const { clock, log } = services;
  const { spider } = services.settings;
  const report = new Report(
    bytes => writeFullyLater(stdout, bytes, 'standard output'),
    MAX_REPORT_LENGTH,
    error => log.warn('nobody reads which urls have failed', { error: messageOf(error) }),
  );
  let failed = 0;
  const journal =
    file === undefined
      ? undefined
      : new Journal(journalOptions(services, file), line => {
          failed++;
          report.add(reportLine(line));
        });
  const input: AsyncIterable<Buffer> = file === undefined ? stdin() : createReadStream(file);
  const list = new UrlList(input, journal, report, failed);
  const robots = spider.robots ? robotsOf(services, () => server) : undefined;
  const options = urlServerOptions(spider);
  const wishedDelayMs = robots && ((hostName: string) => robots.gate.delayMsOf(hostName));
  const server = new UrlServer({
    options: { ...options, schedule: { ...options.schedule, wishedDelayMs } },
    list,
    places: placesOf(SPIDERS, services),
    judge: robots && (url => robots.gate.judge(url)),
    clock,
    log,
    fail: error => services.fail(error),
  });
  const listening = await listenAll(services, listens, each => server.accept(each), ENTRANCE);
  server.start();
  return {
    status: (): UrldStatus => ({ ...server.status(), listens: listening.listens }),
    // And a moment for what is said last.
    stopTimeoutMs: spider.graceMs + 5000,
    finished: server.over.then(() => {
      if (list.isAllOver)
        log.info('every url of the list has ended before; remove its journal to have all fetched again', {
          urls: list.endedBefore,
          journal: journal?.path,
        });
      return list.failed > 0 ? EXIT.someRejected : EXIT.ok;
    }),
    summary: () => ({
      done: server.status().done,
      failed: list.failed - list.failedBefore,
      ended_before: list.endedBefore,
      failed_before: list.failedBefore,
    }),
    async stop() {
      robots?.close();
      listening.close();
      await server.stop();
    },
  };
}

function robotsOf(services: Services, server: () => UrlServer) {
  const { settings, clock, log } = services;
  const fetcher = new RobotsFetcher(spiderEngineOptions(settings.spider), clock);
  const gate = new RobotsGate({
    ...robotsOptions(settings.spider),
    ask: url => fetcher.ask(url),
    clock,
    log,
    heard: hostName => server().robotsHeard(hostName),
  });
  return {
    gate,
    close() {
      gate.close();
      fetcher.close();
    },
  };
}

function journalOptions(services: Services, file: string): JournalOptions {
  return {
    path: `${file}.done`,
    listMark: markOf(file),
    digestOf: lines => digestOfLines(file, lines),
    // Urls that have ended before they are synced, and the longest wait for more of them.
    syncLines: 1000,
    syncMs: 1000,
    clock: services.clock,
    fail: error => services.fail(error),
  };
}
