// What a test file says while it runs under test.mjs: node:test's report to standard output, and to descriptor 3 `begun NAME` for
// each test, its outcome, and `end` when all are over. Written at once: a file that dies has said what it did.
import { writeSync } from 'node:fs';
import { compose } from 'node:stream';
import { spec } from 'node:test/reporters';

const COUNTS = 3;

export default async function* report(events) {
  yield* compose(noted(events), new spec());
}

async function* noted(events) {
  let ofFile = 0;
  for await (const event of events) {
    const outcome = outcomeOf(event);
    if (outcome !== undefined) {
      writeSync(COUNTS, `${outcome}\n`);
      ofFile++;
    }
    if (endsFile(event)) {
      // A file without a test, among others that have some.
      if (ofFile === 0) writeSync(COUNTS, 'failed\n');
      ofFile = 0;
    }
    if (event.type === 'test:dequeue') writeSync(COUNTS, `begun ${event.data.name}\n`);
    // The sums of a single file.
    if (event.type !== 'test:diagnostic' || event.data.nesting > 0) yield event;
  }
  writeSync(COUNTS, 'end\n');
}

/** Of several that run in one process (test-together.mjs). */
function endsFile({ type, data }) {
  return (
    (type === 'test:pass' || type === 'test:fail') && data.nesting === 0 && data.name.startsWith('test/')
  );
}

/** A test marked `todo` is a failure, for nothing unfinished is kept. */
function outcomeOf({ type, data }) {
  if (type === 'test:fail') {
    // A suite fails because of its tests, which are counted themselves, or because of its own hooks.
    const isOfItsTests =
      data.details.type === 'suite' && data.details.error?.failureType === 'subtestsFailed';
    return isOfItsTests ? undefined : 'failed';
  }
  if (type !== 'test:pass' || data.details.type === 'suite') return undefined;
  if (data.skip !== undefined && data.skip !== false) return 'skipped';
  return data.todo !== undefined && data.todo !== false ? 'failed' : 'passed';
}
