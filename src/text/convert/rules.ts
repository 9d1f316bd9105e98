/** Which program makes text of documents of a type. */
import { compileGlob, type PathTest } from '../../lib/glob.js';
import { LccError } from '../../lib/errors.js';

const OUTPUTS = ['text/plain', 'text/markdown', 'text/html'];

export interface ConvertRule {
  matches: PathTest;
  /** Type of what it writes. */
  output: string;
  program: string;
  args: readonly string[];
}

/** @param lines of `convert.commands` @throws LccError `config` for one that is no rule */
export function parseRules(lines: readonly string[]): ConvertRule[] {
  return lines.map(line => {
    const [type = '', output = '', program, ...args] = line.trim().split(/\s+/);
    const is = `convert.commands: "${line}"`;
    if (program === undefined) throw new LccError('config', `${is}: give TYPE TYPE-OF-THE-OUTPUT PROGRAM`);
    if (!OUTPUTS.includes(output))
      throw new LccError('config', `${is}: the output may be ${OUTPUTS.join(', ')}, not ${output}`);
    return { matches: compileGlob(type), output, program, args };
  });
}
