/** Deletions on their way to machines, and machines that go away in between. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deletions } from '../../src/qm/deletions.js';
import { MachineErrands, type MachinePeer } from '../../src/qm/machine-errands.js';
import type { DeleteRequest } from '../../src/wire/fetch.js';
import { Bench } from './support.js';

/** A Bot Manager that notes what it is asked. */
function target(): MachinePeer & { asked: DeleteRequest[] } {
  const asked: DeleteRequest[] = [];
  return { asked, delete: request => void asked.push(request), upkeep: () => assert.fail('no deletion') };
}

/** The deletions of these files, as `(machineid, fileid)` in SQL; and the ids of those that are done. */
function deleting(freed: string): { errands: MachineErrands; gone: number[]; close: () => void } {
  const bench = new Bench();
  bench.db.exec(`INSERT INTO freed(machineid, fileid) VALUES ${freed}`);
  let id = 0;
  const gone: number[] = [];
  const errands = new MachineErrands(() => ++id);
  const deletions = new Deletions(bench.store.freed, errands, fid => void gone.push(fid));
  deletions.pump();
  return { errands, gone, close: () => bench.close() };
}

const filesOf = (asked: readonly DeleteRequest[]) =>
  asked.map(({ machineId, fileId }) => `${machineId}/${fileId}`);

test('a machine that is away below a relay is asked again when the relay names it again, and no other twice', () => {
  const { errands, gone, close } = deleting("('m1', 'a'), ('m2', 'b'), ('m2', 'c')");
  const relay = target();
  errands.setMachines(relay, ['m1', 'm2']);
  assert.deepEqual(filesOf(relay.asked).sort(), ['m1/a', 'm2/b', 'm2/c']);
  for (const request of relay.asked.splice(0))
    assert.ok(
      errands.answered(relay, 'delete', {
        id: request.id,
        status: request.machineId === 'm1' ? 'ok' : 'away',
      }),
    );
  assert.equal(gone.length, 1);
  assert.ok(!errands.reaches('m2'));
  errands.setMachines(relay, ['m1']);
  assert.deepEqual(relay.asked, []);
  errands.setMachines(relay, ['m1', 'm2']);
  assert.deepEqual(filesOf(relay.asked), ['m2/b', 'm2/c']);
  close();
});

test('what was asked over a connection that is lost is asked over the next, and an answer that comes late counts for nothing', () => {
  const { errands, gone, close } = deleting("('m1', 'a')");
  const [before, after] = [target(), target()];
  errands.setMachines(before, ['m1']);
  errands.removePeer(before);
  errands.setMachines(after, ['m1']);
  assert.deepEqual(filesOf(after.asked), ['m1/a']);
  const [first, second] = [before.asked[0]?.id ?? 0, after.asked[0]?.id ?? 0];
  assert.equal(errands.answered(before, 'delete', { id: first, status: 'ok' }), false);
  assert.equal(errands.answered(before, 'delete', { id: second, status: 'ok' }), false, 'it was not asked');
  assert.equal(errands.answered(after, 'check', { id: second, status: 'ok' }), false, 'nor for a check');
  assert.deepEqual(gone, []);
  assert.equal(errands.answered(after, 'delete', { id: second, status: 'ok' }), true);
  assert.equal(gone.length, 1);
  close();
});
