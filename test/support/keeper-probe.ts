/** A keeper of one database with a folder as its engine, in a process of its own: `keeper-probe.js PATH FOLDER EPOCH`. */
import type { KeptName } from '../../src/config/kept.js';
import { HomeCopy } from '../../src/keep/copy.js';
import { Shipper } from '../../src/keep/shipper.js';
import { setAside, standingOf } from '../../src/keep/standing.js';
import { systemClock as clock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { FolderLedger } from './folder-ledger.js';

const [path = '', folder = '', epoch = ''] = process.argv.slice(2);
const name: KeptName = 'lcc';
const LOSSES = Number(process.env['LCC_TEST_LOSSES'] ?? 0);

export interface KeeperFigures {
  unshippedBytes: number;
  isComplete: boolean;
  shippedBytes: number;
  shipments: number;
}

export type FromKeeper =
  | { began: string }
  | { shipped: number }
  | { ended: true }
  | { warning: string }
  | { lost: string }
  | { figures: KeeperFigures };
export type ToKeeper = { ask: number } | 'end' | 'figures';

const say = (said: FromKeeper) => process.send?.(said);
const machine = 'h1.example.org';
const ledger = new FolderLedger(folder, () => Math.random() < LOSSES);
const stop = new AbortController();
const never = new AbortController().signal;
const log = { ...silentLog, warn: (warning: string) => void say({ warning }) };

async function begun(): Promise<Shipper> {
  const stateNow = async () => {
    const state = await ledger.state(name);
    if (state === undefined) throw new Error('no engine');
    return state;
  };
  let standing = standingOf(path, await stateNow(), machine);
  say({ began: standing });
  if (standing === 'other') {
    setAside(path, clock.nowMs());
    await new HomeCopy({ name, path, ledger, clock }).finish(never);
    standing = standingOf(path, await stateNow(), machine);
  }
  if (standing === 'other') throw new Error('the copy is not what the engine has');
  return new Shipper(
    { name, path, ledger, epoch: Number(epoch), machine, clock, log },
    await stateNow(),
    standing,
  );
}

const shipper = await begun();
const running = shipper.run(stop.signal).catch((error: unknown) => {
  say({ lost: String(error) });
  shipper.close();
});
process.on('message', (told: ToKeeper) => void answer(told));
process.on('disconnect', () => process.exit(1));

async function answer(told: ToKeeper): Promise<void> {
  if (told === 'figures') {
    const { unshippedBytes, isComplete, figures } = shipper;
    say({ figures: { unshippedBytes, isComplete, ...figures } });
  } else if (told === 'end') {
    stop.abort();
    await running;
    await shipper.end(never);
    process.send?.({ ended: true } satisfies FromKeeper, () => process.exit(0));
  } else
    await shipper.shipped().then(
      () => say({ shipped: told.ask }),
      () => undefined,
    );
}
