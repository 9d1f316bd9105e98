// What a test process says while it runs under test.mjs: node:test's report to standard output, and to descriptor 3 a line of
// JSON for each thing that counts, written at once, so that a process that dies has said what it did:
//
//   {"begun": NAME}                                a test has begun
//   {"outcome": "passed"|"failed"|"skipped", …}    it is over; of a failure also its name, place and words
//   {"over": FILE}                                 a file of several is over (test-together.mjs)
//   {"open": […]}                                  nothing was heard for long: kinds of what keeps the process alive
//   {"end": true}                                  all are over
import { writeSync } from 'node:fs';
import { compose } from 'node:stream';
import { spec } from 'node:test/reporters';

const COUNTS = 3;
/** After it a test process that says nothing may hang. */
const SILENCE_MS = 60_000;
/** Of what a failure says. */
const MAX_WORDS = 2000;

const say = record => writeSync(COUNTS, `${JSON.stringify(record)}\n`);

export default async function* report(events) {
  yield* compose(noted(events), new spec());
}

async function* noted(events) {
  /** Names of the suites and the test that have begun, by depth. */
  const begun = [];
  let ofFile = 0;
  const watch = setInterval(() => say({ open: process.getActiveResourcesInfo() }), SILENCE_MS).unref();
  for await (const event of events) {
    const { type, data } = event;
    watch.refresh();
    if (type === 'test:start') begun.splice(data.nesting, Infinity, data.name);
    const outcome = outcomeOf(event);
    if (outcome !== undefined) {
      const names = [...begun.slice(0, data.nesting), data.name];
      say(outcome === 'failed' ? { outcome, ...wordsOf(data, names) } : { outcome });
      ofFile++;
    }
    if (endsFile(event)) {
      if (ofFile === 0) say({ outcome: 'failed', name: data.name, words: 'no test in it ran to its end' });
      ofFile = 0;
      say({ over: data.name.slice('test/'.length) });
    }
    if (type === 'test:dequeue') say({ begun: data.name });
    // The sums of a single file.
    if (type !== 'test:diagnostic' || data.nesting > 0) yield event;
  }
  say({ end: true });
}

/** A file of several that run in one process (test-together.mjs). */
function endsFile({ type, data }) {
  return (
    (type === 'test:pass' || type === 'test:fail') && data.nesting === 0 && data.name.startsWith('test/')
  );
}

function wordsOf({ details, file, line }, names) {
  const error = details?.error?.cause ?? details?.error;
  const words = String(error?.stack ?? error ?? 'marked as unfinished');
  return { name: names.join(' › '), place: file && `${file}:${line}`, words: words.slice(0, MAX_WORDS) };
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
