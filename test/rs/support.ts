/** A Registration Server in this process: database, registrar, and one site that a test changes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.js';
import type { SettingKey } from '../../src/config/settings/index.js';
import { RsDatabase } from '../../src/db/rs/database.js';
import type { ShownProvider } from '../../src/db/providers/registered.js';
import type { Registration } from '../../src/db/rs/registrations.js';
import { systemClock, type Clock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { FeedBook } from '../../src/rs/feeds/book.js';
import { mailServerOf } from '../../src/rs/mail/options.js';
import { handOver } from '../../src/rs/mail/server.js';
import { RunningMail } from '../../src/rs/mail/start.js';
import { rsOptions, type RsOptions } from '../../src/rs/options.js';
import { Registrar, type IssuedPair } from '../../src/rs/registrar.js';
import { RsRoom } from '../../src/rs/room.js';
import { Transitions } from '../../src/rs/transitions.js';
import type { RsQuestion } from '../../src/wire/qm-rs.js';
import { TestSite } from '../support/site.js';

export const URL_OF_RS = 'http://lcc.example.org/base/';

/** A wall clock that a test moves; timers are real. */
export class MovedClock implements Clock {
  byMs = 0;
  nowMs = () => systemClock.nowMs() + this.byMs;
  monotonicMs = () => systemClock.monotonicMs();
  after = (delayMs: number, action: () => void) => systemClock.after(delayMs, action);
}

export class RsScene {
  readonly dir = mkdtempSync(join(tmpdir(), 'lcc-rs-'));
  readonly clock = new MovedClock();
  readonly site: TestSite;
  readonly failures: unknown[] = [];
  /** The Queue Manager; undefined: it is away. */
  ask: (question: RsQuestion) => Readonly<Record<string, unknown>> | undefined = () => undefined;
  /** How often there was something for the Queue Manager. */
  applied = 0;
  /** What follows that. */
  afterApplied: () => void = () => undefined;
  db!: RsDatabase;
  options!: RsOptions;
  room!: RsRoom;
  registrar!: Registrar;
  transitions!: Transitions;
  mail!: RunningMail;
  /** Undefined: as long as in use. */
  mailTimeoutMs: number | undefined;
  /** What the Queue Manager says of a provider. */
  shown: Partial<ShownProvider> = {};

  private constructor(site: TestSite) {
    this.site = site;
  }

  /** @param bound changes bounds that no setting has */
  static async start(
    overrides: Partial<Record<SettingKey, string | string[]>> = {},
    bound?: (options: RsOptions) => void,
  ): Promise<RsScene> {
    const scene = new RsScene(await TestSite.listen());
    scene.open(overrides, bound);
    return scene;
  }

  /** Opens the database as a start does. */
  open(
    overrides: Partial<Record<SettingKey, string | string[]>> = {},
    bound?: (options: RsOptions) => void,
  ): void {
    const config = loadConfig({
      env: { LCC_HOME: this.dir },
      overrides: {
        'rs.url': URL_OF_RS,
        'rs.ports': [new URL(this.site.url).port],
        'bot.allow_addresses': ['127.0.0.0/8'],
        'rs.uns': 'tls:lcc.example.org:9443',
        ...overrides,
      },
    });
    this.options = rsOptions(config);
    bound?.(this.options);
    this.db = RsDatabase.open(this.options.path);
    const { db, options, clock } = this;
    this.transitions = new Transitions(db, clock.nowMs, options.slots);
    const server = mailServerOf(config.settings.rs);
    this.mail = new RunningMail({
      db,
      options: options.mail,
      handOver: server && (letter => handOver(letter, server, this.mailTimeoutMs)),
      retryMs: 10,
      clock,
      log: silentLog,
      show: () => Promise.resolve(this.shown),
      applied: () => void this.applied++,
      fail: error => void this.failures.push(error),
    });
    this.room = new RsRoom(db, options.room);
    this.registrar = new Registrar({
      room: this.room,
      transitions: this.transitions,
      db,
      options,
      clock,
      log: silentLog,
      mailing: this.mail.mailing,
      ask: question => Promise.resolve(this.ask(question)),
      applied: () => {
        this.applied++;
        this.afterApplied();
      },
      fail: error => void this.failures.push(error),
    });
  }

  /** The list of feeds. */
  get feeds(): FeedBook {
    return new FeedBook({ db: this.db, nowMs: this.clock.nowMs, options: this.options });
  }

  issue(path = '/', network = '192.0.2.0/24', email = ''): IssuedPair {
    return this.registrar.issue(this.site.urlOf(path), {}, network, email);
  }

  /** Puts the file in place. */
  place({ registration, secret }: IssuedPair): void {
    const { prefix, file } = registration;
    this.site.pages.set(new URL(prefix + file).pathname, secret);
  }

  standing({ capability }: IssuedPair): Registration {
    return this.registrar.find(capability);
  }

  close(): void {
    this.db.close();
    this.site.close();
    rmSync(this.dir, { recursive: true });
  }
}

const NO_SCORE = { score: null, slow: false };

/** What the Queue Manager says of a provider that has just registered. */
export function providerRow(pid: number): ShownProvider {
  return {
    pid,
    origin: 'rs',
    generation: 1,
    enabled: true,
    filesmax: 10_000,
    spacemax: 1024 ** 3,
    fullsetsallowed: 3,
    bandwidth: 1024 ** 2,
    timeofday: '',
    priority: 0,
    parallel: 1,
    enforce: false,
    fusepercent: null,
    fuseurls: null,
    maxlen: null,
    fetchtimeout: null,
    useragent: null,
    pacems: null,
    spider: false,
    groupname: null,
    scan: null,
    scanperday: null,
    filesused: 0,
    spaceused: 0,
    nurlerrs: 0,
    nurlproc: 0,
    lastconnseq: 0,
    lastconnip: '',
    fullsetwanted: null,
    fullsetsused: 0,
    fullsetssince: 0,
    lastset: 0,
    lastconntime: 0,
    paused: 0,
    backoffs: 0,
    backoffuntil: 0,
    dueat: 0,
    roots: ['http://www.example.org/'],
    errors: [],
    sets: [],
    leaveat: null,
    left: 0,
    givenroots: [],
    truthfulness: null,
    push: 'indexnow,ping,feed',
    pushes: { scores: { indexnow: NO_SCORE, feed: NO_SCORE }, days: [] },
  };
}
