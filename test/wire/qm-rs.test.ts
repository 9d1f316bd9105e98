import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LccError } from '../../src/lib/errors.js';
import { hashPassword } from '../../src/lib/password.js';
import {
  digestOf,
  formatRsAnswer,
  formatRsAsk,
  readRsAnswer,
  readRsAsk,
  type RsAnswer,
  type RsChange,
  type RsQuestion,
} from '../../src/wire/qm-rs.js';
import type { RsLook } from '../../src/wire/rs-looks.js';

const ID = '0d3a7c1e-5a0f-4b1c-9d2e-3f4a5b6c7d8e';
const PASSWORD = hashPassword('secret');
const ROOTS = ['http://www.example.org/docs/'];
const CHANGES: RsChange[] = [
  {
    op: 'register',
    pid: 100_000,
    password: PASSWORD,
    roots: ROOTS,
    bandwidth: 1000,
    timeofday: '1'.repeat(24),
  },
  { op: 'password', pid: 100_000, password: PASSWORD, generation: 1 },
  { op: 'root-add', pid: 100_000, roots: ROOTS },
  { op: 'limits', pid: 7, filesmax: 5, bandwidth: 0 },
  { op: 'terms', pid: 100_000, filesmax: 5, spacemax: 6, fullsetsallowed: 7, priority: 1, timeofday: '' },
];
const LOOKS: RsLook[] = [{ op: 'overview' }, { op: 'providers', search: 'exämple 7', after: 3 }];
const QUESTIONS: RsQuestion[] = [{ op: 'find', url: 'http://a/' }, { op: 'show', pid: 7 }, { op: 'status' }];

test('what one side writes the other one reads', () => {
  for (const change of CHANGES) assert.deepEqual(readRsAsk(formatRsAsk(change, ID)), { id: ID, change });
  for (const question of QUESTIONS)
    assert.deepEqual(readRsAsk(formatRsAsk(question)), { id: undefined, question });
  for (const look of LOOKS) assert.deepEqual(readRsAsk(formatRsAsk(look)), { look });
  const answers: RsAnswer[] = [
    { ok: { pid: 1 } },
    { refused: 'taken', text: 'the number is taken' },
    { later: 'no room' },
  ];
  for (const answer of answers) assert.deepEqual(readRsAnswer(formatRsAnswer(answer)), answer);
});

test('an error that was said is one of the peer', () => {
  assert.throws(
    () => readRsAnswer(formatRsAnswer({ error: 'too many' })),
    new LccError('peer.rejected', 'the Queue Manager: too many'),
  );
});

test('anything else is a breach, and nothing of a secret is repeated', () => {
  const [register] = CHANGES;
  assert.ok(register?.op === 'register');
  const lines = [
    '',
    'null',
    '[]',
    `{"op":"register","password":"hunter2"`,
    formatRsAsk(register),
    formatRsAsk(register, 'no-uuid'),
    formatRsAsk({ ...register, pid: 0 }, ID),
    formatRsAsk({ ...register, pid: 1.5 }, ID),
    formatRsAsk({ ...register, pid: 2 ** 60 }, ID),
    formatRsAsk({ ...register, password: 'hunter2' }, ID),
    formatRsAsk({ ...register, roots: [] }, ID),
    formatRsAsk({ ...register, roots: Array<string>(1001).fill('http://a/') }, ID),
    formatRsAsk({ ...register, roots: ['x'.repeat(9000)] }, ID),
    formatRsAsk({ ...register, timeofday: '1'.repeat(25) }, ID),
    formatRsAsk({ ...register, filesmax: -1 }, ID),
    formatRsAsk({ op: 'find', url: '' }),
    JSON.stringify({ op: 'delete', pid: 7, id: ID }),
    JSON.stringify({ op: 'show', pid: '7' }),
  ];
  for (const line of lines)
    assert.throws(
      () => readRsAsk(line),
      (error: unknown) =>
        error instanceof LccError && error.code === 'peer.protocol' && !error.message.includes('hunter2'),
      line.slice(0, 200),
    );
  for (const line of ['{}', '{"ok":1}', '{"refused":"odd"}'])
    assert.throws(() => readRsAnswer(line), { code: 'peer.protocol' });
});

test('a digest is of what is said, in whatever order', () => {
  const [register, password] = CHANGES;
  assert.ok(register !== undefined && password?.op === 'password');
  const turned = Object.fromEntries(Object.entries(register).toReversed()) as unknown as RsChange;
  assert.equal(digestOf(turned), digestOf(register));
  assert.notEqual(digestOf({ ...password, generation: 2 }), digestOf(password));
});
