/** Urls that may be sent, for all that the model knows. */
import assert from 'node:assert/strict';
import type { Provider, Row } from './model.js';
import type { Scene } from './scene.js';
import { LOOK_MS } from './world.js';

/** A url that may be sent, room for it, and nothing is done: that is a queue that hangs. */
export function checkNobodyWaits(scene: Scene): void {
  const { model, world } = scene;
  const room = world.bms.some(bm => bm.lanes().size < scene.capacityOf(bm));
  if (!room) return;
  for (const provider of model.providers.values()) {
    const row = waitsFor(scene, provider);
    assert.equal(row?.key, undefined, `${provider.pid}: it may be sent, a slot is free, and it waits`);
  }
}

/** A url of a higher priority, to which a slot that is given to the provider belongs. */
export function comesBefore(scene: Scene, pid: number): Row | undefined {
  const { model } = scene;
  const higher = [...model.providers.values()].filter(one => one.priority > model.provider(pid).priority);
  return higher.map(one => waitsFor(scene, one)).find(row => row !== undefined);
}

/** A url of the provider that may be sent as soon as there is a slot. */
function waitsFor(scene: Scene, { pid, parallel, failures, untilMs, saved }: Provider): Row | undefined {
  const { model, world, now, hour, soon } = scene;
  // A delay is written down in whole seconds, and is longer when the wall clock was set back since.
  if (untilMs > now.ms || saved.untilWallMs + 1000 > now.wallMs) return undefined;
  const lanes = world.bms.reduce(
    (sum, bm) => sum + [...bm.lanes()].filter(l => Number.parseInt(l) === pid).length,
    0,
  );
  if (lanes >= parallel || (failures > 0 && lanes > 0)) return undefined;
  return model.rows.find(
    r => r.pid === pid && isItsTurn(scene, r) && model.refusal(r, now.ms, hour, soon) === undefined,
  );
}

/** Urls that failed are tried again together, when the last of them is due and nothing else of their set is out. */
function isItsTurn(scene: Scene, row: Row): boolean {
  const { pid, tries, set, passed } = row;
  const { model, world, now, failedDueMs, isHourEnding, hourSinceMs } = scene;
  // It is noticed within a minute that the hour of a url has come, and a moment before that it ends.
  const isSure = !isHourEnding && now.ms - hourSinceMs > LOOK_MS;
  const hasHours =
    model.provider(pid).mask !== '' || model.rows.some(r => r.pid === pid && r.tod !== undefined);
  if (hasHours && !isSure) return false;
  if (tries === 0) return !passed;
  return (
    now.ms >= failedDueMs &&
    // One with hours of its own may just have been passed over.
    !model.rows.some(r => r.set === set && (r.out || r.tod !== undefined)) &&
    !world.requests().some(r => r.row.set === set) &&
    // A full set may have removed what is still to be settled.
    !scene.isArriving(set)
  );
}
