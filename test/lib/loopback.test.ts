import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLoopback } from '../../src/lib/loopback.js';

test('a host is this machine by its name, or by an address of the loopback however it is written', () => {
  for (const host of [
    'localhost',
    '127.0.0.1',
    '127.255.255.254',
    '::1',
    '[::1]',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
  ])
    assert.ok(isLoopback(host), host);
  for (const host of [
    '',
    '127.999.0.1',
    '127.0.0.1.example.org',
    '127.1',
    'localhost.example.org',
    '128.0.0.1',
    '0.0.0.0',
    '::',
    '::2',
    '::ffff:10.0.0.1',
  ])
    assert.ok(!isLoopback(host), host);
});
