/** lccd-rs put together of its parts, each in a file of `start/`. */
import { endpointsToListen } from '../daemon/listen-all.js';
import { startLocked } from '../daemon/locked.js';
import type { Running, Services } from '../daemon/types.js';
import { RsDatabase } from '../db/rs/database.js';
import type { PushStore } from '../db/rs/push.js';
import type { Marks } from '../db/sqlite/marks.js';
import { makeDirectoryDurably } from '../lib/durable.js';
import { isPassing, LccError } from '../lib/errors.js';
import { step } from '../lib/steps.js';
import { logAudit } from './audit-log.js';
import type { RsStatus } from './figures.js';
import { RsGate } from './gate.js';
import { operatorEndpoints } from './operator/endpoints.js';
import { rsOptions } from './options.js';
import { coreOf, type RsCore } from './start/core.js';
import { openDoors } from './start/doors.js';
import { startUpkeep } from './start/upkeep.js';

/** Where applicants connect when an endpoint names no port. */
export const DEFAULT_RS_PORT = 9080;
/**
 * @throws LccError `usage` where no endpoint is given, `config` without rs.url; `peer.unavailable` when
 *   another lccd-rs has the database; as RsDatabase.open
 */
export async function startRs(services: Services): Promise<Running> {
  const { home, settings, log } = services;
  const endpoints = endpointsToListen('rs.listen', settings.rs.listen, DEFAULT_RS_PORT);
  const operatorAt = operatorEndpoints(settings.rs.operatorListen);
  const options = rsOptions(services);
  if (options.url === '')
    throw new LccError('config', 'rs.url is missing: the public address of the Registration Server');
  makeDirectoryDurably(home.rs, 0o750);
  return startLocked(options.lockPath, log, async () => {
    const db = RsDatabase.open(options.path);
    const old = db.wentBack();
    if (old !== undefined) log.error(old, { path: options.path });
    const kept = services.kept();
    const gate = new RsGate(kept, services.clock);
    if (kept.isKept) db.leaveLog();
    const marks = marksOf(db, services);
    const logged = logAudit(db, log);
    db.onCommit = () => {
      marks.committed();
      gate.committed();
      logged();
    };
    const core = coreOf(services, options, db, gate);
    const doors = await openDoors(services, core, endpoints, operatorAt);
    const { sender, registrar, mail, feeds, push, refusals } = core;
    push.stir();
    void core.keys.begin().catch(core.fail);
    const at = { kind: 'unix', path: options.qmSocket } as const;
    const peer = services.connect(at, each => sender.serve(each), 'Queue Manager');
    const endUpkeep = startUpkeep(core, logged, () => doors.tidy());
    return {
      status: () => statusOf(core, doors),
      async stop() {
        endUpkeep();
        await doors.close();
        push.stop();
        refusals.flush();
        await registrar.idle();
        await mail.stop();
        feeds.polling.stop();
        peer.close();
        sender.stop();
        marks.stop();
        db.close();
      },
    };
  });
}

/** Marks of how far the database has come, as beside lcc.db. */
function marksOf(db: RsDatabase, services: Services): Marks {
  const { clock, log } = services;
  const failed = (error: unknown) => {
    if (!isPassing(error)) services.fail(error);
    return isPassing(error);
  };
  const marks = db.newMarks({ clock, log, failed, noted: () => step('rs.mark.noted') });
  marks.start();
  return marks;
}

function statusOf(
  { db, registrar, room, sender, mail, push }: RsCore,
  { listens, feedCounts }: Pick<Awaited<ReturnType<typeof openDoors>>, 'listens' | 'feedCounts'>,
): RsStatus {
  const { registrations, outbox } = db;
  const { counted } = db.push;
  const waiting = outbox.count();
  const { feeds = 0, failing = 0 } = db.feeds.counts() ?? {};
  return {
    idle: registrar.checking === 0 && push.isIdle && (waiting === 0 || !sender.isConnected),
    qm_connected: sender.isConnected,
    operations_later: sender.later ?? null,
    pairs_open: registrations.open(),
    checks: registrar.checking,
    sites_waiting: registrations.count('waiting'),
    sites_applying: registrations.count('applying'),
    operations_waiting: waiting,
    registered: db.providers.count(),
    mails_waiting: db.mails.size(),
    pushes_waiting: db.push.waiting(),
    pushes_taken: sumOf(counted, 'sent'),
    pushes_refused: sumOf(counted, 'refused'),
    push_due_ms: db.push.nextDueMs() ?? null,
    push_trouble: push.trouble ?? null,
    mail_trouble: mail.trouble ?? null,
    no_room: room.shortage ?? null,
    feeds,
    feeds_failing: failing,
    hub_pushes: feedCounts.pushes,
    hub_pushes_unsigned: feedCounts.unsigned,
    listens,
  };
}

function sumOf(counted: PushStore['counted'], what: 'sent' | 'refused'): number {
  return Object.values(counted).reduce((sum, one) => sum + one[what], 0);
}
