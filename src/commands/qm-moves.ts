/** The part of moves that is not the Queue Manager's: the engine, and copies of other homes' databases. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Services } from '../daemon/types.js';
import { EngineLedger } from '../db/engine/engine-ledger.js';
import { Engine } from '../db/engine/engine.js';
import { EngineMoves, type Move } from '../db/engine/moves.js';
import { engineAccount } from '../db/engine/nodes.js';
import type { ToPack } from '../db/moves/pack-thread.js';
import { HomeCopy } from '../keep/copy.js';
import { stayFor } from '../lib/clock.js';
import { LccError } from '../lib/errors.js';
import { silentLog } from '../lib/log.js';
import { Thread, threadFile } from '../lib/thread.js';
import type { MovesElsewhere } from '../qm/moves/mover.js';

const LAG_MS = 100;

/** Undefined without an engine: an LCC that is one home moves nobody. */
export function movesOf({ settings, clock }: Services): MovesElsewhere | undefined {
  if (settings.store.url === '') return undefined;
  // The keeper reports an engine that is away.
  const engine = new Engine(engineAccount(settings.store), { clock, log: silentLog });
  const ledgerOf = (shard: number) => new EngineLedger(engine, shard);
  return {
    book: new EngineMoves(engine),
    async shipped(shard, stop) {
      return (await ledgerOf(shard).state('lcc', stop))?.n ?? 0;
    },
    async pack({ pid, src, n }: Move, file, stop) {
      const dir = mkdtempSync(`${file}-`);
      const path = join(dir, 'lcc.db');
      const copy = new HomeCopy({ name: 'lcc', path, ledger: ledgerOf(src), clock });
      try {
        // The node that is asked may lag behind.
        for (let state = await copy.follow(stop); (state?.n ?? 0) < n; state = await copy.follow(stop))
          await stayFor(clock, LAG_MS, stop);
        await copy.finish(stop);
        await packed({ from: path, to: file, pid, src });
      } finally {
        copy.close();
        rmSync(dir, { recursive: true, force: true });
      }
    },
  };
}

function packed(what: ToPack): Promise<void> {
  return new Promise((resolve, reject) => {
    const thread = new Thread<ToPack, void>({
      script: threadFile('pack-worker.cjs'),
      answered() {
        thread.stop();
        resolve();
      },
      lost: ({ message }) =>
        reject(new LccError('try.later', `provider ${what.pid} is not packed: ${message}`)),
    });
    thread.ask(what);
  });
}
