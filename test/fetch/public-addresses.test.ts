import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAddressGuard } from '../../src/fetch/public-addresses.js';

const PUBLIC = [
  '1.1.1.1',
  '93.184.216.34',
  '172.15.255.255',
  '172.32.0.0',
  '2606:4700:4700::1111',
  '2a00:1450:4001::1',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
  '2002:808:808::1',
];

const REFUSED = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:0:127.0.0.1',
  '64:ff9b::127.0.0.1',
  '64:ff9b::a00:1',
  '64:ff9b:1::8.8.8.8',
  '100::1',
  '2001::1',
  '2001:0:808:808::f5ff:fffe',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002:7f00:1::1',
  '2002:c0a8:1::1',
  '3fff::1',
  '4000::1',
  '5f00::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%lo',
  'fec0::1',
  'ff02::1',
  '',
  'localhost',
  '127.1',
  '1.2.3.4.5',
];

describe('the address guard', () => {
  const permits = createAddressGuard([]);
  for (const address of PUBLIC) it(`permits ${address}`, () => assert.equal(permits(address), true));
  for (const address of REFUSED)
    it(`refuses ${JSON.stringify(address)}`, () => assert.equal(permits(address), false));

  it('permits what the operator allows, and nothing beside it', () => {
    const allows = createAddressGuard(['127.0.0.0/8', 'fd00::/8', '192.168.7.7']);
    assert.equal(allows('127.9.9.9'), true);
    assert.equal(allows('::ffff:127.0.0.1'), true);
    assert.equal(allows('fd12::1'), true);
    assert.equal(allows('192.168.7.7'), true);
    assert.equal(allows('192.168.7.8'), false);
    assert.equal(allows('::1'), false);
  });

  it('names a network it cannot read', () => {
    assert.throws(() => createAddressGuard(['10.0.0.0/40']), /network "10\.0\.0\.0\/40"/);
  });
});
