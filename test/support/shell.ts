/** Command lines, as a person types them. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { asText, runBinLater } from './command.js';
import { ROOT } from './tree.js';

export const binDir = join(ROOT, 'bin');

export interface Ran {
  status: number;
  stdout: string;
  stderr: string;
}

/** Of one that was ended by a signal. */
const BY_SIGNAL = 128;
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

/** Runs a command line: bash does, whose pipes fail as a whole, unless it is of a command of ours and nothing else. */
export async function shell(line: string, env: NodeJS.ProcessEnv, cwd: string, input = ''): Promise<Ran> {
  const [name = '', ...args] = wordsOf(line);
  if (!/^[a-z0-9-]+$/.test(name) || !existsSync(join(binDir, name))) return await bash(line, env, cwd, input);
  const { status, ...said } = asText(await runBinLater(name, args, { env, cwd, input }));
  return { status: status ?? BY_SIGNAL, ...said };
}

/** Of a line that bash would only split; none of another. */
function wordsOf(line: string): string[] {
  const plain = line.trim().replace(/ *<\/dev\/null$/, '');
  if (!/^((^| +)([\w./:=,@%+-]|'[^']*')+)+$/.test(plain)) return [];
  return [...plain.matchAll(/([^ ']|'[^']*')+/g)].map(([word]) => word.replaceAll("'", ''));
}

function bash(line: string, env: NodeJS.ProcessEnv, cwd: string, input: string): Promise<Ran> {
  return new Promise(resolve => {
    const child = execFile(
      'bash',
      ['-o', 'pipefail', '-c', line],
      { env, cwd, maxBuffer: MAX_OUTPUT_BYTES },
      (error, stdout, stderr) => {
        const status = error === null ? 0 : typeof error.code === 'number' ? error.code : BY_SIGNAL;
        resolve({ status, stdout, stderr });
      },
    );
    // It may end without having read.
    child.stdin?.on('error', () => undefined).end(input);
  });
}
