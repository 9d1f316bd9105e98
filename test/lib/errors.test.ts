import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  errnoOf,
  EXIT,
  exitStatusOf,
  LccError,
  messageOf,
  reasonOf,
  type ErrorCode,
  tooManyFiles,
} from '../../src/lib/errors.js';

/** What the contract says each kind of failure leads to (commands.md, after sysexits(3)). */
const PROMISED: Record<ErrorCode, number> = {
  usage: 64,
  'data.malformed': 65,
  'data.cut': 65,
  'data.refused': 65,
  limit: 65,
  'input.missing': 66,
  'peer.unavailable': 69,
  'peer.rejected': 69,
  bug: 70,
  'output.create': 73,
  io: 74,
  'io.full': 74,
  'peer.busy': 75,
  'try.later': 75,
  'peer.protocol': 76,
  'auth.refused': 77,
  config: 78,
};

test('every code leads to the exit status that was promised', () => {
  for (const [code, status] of Object.entries(PROMISED)) {
    assert.equal(exitStatusOf(new LccError(code as ErrorCode, 'x')), status, code);
  }
});

test('every exit status but success and "some rejected" is reached by some code', () => {
  const reached = new Set(Object.values(PROMISED));
  for (const status of Object.values(EXIT)) assert.ok(status <= 1 || reached.has(status), String(status));
});

test('a system error leads to the status its errno stands for', () => {
  assert.throws(
    () => readFileSync('/nowhere/at/all'),
    (error: unknown) => exitStatusOf(error) === EXIT.noinput && errnoOf(error) === 'ENOENT',
  );
  const withCode = (code: string) => exitStatusOf(Object.assign(new Error('x'), { code }));
  assert.equal(withCode('EACCES'), EXIT.cantcreat);
  assert.equal(withCode('ENOSPC'), EXIT.ioerr);
  assert.equal(withCode('EIO'), EXIT.ioerr);
  assert.equal(withCode('ECONNREFUSED'), EXIT.unavailable);
  assert.equal(withCode('EADDRINUSE'), EXIT.unavailable);
});

test('what is wrong with a file is said in words, with what to do', () => {
  const reason = (code: string) => reasonOf(Object.assign(new Error('x y'), { code }));
  assert.equal(reason('EISDIR'), 'it is a directory; name a file');
  assert.equal(
    reason('EACCES'),
    'this user may not use it; change its permissions, or run this as its owner',
  );
  assert.equal(reason('ENOTDIR'), 'a part of its path is no directory; check the name');
  assert.equal(reason('EIO'), 'x y');
});

test('where too many files are open, it is said whose limit was met', () => {
  const remedy = (code: string) => tooManyFiles(Object.assign(new Error('x'), { code }));
  assert.match(remedy('EMFILE') ?? '', /of this process \(ulimit -n\)/);
  assert.match(remedy('ENFILE') ?? '', /of this machine \(fs\.file-max\)/);
  assert.equal(remedy('ENOSPC'), undefined);
});

test('anything else thrown is a bug', () => {
  for (const thrown of [new TypeError('x'), 'text', undefined, null, 7, { code: 5 }, { code: 'EWHATEVER' }]) {
    assert.equal(exitStatusOf(thrown), EXIT.software);
  }
});

test('a message is one line whatever was thrown', () => {
  assert.equal(messageOf(new Error('first\n  second\n\nthird')), 'first; second; third');
  assert.equal(messageOf('plain'), 'plain');
  const refused = [new Error('connect ECONNREFUSED ::1:80'), new Error('connect ECONNREFUSED 127.0.0.1:80')];
  assert.equal(
    messageOf(new AggregateError(refused)),
    'connect ECONNREFUSED ::1:80; connect ECONNREFUSED 127.0.0.1:80',
    'of a name with several addresses',
  );
  assert.equal(messageOf(undefined), 'undefined');
});

test('an error keeps its cause and its code', () => {
  const cause = new Error('below');
  const error = new LccError('io', 'above', { cause });
  assert.equal(error.cause, cause);
  assert.equal(error.code, 'io');
  assert.equal(error.name, 'LccError');
});
