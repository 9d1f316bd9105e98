/**
 * Commands, and the way in which one is run: options from a table, `--help` with an example, `--version`,
 * exit status from the one table, errors as one line. A command's own file says only what is special about
 * it.
 */
import { createReadStream, fstatSync, open, read } from 'node:fs';
import type { Readable } from 'node:stream';
import { isatty } from 'node:tty';
import { Command, CommanderError, Option } from 'commander';
import type { ConfigSources } from '../config/load.js';
import type { SettingKey } from '../config/settings/index.js';
import { systemClock, type Clock } from '../lib/clock.js';
import { EXIT, exitStatusOf, FailedBefore, LccError, messageOf, reasonOf } from '../lib/errors.js';
import { writeFailure, writeFully } from '../lib/stdio.js';
import { Progress, type Advance } from '../lib/progress.js';
import { streamFailure } from '../wire/stream-failure.js';
import { actionIn, addHelp, COMMON_OPTIONS, helpOf } from './common-options.js';

/** One row of a command's option table; man pages are compared with these by a test. */
export interface OptionSpec {
  /** As commander reads it: `-0, --null`, `--docroot <DIR>`, `--type <EXT=MIME>`, `--cursor [FILE]`. */
  flags: string;
  help: string;
  default?: string | number | boolean;
  /** First words of the operands that it is for, such as `root add`; others refuse it. undefined: for all. */
  of?: readonly string[];
  /** Collects repeated values into an array. */
  repeat?: boolean;
  /**
   * Names what is acted on or asked for: another value is refused, or half of it would be left out without a
   * word. Of all other options the last value counts, as everywhere: so what a script gives can be
   * overridden.
   */
  once?: boolean;
  /** The setting that it is: given, it wins over the file. */
  sets?: SettingKey;
  /** All values, where there are few: shells offer them. */
  choices?: readonly string[];
}

/** Option values by camel-cased name: what commander gives. */
export type OptionValues = Record<string, string | boolean | string[] | undefined>;

/** The surroundings of one run: those of a process of its own, or those that a test gives. */
export interface Surroundings {
  /** The arguments, without the command's name. */
  args: string[];
  env: NodeJS.ProcessEnv;
  /** Open descriptors, which stay the caller's. */
  stdin: number;
  stdout: number;
  stderr: number;
  clock: Clock;
  /** Path of the launcher that was started. */
  launcher: string;
  /** Ends the run at once, from wherever it is. */
  end: (status: number) => never;
}

export interface CommandContext extends Omit<Surroundings, 'args'> {
  name: string;
  options: OptionValues;
  /** Settings given as options. */
  settings: NonNullable<ConfigSources['overrides']>;
  /** Operands; those before `--` where the synopsis has it. */
  operands: string[];
  /** All that follows `--`, undefined when there was no `--`, or the synopsis has none. */
  afterDashes: string[] | undefined;
  /** The standard input as a stream; destroyed, its writer need not wait for a reader any more. */
  input: () => Readable;
  /** Writes text to the standard output, whole, before the next thing happens. @throws as `writeFully` */
  print: (text: string) => void;
  /** Talk: one line on stderr, prefixed with the command's name; silent with -q. */
  say: (message: string) => void;
  /** A warning or an error that does not end the run; not silenced. */
  complain: (message: string) => void;
  /**
   * Progress for a person who watches; undefined when nobody does (stderr is no terminal, or -q), or when the
   * person is looking at the data itself. `stdoutIsData` false: the standard output carries remarks only.
   */
  progress: (unit: string, stdoutIsData?: boolean) => Advance | undefined;
  quiet: boolean;
  verbose: boolean;
}

export interface CommandSpec {
  name: string;
  /** One line: what it does. */
  summary: string;
  /** How operands are written in the synopsis, e.g. `[-- NAME...]`; undefined when there are none. */
  operands?: string;
  options: OptionSpec[];
  /** A worked example, printed at the end of `--help`. */
  example: string;
  /** An option after which everything belongs to another program (`--find`), without its dashes. */
  takesRest?: string;
  /** Writes by lib/stdio.ts alone. Node's own streams, which every other command is guarded against, cost a
   * filter's start 1 to 2 ms when they are so much as named. */
  isFilter?: true;
  /** True if its standard output is a stream of urls, at whose end a failure is told. @param context
   * undefined where the options are wrong */
  writesUrls?: (context: CommandContext | undefined) => boolean;
  /** The exit status: of `EXIT`, or that of a program run on the user's behalf. */
  run(context: CommandContext): Promise<number> | number;
}

/** Runs a command with what this process has, and gives the process its status: for launchers. */
export function launch(spec: CommandSpec): void {
  if (spec.isFilter !== true) guardStreams(spec.name);
  const own: Surroundings = {
    args: process.argv.slice(2),
    env: process.env,
    stdin: 0,
    stdout: 1,
    stderr: 2,
    clock: systemClock,
    launcher: process.argv[1] ?? '',
    end: status => process.exit(status),
  };
  void runCommand(spec, own).then(status => {
    process.exitCode = status;
  });
}

/** Handles the errors of streams that Node writes to by itself; writes of `lib/stdio.ts` throw and are met in
 * `execute`. */
function guardStreams(name: string): void {
  process.stdout.on('error', error => {
    if (!isClosedPipe(error))
      process.stderr.write(`${name}: ${writeFailure('standard output', error).message}\n`);
    process.exit(isClosedPipe(error) ? EXIT.ok : EXIT.ioerr);
  });
  process.stderr.on('error', () => undefined);
}

/** @returns the exit status; errors are told on its standard error, none is thrown */
export async function runCommand(spec: CommandSpec, { args, ...own }: Surroundings): Promise<number> {
  let watched: Progress | undefined;
  let context: CommandContext | undefined;
  const input = new StandardInput(own.stdin);
  // Commands close it.
  const isOfFile = isFile(own.stdin);
  const print = (text: string) => writeFully(own.stdout, Buffer.from(text), 'standard output');
  /** A line on standard error, there before the next thing happens; nobody can be told when that fails. */
  const writeTalk = (text: string) => {
    try {
      writeFully(own.stderr, Buffer.from(text), 'standard error');
    } catch {
      // As above.
    }
  };
  const complain = (message: string) => {
    watched?.hide();
    writeTalk(`${spec.name}: ${message}\n`);
  };
  try {
    const parsed = parseArguments(spec, args, print);
    if (parsed === undefined) return EXIT.ok;
    const quiet = parsed.options['quiet'] === true;
    context = {
      ...own,
      ...parsed,
      name: spec.name,
      input: () => input.stream(),
      print,
      quiet,
      verbose: parsed.options['verbose'] === true,
      say: message => void (quiet || complain(message)),
      complain,
      progress: (unit, stdoutIsData = true) => {
        if (quiet || !isTerminal(own.stderr) || (stdoutIsData && isTerminal(own.stdout))) return undefined;
        watched = new Progress({ name: spec.name, unit, write: writeTalk, nowMs: () => performance.now() });
        return watched.add;
      },
    };
    return await spec.run(context);
  } catch (error) {
    if (isClosedPipe(error)) return EXIT.ok;
    const status = error instanceof CommanderError ? EXIT.usage : exitStatusOf(error);
    if (spec.writesUrls?.(context) === true) tellReader(own.stdout, status);
    // A command before us in a pipe has just said why it failed; one that wrote a file did so long ago.
    if (error instanceof FailedBefore && context?.verbose !== true && !isOfFile) return status;
    complain(
      own.env['LCC_DEBUG'] === '1' && error instanceof Error
        ? (error.stack ?? error.message)
        : `${whatAndWhere(error)}${status === EXIT.software ? ' (a bug; LCC_DEBUG=1 shows where)' : ''}`,
    );
    if (error instanceof CommanderError) complain(`try '${spec.name} --help'`);
    return status;
  } finally {
    watched?.hide();
    await input.release();
  }
}

/** Tells what reads our stream that we have failed: in a pipe nobody sees our status. */
function tellReader(stdout: number, status: number): void {
  try {
    if (!isTerminal(stdout)) writeFully(stdout, Buffer.from(streamFailure(status)), 'standard output');
  } catch {
    // Nobody reads it; what went wrong first is what counts.
  }
}

/** Node's own stream where it has one, or a stream that leaves the descriptor open; made when first asked
 * for. */
class StandardInput {
  readonly #fd: number;
  #stream: Readable | undefined;

  constructor(fd: number) {
    this.#fd = fd;
  }

  stream(): Readable {
    const fs = { read, open, close: (_fd: number, done: (error: null) => void) => done(null) };
    return (this.#stream ??= this.#fd === 0 ? process.stdin : createReadStream('', { fd: this.#fd, fs }));
  }

  /** Nothing reads the descriptor after this, whose owner may close it. */
  async release(): Promise<void> {
    const stream = this.#stream;
    if (this.#fd === 0 || stream === undefined || stream.closed) return;
    await new Promise<unknown>(resolve => stream.once('close', resolve).destroy());
  }
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    return false; // closed
  }
}

/** Asked of the file first: loading node:tty costs a filter's start-up a fifth, and hardly ever is there a
 * terminal. */
export function isTerminal(fd: number): boolean {
  try {
    return fstatSync(fd).isCharacterDevice() && isatty(fd);
  } catch {
    return false; // closed
  }
}

/** Splits argv by the option table; undefined when help or the version was printed. @throws CommanderError on
 * misuse */
function parseArguments(
  spec: CommandSpec,
  argv: string[],
  print: (text: string) => void,
): Pick<CommandContext, 'options' | 'settings' | 'operands' | 'afterDashes'> | undefined {
  const { own, rest } = splitRest(spec, argv);
  const program = addHelp(new Command(spec.name), spec)
    .usage(`[options]${spec.operands === undefined ? '' : ` ${spec.operands}`}`)
    .allowExcessArguments(false)
    .configureOutput({
      writeErr: () => undefined,
      writeOut: print,
    })
    .exitOverride();
  if (spec.operands !== undefined) program.argument('[operands...]');
  const named: [name: string, row: OptionSpec][] = [];
  const rows: OptionSpec[] = [...spec.options, ...COMMON_OPTIONS];
  for (const row of rows) {
    const option = new Option(row.flags, helpOf(row));
    if (row.default !== undefined) option.default(row.default);
    const read = OF_A_FILE.test(row.flags) ? nameOf(row.flags) : (value: string) => value;
    if (row.repeat) option.argParser((value: string, all?: string[]) => [...(all ?? []), read(value)]);
    else option.argParser(read);
    if (row.once) option.argParser(single(row.flags));
    program.addOption(option);
    named.push([option.attributeName(), row]);
    if (option.negate) refuseBoth(program, option.name().replace(/^no-/, ''));
  }
  try {
    program.parse(own, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return undefined;
    throw error;
  }
  const options = program.opts<OptionValues>();
  const settings: CommandContext['settings'] = {};
  for (const [name, row] of named) {
    if (program.getOptionValueSource(name) !== 'cli') continue;
    if (row.of !== undefined) refuseElsewhere(row.flags, row.of, actionIn(spec.operands, program.args));
    if (row.sets !== undefined) settings[row.sets] = textsIn(options[name]);
  }
  return { options, settings, operands: program.args, afterDashes: rest };
}

/** An option passed over would leave the caller believing that it was heeded. Where no action is named the
 * command says so. @throws LccError `usage` */
function refuseElsewhere(flags: string, of: readonly string[], action: string | undefined): void {
  if (action === undefined || of.some(words => `${action} `.startsWith(`${words} `))) return;
  throw new LccError('usage', `${flags.split(' ', 1)[0]} is for ${of.join(', ')}, not for ${action}`);
}

/** The text of a switch as a setting has it: `--no-downgrade` is false. */
function textsIn(value: OptionValues[string]): string | string[] | undefined {
  return typeof value === 'boolean' ? String(value) : value;
}

/** An option that is asked for and excluded at once is a mistake of the caller, and the last word would hide
 * it. */
function refuseBoth(program: Command, name: string): void {
  const given = new Set<string>();
  for (const each of [name, `no-${name}`]) {
    program.on(`option:${each}`, () => {
      if (given.add(each).size > 1)
        throw new LccError('usage', `--${name} and --no-${name} exclude each other; give one of them`);
    });
  }
}

/** Values that are names of files. */
const OF_A_FILE = /[<[](FILE|DIR)[>\]]$/;

/** No file has an empty name: what stands there is a variable that is not set. */
function nameOf(flags: string): (value: string) => string {
  return value => {
    if (value === '') throw new LccError('usage', `${flags}: the name is empty; is a variable not set?`);
    return value;
  };
}

function single(flags: string): (value: string) => string {
  let given: string | undefined;
  return value => {
    if (given !== undefined && given !== value)
      throw new LccError('usage', `${flags}: given twice, as ${given} and as ${value}; run once for each`);
    return (given = value);
  };
}

/** Words after `--` are apart only where the synopsis has it; elsewhere these are operands that may begin
 * with a dash. */
function splitRest(spec: CommandSpec, argv: string[]): { own: string[]; rest: string[] | undefined } {
  const dashes = spec.operands?.includes('-- ') === true ? argv.indexOf('--') : -1;
  const taking = spec.takesRest === undefined ? -1 : argv.indexOf(`--${spec.takesRest}`);
  if (taking >= 0 && (dashes < 0 || taking < dashes)) {
    return { own: argv.slice(0, taking + 1), rest: argv.slice(taking + 1) };
  }
  return dashes < 0
    ? { own: argv, rest: undefined }
    : { own: argv.slice(0, dashes), rest: argv.slice(dashes + 1) };
}

/** Text of a system error that nobody has explained, by the file that it names. */
function whatAndWhere(error: unknown): string {
  const isOfFile = error instanceof Error && 'path' in error && typeof error.path === 'string';
  const reason = reasonOf(error);
  const message = messageOf(error);
  return isOfFile && reason !== message
    ? `${error.path as string}: ${reason}`
    : message.replace(/^error: /, '');
}

/** A reader that went away is no error of ours: `file2url | head` ends silently. */
function isClosedPipe(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'EPIPE';
}
