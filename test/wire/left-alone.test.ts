import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FetchFailed } from '../../src/wire/fetch.js';
import { ownerOf, patienceOf, Stops } from '../../src/wire/left-alone.js';

const failed = (code: number, retryAfterMs?: number): FetchFailed => ({
  id: 1,
  status: 'error',
  code,
  message: '',
  reach: 'url',
  wireBytes: 0,
  elapsedMs: 0,
  ...(retryAfterMs === undefined ? undefined : { retryAfterMs }),
});

describe('the stops of lanes', () => {
  it('reach all lanes of a provider, until one of them is recalled or the time is over', () => {
    const stops = new Stops();
    assert.equal(stops.heard('7.1', failed(429, 5000), 1000), true);
    for (const lane of ['7', '7.1', '7.20']) assert.equal(stops.includes(lane, 5999), true, lane);
    for (const lane of ['70', '71.1', '', 'a']) assert.equal(stops.includes(lane, 1000), false, lane);
    assert.equal(stops.includes('7', 6000), false);
    stops.recalled('7.3');
    assert.equal(stops.includes('7', 1000), false);
  });

  it('keep the longer of two times', () => {
    const stops = new Stops();
    stops.heard('7', failed(503, 5000), 0);
    stops.heard('7.1', failed(503, 10), 1);
    assert.equal(stops.includes('7', 4999), true);
  });

  it('are made by what a site asks for only, not by a store without room', () => {
    const stops = new Stops();
    for (const result of [failed(429), failed(503, 0), failed(613, 30_000)]) {
      assert.equal(stops.heard('7', result, 0), false);
      assert.equal(patienceOf(result), 0);
    }
    assert.equal(patienceOf({ id: 1, status: 'recalled' }), 0);
    assert.equal(stops.includes('7', 0), false);
  });

  it('are bounded in number', () => {
    const stops = new Stops();
    for (let pid = 0; pid < 10_001; pid++) stops.heard(String(pid), failed(429, 1000), 0);
    assert.equal(stops.includes('0', 0), false);
    assert.equal(stops.includes('10000', 0), true);
  });

  it('name the owner of a lane by what stands before its first dot', () => {
    assert.deepEqual(['7', '7.0', 'a.b.c', '.x', ''].map(ownerOf), ['7', '7', 'a', '', '']);
  });
});
