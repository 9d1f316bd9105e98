import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withHost } from '../../src/clear/engine.js';

test('a rail is asked for the host that it is set up with, and for that of its url where there is none', () => {
  assert.deepEqual(withHost('www.example.org', ['x-key', 'k']), ['host', 'www.example.org', 'x-key', 'k']);
  assert.deepEqual(withHost('www.example.org'), ['host', 'www.example.org']);
  assert.deepEqual(withHost(null, ['x-key', 'k']), ['x-key', 'k']);
});

test('a host in the template of a rail wins; a value that reads host is none', () => {
  assert.deepEqual(withHost('www', ['host', 'cdn']), ['host', 'cdn']);
  assert.deepEqual(withHost('www', ['x-key', 'host']), ['host', 'www', 'x-key', 'host']);
});
