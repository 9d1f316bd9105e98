/** lcccpstate: the urls of a whole site → those that are new, changed or gone since the last accepted set. */
import { xmlLimitsOf } from '../config/limits.js';
import { amount } from '../config/words.js';
import { deletionLimitOf } from '../cp/deletion-limit.js';
import { commitLast, updateState, type StateResult } from '../cp/lcccpstate.js';
import { EXIT, LccError } from '../lib/errors.js';
import { Output, readChunks } from '../lib/stdio.js';
import { mayDelete } from '../wire/coverage.js';
import { streamHead } from '../wire/url-stream.js';
import { configOf, durationMsOf } from './options.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lcccpstate',
  summary: 'Read the <url> containers of a whole site; write those that changed since last time.',
  isFilter: true,
  writesUrls: context => context?.options['commit'] !== true,
  options: [
    { flags: '--statefile <FILE>', help: 'what was accepted last; made at the first run' },
    { flags: '--full', help: 'write everything, as a full set' },
    { flags: '--commit-now', help: 'do not wait for lcccp: keep the new state at the end of the output' },
    {
      flags: '--commit',
      help: 'read and write nothing: keep the new state of the last run, which was accepted through another machine',
    },
    { flags: '--allow-empty', help: 'accept an input without a single url' },
    {
      flags: '--max-delete <N[%]>',
      help: 'refuse to delete more urls than this; a share is not applied to sites of fewer than 10',
      default: '50%',
    },
    {
      flags: '--forget <TIME>',
      help: 'where lists are parts of a site, as feeds are: drop urls from the state that none has named for so long',
    },
    {
      flags: '--share',
      help: 'other pipes announce for the same provider: the state is never sent as all there is of it',
    },
    { flags: '--config <FILE>', help: 'configuration (limits of section xml)' },
  ],
  example: `file2url --find docroot -name '*.html' | lcccpstate --statefile=state.txt |
    lcccp --uns=lcc.example.org:9000 --pid=7 --pwdfile=pwd --urlprefix=http://www.example.org/`,

  run(context) {
    const { options } = context;
    const { statefile } = options;
    if (typeof statefile !== 'string' || statefile === '')
      throw new LccError('usage', '--statefile=FILE is required');
    if (options['commit'] === true) {
      if (options['full'] === true) throw new LccError('usage', '--commit and --full: give one of them');
      if (!commitLast(statefile))
        context.say(
          `${statefile}: no set waits for its answer, nothing was done; the state of the last one is kept already, or --statefile is another`,
        );
      return EXIT.ok;
    }
    const config = configOf(context, { mayBeUnreadable: true });
    const out = new Output(context.stdout, { encoding: 'latin1' });
    const result = telling(out, () =>
      updateState(
        readChunks(context.stdin),
        out,
        {
          statefile,
          full: options['full'] === true,
          commitNow: options['commitNow'] === true,
          allowEmpty: options['allowEmpty'] === true,
          isShare: options['share'] === true,
          maxDelete: deletionLimitOf(String(options['maxDelete'])),
          forgetMs: durationMsOf('--forget', options['forget']),
          nowMs: context.clock.nowMs(),
          maxDoubtfulUrls: config.get('cp.max_doubtful_urls'),
          limits: xmlLimitsOf(config.settings.xml),
          progress: context.progress('urls'),
          explain: context.verbose ? context.say : undefined,
        },
        context.complain,
      ),
    );
    if (result.firstRun) context.say(`${statefile} is not there yet: first run, every url is new`);
    const again =
      result.again === 0 ? '' : `, ${result.again} of these sent again: what became of them is not known`;
    context.say(
      `${result.added} new, ${result.changed} changed, ${result.deleted} deleted, ${result.unchanged} unchanged${again}`,
    );
    if (!mayDelete(result.coverage))
      context.say(
        `the input names a part of the site only: nothing is deleted, ${amount(result.kept, 'url')} it does not name ${result.kept === 1 ? 'is' : 'are'} kept`,
      );
    return result.rejected > 0 ? EXIT.someRejected : EXIT.ok;
  },
};

/** A stream that fails has begun: older releases of what reads it would take it for one without a url. */
function telling(out: Output, work: () => StateResult): StateResult {
  try {
    return work();
  } catch (error) {
    try {
      out.write(streamHead({ from: 'lcccpstate' }));
      out.flush();
    } catch {
      // Nobody listens; what went wrong first is what counts.
    }
    throw error;
  }
}
