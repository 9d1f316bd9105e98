/** Pages whose path can be written in several ways, which RFC 3986 calls the same and caches keep apart. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { railOf } from '../db/clear/support.js';
import { newFleet, newScene } from './scene.js';

it('clears a page in each way to write its path on caches, which keep them apart, and once on rails with files', async () => {
  const db = newFleet();
  db.rails.add(railOf('cache', 'us', { driver: 'varnish' }), 1000);
  const answers = (_rail: string, url: string) => (url === '/a%7Eb' ? undefined : 'done');
  const scene = newScene({ answers }, db);
  scene.request('a~b', 'plain');
  await scene.pass();
  assert.deepEqual(scene.sent.filter(line => !line.endsWith('/plain')).toSorted(), [
    'cache /a%7Eb',
    'cache /a%7eb',
    'cache /a~b',
    'eu1 /a~b',
    'us1 /a~b',
    'us2 /a~b',
  ]);
  assert.equal(scene.sent.filter(line => line === 'cache /plain').length, 1);
  assert.deepEqual(scene.left(), ['a~b'], 'one of them is not answered');
  scene.answer('done');
  await scene.pass();
  assert.deepEqual(scene.left(), []);
});
