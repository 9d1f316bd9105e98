/** The real Queue Manager is killed while it carries out what was decided about content; the end must be the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileIdOf } from '../../src/db/names/naming.js';
import type { FetchRequest, FetchResult } from '../../src/wire/fetch.js';
import { leavesTheSame, type KillEnv } from '../support/kills.js';
import { Bm, Qm, setText, Uns } from '../support/queue-manager.js';
import { ok, url } from '../qm/support.js';

const pages = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => url(`p${from + i}`));
const deletes = (from: number, to: number) => pages(from, to).map(one => ({ ...one, op: 'delete' }));
const fetched = (request: FetchRequest): FetchResult => ({
  ...ok(request.url),
  id: request.id,
  fileId: fileIdOf({ id: request.id, gen: 0 }),
});

interface Work {
  qm: Qm;
  send: (text: string) => Promise<void>;
  tell: (line: string) => Promise<void>;
  /** Waits for the status; starts the Queue Manager again when it dies. */
  until: (condition: (status: Record<string, unknown>) => boolean) => Promise<void>;
  /** The same for a row of the database. */
  untilRow: (sql: string) => Promise<void>;
}

const idle = (status: Record<string, unknown>) => status['idle'] === true && status['freed_waiting'] === 0;

/** Does the work on a Queue Manager that dies once. @returns what is left */
async function survive(toml: string, env: KillEnv, work: (work: Work) => Promise<void>) {
  const qm = new Qm(toml);
  let deaths = 0;
  let uns: Uns;
  const start = async () => {
    await qm.start(env);
    uns = new Uns(qm);
    new Bm(qm).onFetch = fetched;
  };
  const persist = async (attempt: () => Promise<boolean>) => {
    while (!(await attempt().catch(() => false))) {
      assert.equal(await qm.ended(), 'SIGKILL');
      deaths++;
      await start();
    }
  };
  const done = (attempt: () => Promise<unknown>) => persist(() => attempt().then(() => true));
  try {
    await start();
    await work({
      qm,
      send: text =>
        persist(() => {
          uns.socket.write(text);
          return uns.hear(/<lococa:absorbed /);
        }),
      tell: line => done(() => qm.control(line)),
      until: condition => done(() => qm.until(condition)),
      untilRow: sql => done(() => qm.until(() => qm.rows(sql).length > 0)),
    });
    await qm.kill('SIGTERM');
    assert.equal(deaths, Object.keys(env).length === 0 ? 0 : 1);
    return [
      'SELECT curl FROM lccurl ORDER BY curl',
      'SELECT pid, code FROM pierr ORDER BY errseq',
      'SELECT pid, filesused, spaceused, nurlproc, nurlerrs, fullsetwanted FROM pidb',
      'SELECT curl FROM tombstone ORDER BY curl',
      'SELECT * FROM held',
      'SELECT * FROM helddelete',
      'SELECT * FROM freed',
    ].map(sql => qm.rows(sql));
  } finally {
    await qm.close();
  }
}

const compare = (toml: string, steps: readonly string[], work: (work: Work) => Promise<void>) =>
  leavesTheSame(steps, env => survive(toml, env, work));

test('killed while held removals are judged, released and discarded, it ends where it would have ended', async () => {
  const left = await compare(
    '[qm]\nslice_urls = 4\nfuse_urls = 5\nfuse_percent = 20\n',
    [
      'qm.reconcile.committed',
      'qm.held.removed',
      'qm.held.removed:4',
      'qm.held.forgotten',
      'qm.held.forgotten:2',
    ],
    async ({ send, tell, until }) => {
      await send(setText('e1', pages(0, 30)));
      await until(idle);
      await send(setText('e2', deletes(0, 12), { deletes: 12, digest: 'a' }));
      await send(setText('e3', deletes(20, 30), { deletes: 10, digest: 'b', pid: 8 }));
      await send(setText('e4', deletes(12, 24), { deletes: 12, digest: 'c' }));
      await send(setText('e5', deletes(12, 24), { deletes: 12, digest: 'c' }));
      await tell('release 7');
      await until(idle);
      await until(status => status['held_sets'] === 0);
      await send(setText('e6', [], { set: 'full', digest: 'd' }));
      await until(status => status['held_sets'] === 1);
      await tell('discard');
      await send(setText('e7', pages(24, 25), { digest: 'e' }));
      await until(idle);
    },
  );
  assert.deepEqual(
    left[0],
    pages(24, 30).map(({ curl }) => ({ curl: `http://127.0.0.1/${curl}` })),
  );
  assert.equal(left[1]?.length, 3);
});

test('killed while content expires, it lets go of all of it, once', async () => {
  const left = await compare(
    '[qm]\nold_files_ms = 0\nexpire_ms = 1000\n',
    ['qm.expired.committed'],
    async ({ send, until, untilRow }) => {
      await send(setText('e1', pages(0, 3)));
      await untilRow(
        `SELECT 1 FROM pidb WHERE pid = 7 AND fullsetwanted IS NOT NULL AND filesused = 0
           AND (SELECT count(*) FROM tombstone) = 3`,
      );
      await until(idle);
    },
  );
  assert.equal(left[3]?.length, 3);
});

test('killed when it has asked a silent provider for a full set, it has asked', async () => {
  await compare('[qm]\nold_files_ms = 1000\n', ['qm.wanted.noted'], async ({ send, untilRow, until }) => {
    await send(setText('e1', pages(0, 3)));
    await until(idle);
    await untilRow("SELECT 1 FROM pidb WHERE pid = 7 AND fullsetwanted = 'old files'");
  });
});
