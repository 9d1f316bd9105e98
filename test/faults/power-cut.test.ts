/** A power cut of a whole LCC: what was accepted and what was absorbed is fetched afterwards. More of them: safeguards.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noDisk } from '../support/disk.js';
import { absorbed, accepted, ALL_STORED, HOUR_MS, outcomeOf } from './safeguards.js';

describe('a power cut', { skip: noDisk('ext4') }, () => {
  it('loses nothing that a UNS has accepted', async () => {
    assert.deepEqual((await outcomeOf('ext4', HOUR_MS, {}, accepted)).verdict, ALL_STORED);
  });

  it('loses nothing that the Queue Manager has absorbed', async () => {
    assert.deepEqual((await outcomeOf('ext4', HOUR_MS, {}, absorbed)).verdict, ALL_STORED);
  });
});
