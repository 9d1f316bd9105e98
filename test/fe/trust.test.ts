import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { trustKept } from '../../src/fe/trust.js';
import { certify } from '../support/certify.js';
import { ManualClock } from '../support/manual-clock.js';

it('certificates of connections to UNSes are read again after a second, and after a failure at once', () => {
  const clock = new ManualClock();
  let reads = 0;
  let isBad = false;
  const trust = trustKept(() => {
    reads++;
    if (isBad) throw new Error('no certificate');
    return {};
  }, clock);
  const first = trust();
  assert.ok(first.secureContext);
  clock.advance(999);
  assert.equal(trust(), first);
  assert.equal(reads, 1);
  clock.advance(1);
  isBad = true;
  assert.throws(trust, /no certificate/);
  isBad = false;
  trust();
  assert.equal(reads, 3);
});

it('certificates that are the same as before leave sessions as they are; others end them', () => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-trust-'));
  const read = () => {
    const [cert, key, ca] = certify(dir, ['127.0.0.1']).map(file => readFileSync(file));
    return { ca, ...(cert && { cert }), ...(key && { key }) };
  };
  const clock = new ManualClock();
  let files = read();
  const trust = trustKept(() => files, clock);
  const first = trust();
  clock.advance(1000);
  assert.equal(trust(), first);
  files = read();
  clock.advance(1000);
  assert.notEqual(trust(), first);
  rmSync(dir, { recursive: true });
});
