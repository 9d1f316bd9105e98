import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { createLog, silentLog, type Level } from '../../src/lib/log.js';

function collect(level: Level, human: boolean) {
  const lines: string[] = [];
  const log = createLog({ name: 'lccd-qm', level, human, write: line => lines.push(line), nowMs: () => 0 });
  return { log, lines };
}

test('a machine reads one JSON object a line with time, level, daemon, event and fields', () => {
  const { log, lines } = collect('info', false);
  log.warn('connection lost', { peer: '192.0.2.7:1', tries: 3, cause: undefined });
  assert.equal(lines.length, 1);
  assert.deepEqual(JSON.parse(lines[0] ?? ''), {
    time: '1970-01-01T00:00:00.000Z',
    level: 'warn',
    daemon: 'lccd-qm',
    event: 'connection lost',
    peer: '192.0.2.7:1',
    tries: 3,
  });
});

test('a person reads the name, the level where it matters, the event and the fields', () => {
  const { log, lines } = collect('debug', true);
  log.info('ready', { pid: 7 });
  log.error('cannot go on', { error: 'disk "a" is full' });
  assert.deepEqual(lines, [
    'lccd-qm: ready pid=7\n',
    'lccd-qm: error: cannot go on error="disk \\"a\\" is full"\n',
  ]);
});

test('times are whole milliseconds, however exactly they were measured', () => {
  for (const [human, expected] of [
    [true, /silent_ms=2062 share=0\.5\n$/],
    [false, /"silent_ms":2062,"share":0\.5}\n$/],
  ] as const) {
    const { log, lines } = collect('info', human);
    log.info('waits', { silent_ms: 2061.5483720000047, share: 0.5 });
    assert.match(lines.join(''), expected);
  }
});

test('each level hides those below it', () => {
  for (const [level, shown] of [
    ['error', 1],
    ['warn', 2],
    ['info', 3],
    ['debug', 4],
  ] as const) {
    const { log, lines } = collect(level, true);
    for (const each of ['error', 'warn', 'info', 'debug'] as const) log[each]('x');
    assert.equal(lines.length, shown, level);
  }
});

test('whatever a peer puts into a field, a line stays one line and commands no terminal', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.boolean(), (value, human) => {
      const { log, lines } = collect('info', human);
      log.info('says', { value });
      assert.equal(lines.length, 1);
      // eslint-disable-next-line no-control-regex
      assert.match(lines[0] ?? '', /^[^\u0000-\u001f\u007f-\u009f]*\n$/);
    }),
  );
});

test('the silent log is silent', () => {
  for (const each of ['error', 'warn', 'info', 'debug'] as const)
    assert.equal(silentLog[each]('x'), undefined);
});
