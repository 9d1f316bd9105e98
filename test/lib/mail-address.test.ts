import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mailboxOf, maskedAddress, readMailAddress } from '../../src/lib/mail-address.js';

test('an address is a name of atoms and a domain of labels, in ASCII', () => {
  for (const good of ["o'neil.x+tag_1@sub.example.org", 'a@localhost', `${'n'.repeat(64)}@a.example`])
    assert.equal(readMailAddress(good), good);
  assert.equal(readMailAddress('Ann@EXAMPLE.org'), 'Ann@example.org');
});

test('whatever else RFC 5322 and mail servers have known is none', () => {
  const bad = [
    '',
    'nobody',
    '@example.org',
    'a@',
    'a b@example.org',
    'a@example..org',
    'a@-example.org',
    'a@example.org.',
    '.a@example.org',
    'a..b@example.org',
    '-oQ/tmp@example.org',
    '"a b"@example.org',
    'a@[127.0.0.1]',
    'a@127.0.0.1',
    'a%b@example.org',
    'a!b@example.org',
    '|sh@example.org',
    '/etc/x@example.org',
    'a(x)@example.org',
    '<a@example.org>',
    'A <a@example.org>',
    'a@example.org, b@example.org',
    'a@example.org\r\nBcc: b@example.org',
    'a@example.org\n',
    'a\u0000@example.org',
    'ä@example.org',
    'a@exämple.org',
    `${'n'.repeat(65)}@example.org`,
    `a@${'x.'.repeat(130)}org`,
  ];
  assert.deepEqual(
    bad.filter(text => readMailAddress(text) !== undefined),
    [],
  );
});

test('a tag and the case of letters do not make another mailbox', () => {
  assert.equal(mailboxOf('Ann+shop+1@example.org'), 'ann@example.org');
  assert.notEqual(mailboxOf('+x@example.org'), mailboxOf('+y@example.org'));
  assert.equal(maskedAddress('ann@example.org'), 'a…@example.org');
});
