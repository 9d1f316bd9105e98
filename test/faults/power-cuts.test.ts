import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noDisk, type FileSystem } from '../support/disk.js';
import { powerRun } from './power-cuts.js';

const setting = (name: string, otherwise: number) => Number(process.env[`LCC_TEST_${name}`] ?? otherwise);
const CUTS = setting('CUTS', 4);
const PAGES = setting('PAGES', 40);
const FILE_SYSTEMS: readonly FileSystem[] = ['ext4', 'xfs'];

/** Durable steps of the line from the UNS to the LCC DB. */
const STEPS = [
  'uns.spool.synced',
  'uns.spool.dirsynced',
  'uns.accepted',
  'uns.spool.removed',
  'qm.slice.committed',
  'qm.set.complete',
  'qm.acked',
  'qm.result.committed',
  'qm.synced.noted',
  'qm.refetch.committed',
  'bm.store.synced',
  'bm.names.reserved',
  'bm.names.noted',
  'bm.deletions.acknowledged',
  'bm.files.unlinked',
  'bm.names.freed',
  'fetch.file.placed',
];

describe('power cuts lose nothing that was acknowledged', () => {
  for (const type of FILE_SYSTEMS) {
    it(`${CUTS} at random moments and at durable steps, on ${type}`, { skip: noDisk(type) }, async t => {
      const figures = await powerRun({
        type,
        cuts: CUTS,
        pages: PAGES,
        seed: setting('SEED', 1),
        steps: STEPS,
      });
      const { lost, wrong, revived, ...counted } = figures;
      t.diagnostic(JSON.stringify(counted));
      assert.deepEqual({ lost, wrong, revived }, { lost: [], wrong: [], revived: [] });
      assert.ok(figures.cuts >= CUTS && figures.accepted > 0);
      // What was being fetched leaves files that no row points to; nothing else may be amiss.
      const { orphan: _orphan, leftover: _leftover, ...amiss } = figures.found;
      assert.deepEqual(amiss, {});
      assert.equal(figures.left, '', 'lccfsck finds nothing the second time');
    });
  }
});
