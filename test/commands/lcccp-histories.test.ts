/**
 * Random histories of a site: files come, change and go; runs overlap, are cut off anywhere, are killed, end late or never.
 * Then one run that nothing disturbs: the UNS has what the site has. With the real commands against a real lccd-uns.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { runAsProcesses, type Done } from '../support/command.js';
import { Cutter, DOUBTFUL, home, lcccp, receiver, url } from '../support/lcccp.js';
import { ROOT } from '../support/tree.js';
import { heldAfter } from '../support/uns.js';

runAsProcesses();

const HISTORIES = Number(process.env['LCC_TEST_HISTORIES'] ?? 6);
/** Lengths of a site's pages by name. */
type Pages = Record<string, number>;

/** What becomes of a run. `late`: it is made now and delivered at the end of the history, or with the next `deliver`. */
const fate = fc.oneof(
  fc.record({ kind: fc.constant('well' as const) }),
  fc.record({ kind: fc.constant('unheard' as const) }),
  // The UNS accepts, and lcccp hears of it only later, or never.
  fc.record({ kind: fc.constant('waits' as const), isHeard: fc.boolean() }),
  fc.record({ kind: fc.constant('cut' as const), afterBytes: fc.integer({ min: 1, max: 900 }) }),
  fc.record({ kind: fc.constant('late' as const) }),
  fc.record({ kind: fc.constant('lost' as const) }),
  fc.record({
    kind: fc.constant('killed' as const),
    step: fc.constantFrom(
      'state.pending.synced',
      'state.pending.renamed',
      'cp.set.doubtful',
      'cp.set.sent',
      'cp.set.accepted',
      'state.committed',
    ),
  }),
  fc.record({ kind: fc.constant('deliver' as const) }),
);
const pages = fc
  .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), fc.integer({ min: 1, max: 3 })), {
    selector: ([name]) => name,
    minLength: 1,
  })
  .map((list): Pages => Object.fromEntries(list));
const history = fc.array(fc.record({ pages, fate }), { minLength: 3, maxLength: 9 });

const providers = [...DOUBTFUL];
let sites = 0;

test('whatever was cut, killed, late or overlapping, after one undisturbed run the UNS has what the site has', async () => {
  await fc.assert(
    fc.asyncProperty(history, async runs => {
      const pid = providers.shift() ?? assert.fail('more histories than providers');
      const state = join(home.dir, `history-${sites++}`, 'state');
      mkdirSync(join(state, '..'));
      const late: string[] = [];
      const waiting: { done: Promise<Done>; cutter: Cutter; isHeard: boolean }[] = [];
      for (const { pages, fate } of runs) {
        if (fate.kind === 'deliver') {
          const stream = late.shift();
          if (stream !== undefined) await lcccp(pid, stream);
          continue;
        }
        const stream = await told(state, pages, fate.kind === 'killed' ? fate.step : '');
        switch (fate.kind) {
          case 'well':
            await lcccp(pid, stream);
            break;
          case 'killed':
            await lcccp(pid, stream, [], { LCC_CRASH_AT: fate.step });
            break;
          case 'late':
            late.push(stream);
            break;
          case 'lost':
            break;
          case 'cut': {
            const cutter = await Cutter.listen(fate.afterBytes);
            await Promise.race([lcccp(pid, stream, [cutter.uns]), cutter.accepted]);
            cutter.cut();
            break;
          }
          case 'unheard':
          case 'waits': {
            const cutter = await Cutter.listen();
            const done = lcccp(pid, stream, [cutter.uns]);
            await Promise.race([done, cutter.accepted]);
            if (fate.kind === 'waits') waiting.push({ done, cutter, isHeard: fate.isHeard });
            else {
              cutter.cut();
              await done;
            }
          }
        }
      }
      for (const stream of late) await lcccp(pid, stream);
      for (const { done, cutter, isHeard } of waiting) {
        if (isHeard) cutter.passOn();
        else cutter.cut();
        await done;
        cutter.cut();
      }

      // With a page of its own, so that there is something to wait for: the UNS hands over in order.
      const last = { ...runs.at(-1)!.pages, last: 1 };
      const done = await lcccp(pid, await told(state, last, ''));
      assert.equal(done.status, 0, done.stderr);
      const arrived = () => receiver.all.filter(({ head }) => head.pid === pid);
      await receiver.until(() => arrived().some(({ curls }) => curls.includes('last')));
      const expected = Object.fromEntries(Object.entries(last).map(([name, len]) => [name, String(len)]));
      assert.deepEqual(heldAfter(arrived()), expected);
      assert.match((await lcccp(pid, await told(state, last, ''))).stderr, /nothing to send\n$/);
    }),
    { numRuns: HISTORIES, endOnFailure: true, includeErrorInReport: true },
  );
});

/** What lcccpstate makes of a site; whatever it makes of it when it is killed at a step. */
async function told(state: string, pages: Pages, step: string): Promise<string> {
  const child = spawn(join(ROOT, 'bin/lcccpstate'), ['-q', `--statefile=${state}`, '--max-delete=100%'], {
    env: { ...process.env, LCC_CRASH_AT: step.startsWith('state.pending') ? step : '' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let stream = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stream += text));
  child.stdin.end(
    `<?lcc?>\n${Object.entries(pages)
      .map(([name, len]) => `${url(name, len)}\n`)
      .join('')}<?lcc end?>\n`,
  );
  await once(child, 'close');
  return stream;
}
