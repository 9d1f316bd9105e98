/** Common ground of the doors of lccd-rs: Queue Manager, UNS, registrations, accounts, mail, sessions. */
import type { Services } from '../../daemon/types.js';
import type { RsDatabase } from '../../db/rs/database.js';
import type { RsQuestion } from '../../wire/qm-rs.js';
import { Account } from '../account.js';
import type { RsGate } from '../gate.js';
import { shownBy } from '../ground.js';
import { healthOf } from '../health.js';
import { mailServerOf } from '../mail/options.js';
import { handOver } from '../mail/server.js';
import { RunningMail } from '../mail/start.js';
import { type RsOptions, urlBelow } from '../options.js';
import { lookAtKey } from '../indexnow/key-file.js';
import { Keys } from '../indexnow/key-standing.js';
import { HomeRoutes } from '../homes/routes.js';
import { HomeSenders } from '../homes/senders.js';
import { UnsPlaces } from '../homes/uns-places.js';
import { OutboxSender, type OutboxSenderOptions } from '../outbox-sender.js';
import { PushDelivery } from '../push/delivery.js';
import { PushRefusals } from '../push/refusals.js';
import { PushTargets } from '../push/targets.js';
import { Registrar } from '../registrar.js';
import { RsRoom } from '../room.js';
import { WebSessions } from '../sessions.js';
import { Transitions } from '../transitions.js';
import { UnsDoor } from '../uns-door.js';
import { join } from 'node:path';
import { FeedBook, type FeedBookOptions } from '../feeds/book.js';
import { HubClient, hubKey } from '../feeds/hub.js';
import { FeedPolling, type FeedPollingOptions } from '../feeds/polling.js';
import { FeedThread } from '../feeds/feed-thread.js';
import { doorOfHome } from '../../config/cluster.js';
import { trustOf } from '../../daemon/machines.js';
import { Engine } from '../../db/engine/engine.js';
import { ProviderMap } from '../../db/engine/map.js';
import { engineAccount } from '../../db/engine/nodes.js';
import { LccError } from '../../lib/errors.js';
import { HomePeers } from '../homes/peers.js';

/** A request waits so long for an answer of the Queue Manager. */
const PATIENCE_MS = 3000;

export type RsCore = ReturnType<typeof coreOf>;

/** Ends what a killed process has begun; nothing is sent or asked before the connection is there. */
export function coreOf(services: Services, options: RsOptions, db: RsDatabase, gate: RsGate) {
  const { home, settings, clock, log } = services;
  const fail = (error: unknown) => services.fail(error);
  const nowMs = () => clock.nowMs();
  const transitions = new Transitions(db, nowMs, options.slots);
  transitions.putBack();
  const ask = (question: RsQuestion) => sender.ask(question);
  const ground = {
    db,
    options,
    clock,
    log,
    fail,
    nowMs,
    ask,
    show: async (pid: number) => (await shownBy(ask, pid)) ?? undefined,
    applied: () => sender.stir(),
    room: new RsRoom(db, options.room),
    transitions,
    leaves: () => gate.leaves(),
  };
  const sending: OutboxSenderOptions = {
    ...ground,
    ...options.qm,
    answered(operation, answer) {
      transitions.settle(operation, answer, options.firstPid);
      account.settled(operation, answer);
      mail.stir();
    },
  };
  const homes = homesOf(services);
  const routes = homes && new HomeRoutes(homes);
  const sender = homes && routes ? new HomeSenders(sending, homes, routes) : new OutboxSender(sending);
  const places = new UnsPlaces(
    { look: { kind: 'unix', path: options.unsDoor.path }, push: options.push.door.door },
    homes,
    routes,
  );
  const door = new UnsDoor({ ...options.unsDoor, placeOf: pid => places.look(pid), clock, ask });
  const server = mailServerOf(settings.rs);
  const mail = new RunningMail({
    ...ground,
    options: options.mail,
    handOver: server && (letter => handOver(letter, server)),
  });
  const registrar = new Registrar({ ...ground, mailing: mail.mailing });
  const account = new Account({ ...ground, registrar, door, patienceMs: PATIENCE_MS });
  const sessions = new WebSessions(db, nowMs, options.sessions);
  const push = new PushDelivery({ ...ground, ...options.push, placesOf: pids => places.push(pids) });
  const targets = new PushTargets(ground);
  const refusals = new PushRefusals(ground);
  const stir = () => push.stir();
  const keys = new Keys({
    ...ground,
    look: name => lookAtKey(name, { fetch: { ...options.proof, clock }, site: options.site }),
    isProviders: async host => ((await targets.around(host)) ?? []).length > 0,
    stir,
  });
  const feeds = feedsOf(home, {
    ...ground,
    targetOf: pid => targets.of(pid),
    pushed: stir,
  });
  const health = healthOf({ ...ground, door });
  return {
    ...ground,
    gate,
    homes,
    sender,
    door,
    mail,
    registrar,
    account,
    sessions,
    feeds,
    health,
    push,
    targets,
    refusals,
    keys,
  };
}

function feedsOf(
  home: Services['home'],
  ground: Omit<FeedPollingOptions, 'reader' | 'hubs' | 'site' | 'ports'> &
    Omit<FeedBookOptions, 'options'> & { options: RsOptions },
) {
  const { options, clock } = ground;
  const { userAgent, allowAddresses, ports } = options.proof;
  const key = hubKey(join(home.rs, 'websub.key'));
  const asked = { ...ground, site: { clock, userAgent, allowAddresses }, ports };
  const hubs = new HubClient({ ...asked, key, callbacks: urlBelow(options.url, 'websub/') });
  const polling = new FeedPolling({ ...asked, reader: new FeedThread(clock), hubs });
  const book = new FeedBook({ ...ground, changed: () => polling.stir() });
  return { key, polling, book };
}

/** Undefined: this home is the whole LCC. @throws LccError `config` where another home registers */
function homesOf(services: Services): HomePeers | undefined {
  const { clock, log } = services;
  const { store, cluster } = services.settings;
  if (store.url === '') return undefined;
  if (cluster.shard !== 0)
    throw new LccError(
      'config',
      `registration is of home 0, this is home ${cluster.shard}: leave out [rs] listen here`,
    );
  const engine = new Engine(engineAccount(store), { clock, log });
  return new HomePeers({
    map: new ProviderMap(engine),
    own: cluster.shard,
    doorOf: (owner, shard, door) => doorOfHome(cluster, { owner, shard }, door),
    trust: () => trustOf(services.settings.net),
    connect: (to, onConnect, role) => services.connect(to, onConnect, role),
    clock,
    log,
    fail: error => services.fail(error),
    closed: () => engine.close(),
  });
}
