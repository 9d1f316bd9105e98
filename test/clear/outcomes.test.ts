import assert from 'node:assert/strict';
import { it } from 'node:test';
import { outcomeOf, type PageVerb } from '../../src/clear/outcomes.js';
import type { FetchFailure, PlainKind } from '../../src/fetch/failure.js';
import type { FetchOutcome } from '../../src/fetch/outcome.js';

const cost = { wireBytes: 0, elapsedMs: 1 };

/** As the engine reports a status: of GET and HEAD only those with content are ok. */
function answer(status: number, retryAfterMs?: number): FetchOutcome {
  if (status >= 200 && status <= 299)
    return { status: 'ok', http: status, md5: '', len: 0, completeness: 'whole', ...cost };
  return { ...failed({ kind: 'status', status, ...(retryAfterMs !== undefined && { retryAfterMs }) }) };
}

function failed(failure: FetchFailure): FetchOutcome {
  return { status: 'error', failure, ...cost };
}

it('an answer means the same for all that remove, put or refresh: the table', () => {
  const table: [verb: PageVerb, kind: string, statuses: number[]][] = [
    ['remove', 'done', [200, 202, 204, 404, 410]],
    ['remove', 'retry', [201, 206, 207, 408, 409, 425, 429, 500, 502, 503, 504, 507, 599]],
    ['remove', 'config', [301, 302, 304, 307, 308, 401, 403, 405, 415, 501]],
    ['remove', 'dead', [400, 413, 414]],
    ['put', 'done', [200, 201, 202, 204]],
    ['put', 'no-folder', [409]],
    ['put', 'retry', [207, 408, 425, 429, 500, 503, 507]],
    ['put', 'config', [301, 401, 403, 404, 405, 410, 415, 501]],
    ['put', 'dead', [400, 413, 414]],
    ['refresh', 'done', [200, 203, 204]],
    ['refresh', 'config', [302, 401, 404, 405]],
    ['refresh', 'retry', [409, 429, 503]],
  ];
  for (const [verb, kind, statuses] of table)
    for (const status of statuses)
      assert.equal(outcomeOf(answer(status), verb).kind, kind, `${verb} ${status}`);
});

it('a driver may say what counts as done', () => {
  assert.equal(outcomeOf(answer(202), 'remove', [200]).kind, 'retry');
  assert.equal(outcomeOf(answer(404), 'remove', [200]).kind, 'config');
  assert.equal(outcomeOf(answer(303), 'remove', [303]).kind, 'done');
});

it('a rail may ask to be left alone, for five minutes at most', () => {
  assert.deepEqual(outcomeOf(answer(503, 7000), 'remove'), {
    kind: 'retry',
    error: 'status 503',
    afterMs: 7000,
  });
  assert.deepEqual(outcomeOf(answer(429, 86_400_000), 'put'), {
    kind: 'retry',
    error: 'status 429',
    afterMs: 300_000,
  });
  assert.deepEqual(outcomeOf(answer(401, 7000), 'put'), { kind: 'config', error: 'status 401' });
});

it('a connection that is not made, an answer that does not come, and all else differ', () => {
  const table: Record<string, PlainKind[]> = {
    unreachable: [
      'dns',
      'dns-temporary',
      'refused',
      'unreachable',
      'connect-timeout',
      'connect-failed',
      'tls',
    ],
    unanswered: ['headers-timeout', 'idle-timeout', 'total-timeout', 'too-slow'],
    retry: [
      'exhausted',
      'reset',
      'cut',
      'malformed',
      'headers-too-big',
      'content-length',
      'framing',
      'interim',
      'coding',
      'no-location',
      'bad-location',
      'too-large',
      'flood',
      'headers-flood',
      'unexpected-status',
      'cancelled',
      'bug',
    ],
    config: ['guard', 'redirect-loop', 'too-many-redirects', 'redirect-outside', 'redirect-downgrade'],
    dead: ['bad-url'],
  };
  for (const [kind, kinds] of Object.entries(table))
    for (const each of kinds) {
      const outcome = outcomeOf(failed({ kind: each, detail: 'why' }), 'remove');
      assert.deepEqual(outcome, { kind, error: `${each}: why` });
    }
  const long = failed({ kind: 'total-timeout', detail: 'why' });
  assert.equal(outcomeOf(long, 'refresh').kind, 'retry', 'a long page that was still coming');
  assert.equal(outcomeOf(failed({ kind: 'source', error: new Error('gone') }), 'put').kind, 'retry');
});

it('an answer that is done is done, however its content ends; but not the page that a rail gets itself', () => {
  const broken = (http: number, kind: PlainKind): FetchOutcome =>
    Object.assign(failed({ kind, detail: '' }), { http });
  for (const kind of ['cut', 'coding', 'framing', 'too-large', 'flood'] as const) {
    assert.equal(outcomeOf(broken(200, kind), 'remove').kind, 'done', kind);
    assert.equal(outcomeOf(broken(201, kind), 'put').kind, 'done', kind);
    assert.equal(outcomeOf(broken(206, kind), 'remove').kind, 'retry', kind);
    assert.equal(outcomeOf(broken(200, kind), 'refresh').kind, 'retry', kind);
  }
  assert.equal(outcomeOf(broken(200, 'idle-timeout'), 'remove').kind, 'unanswered');
});
