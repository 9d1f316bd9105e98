/** A command for tests of commands/run.ts: does what its first operand says, with a real process around it. */
import { readFileSync } from 'node:fs';
import type { CommandSpec } from '../../src/commands/run.js';
import { launch } from '../../src/commands/run.js';
import { LccError } from '../../src/lib/errors.js';

const spec: CommandSpec = {
  name: 'probe',
  summary: 'does what it is told',
  operands: '[DEED] [-- NAME...]',
  options: [
    { flags: '-0, --null', help: 'names end with NUL' },
    { flags: '--size <BYTES>', help: 'how many', default: '7' },
    { flags: '--pid <N>', help: 'of whom', once: true },
    { flags: '--type <EXT=MIME>', help: 'more than once', repeat: true },
    { flags: '--list <FILE>', help: 'a file' },
    { flags: '--docroot <DIR>', help: 'more than one', repeat: true },
    { flags: '--find', help: 'the rest is for find(1)' },
  ],
  takesRest: 'find',
  example: 'probe print -- a b\nprobe say',
  run(context) {
    switch (context.operands[0]) {
      case 'print':
        context.print(
          JSON.stringify({
            options: context.options,
            operands: context.operands,
            afterDashes: context.afterDashes ?? null,
            quiet: context.quiet,
            verbose: context.verbose,
          }),
        );
        return 0;
      case 'say':
        context.say('one of many');
        context.complain('a warning');
        return 1;
      case 'refuse':
        throw new LccError('data.malformed', 'set.xml:3:7: bad\n  things; mend them');
      case 'break':
        throw new TypeError('undefined is not a function');
      case 'open':
        readFileSync('/nowhere/at/all');
        return 0;
      case 'pour':
        for (let line = 0; line < 100_000; line++) context.print(`line ${line}\n`);
        return 0;
      case undefined:
      default:
        context.print(JSON.stringify(context.afterDashes ?? null));
        return 0;
    }
  },
};
launch(spec);
