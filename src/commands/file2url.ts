/** file2url: names of files → `<url>`. */
import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { Listing, type ListingOptions } from '../cp/file2url.js';
import { planFind, printedBy, runFind, type FindPlan } from '../cp/find.js';
import { HashPool, usualJobs } from '../cp/hash-pool.js';
import { DEFAULT_TYPE, isMimetype } from '../cp/mime-types.js';
import { displayName } from '../cp/url-path.js';
import { EXIT, LccError, reasonOf } from '../lib/errors.js';
import { Output, readChunks } from '../lib/stdio.js';
import type { CommandContext, CommandSpec, OptionValues } from './run.js';
import { typesOf } from './type-option.js';

type OptionValue = OptionValues[string];

const MOST_JOBS = 64;

export const command: CommandSpec = {
  name: 'file2url',
  summary: 'Describe files as <url> containers: names on stdin, after --, or found by find(1).',
  operands: '[-- NAME...]',
  takesRest: 'find',
  isFilter: true,
  writesUrls: () => true,
  options: [
    { flags: '--docroot <DIR>', help: 'where the site begins; curl is the name below it', default: '.' },
    { flags: '--md5', help: 'read every file and tell its md5' },
    { flags: '-0, --null', help: 'names on stdin end with NUL instead of newline (find -print0)' },
    { flags: '--type <EXT=MIME>', help: 'mimetype of an extension; may be repeated', repeat: true },
    { flags: '--default-type <MIME>', help: 'mimetype of all other files', default: DEFAULT_TYPE },
    { flags: '--find', help: 'run find(1) with all that follows and describe what it finds' },
    {
      flags: '--jobs <N>',
      help: 'threads that read and hash files with --md5 (default: processors, at most 4)',
    },
  ],
  example: `cd /srv/www && file2url --md5 --find . -name '*.html'
find /srv/www -type f -print0 | file2url -0 --docroot=/srv/www`,

  async run(context) {
    const options = listingOptions(context);
    if (context.options['find'] === true && context.options['null'] === true)
      throw new LccError('usage', '-0 is for names on stdin; --find uses it by itself');
    if (context.operands.length > 0)
      throw new LccError('usage', `names follow --: file2url -- ${context.operands.join(' ')}`);
    const find = context.options['find'] === true ? findPlan(context, options.md5) : undefined;
    const listing = new Listing(
      {
        ...options,
        facts: find?.prints === 'facts',
        mayHoldOther: find?.runsOthers === true,
        counts: context.verbose,
        progress: context.progress('files'),
      },
      new Output(context.stdout, { encoding: 'latin1' }),
      context.complain,
    );
    try {
      if (find !== undefined) {
        if (context.verbose) context.say(`runs find ${find.words.map(displayName).join(' ')}`);
        await runFind(find.words, context.stderr, chunk => listing.push(chunk));
      } else if (context.afterDashes !== undefined) {
        listing.add(bytesOfLast(context.afterDashes));
      } else {
        for (const chunk of readChunks(context.stdin)) listing.push(chunk);
      }
      listing.end();
    } catch (error) {
      listing.abort();
      throw error;
    }
    if (context.verbose)
      context.say(
        `${listing.described} described, ${listing.vanished} gone, ${listing.rejected} refused or without md5`,
      );
    return listing.rejected > 0 ? EXIT.someRejected : EXIT.ok;
  },
};

function findPlan({ afterDashes, env }: CommandContext, md5: boolean): FindPlan {
  return planFind(bytesOfLast(afterDashes ?? []), md5 ? 'names' : printedBy(env['PATH'] ?? ''));
}

function listingOptions(context: CommandContext): ListingOptions {
  const { options } = context;
  const defaultType = String(options['defaultType']);
  if (!isMimetype(defaultType))
    throw new LccError('usage', `--default-type ${defaultType}: write type/subtype`);
  const describe = {
    docroot: bytesOf(String(options['docroot'])),
    cwd: readlinkSync('/proc/self/cwd', { encoding: 'buffer' }).toString('latin1'),
    md5: options['md5'] === true,
    types: typesOf(options['type']).map(([extension, type]): [string, string] => [bytesOf(extension), type]),
    defaultType,
  };
  requireDirectory(posix.resolve(describe.cwd, describe.docroot), String(options['docroot']));
  const separator = options['null'] === true || options['find'] === true ? '\0' : '\n';
  const jobs = jobsOf(options['jobs']);
  if (!describe.md5 || jobs === 1) return { ...describe, separator };
  const script = join(import.meta.dirname, 'hash-worker.cjs');
  return { ...describe, separator, startPool: take => new HashPool(script, jobs - 1, describe, take) };
}

/** Without its root a site has no files: said once, where every name would be refused otherwise. */
function requireDirectory(path: string, given: string): void {
  let problem: string | undefined;
  try {
    if (!statSync(Buffer.from(path, 'latin1')).isDirectory())
      problem = 'it is no directory; name the one that the site begins in';
  } catch (error) {
    problem = reasonOf(error);
  }
  if (problem !== undefined) throw new LccError('input.missing', `--docroot ${given}: ${problem}`);
}

function jobsOf(given: OptionValue): number {
  if (given === undefined) return usualJobs();
  const jobs = Number(given);
  if (!Number.isInteger(jobs) || jobs < 1 || jobs > MOST_JOBS)
    throw new LccError('usage', `--jobs ${String(given)}: a number from 1 to ${MOST_JOBS}`);
  return jobs;
}

/** The bytes, as latin1, of an argument that Node decoded as UTF-8 (invalid bytes became U+FFFD). */
function bytesOf(argument: string): string {
  if (!argument.includes('\ufffd')) return Buffer.from(argument).toString('latin1');
  for (const raw of rawArguments()) {
    const text = Buffer.from(raw, 'latin1').toString();
    if (text === argument) return raw;
    if (text.endsWith(`=${argument}`)) return raw.slice(raw.indexOf('=') + 1);
  }
  return Buffer.from(argument).toString('latin1');
}

/** The same of the last arguments of all: two that differ in bytes may be the same as text. */
function bytesOfLast(given: readonly string[]): string[] {
  const raw = given.some(argument => argument.includes('\ufffd')) ? rawArguments() : [];
  return given.map((argument, n) => raw[raw.length - given.length + n] ?? bytesOf(argument));
}

function rawArguments(): string[] {
  return readFileSync('/proc/self/cmdline').toString('latin1').split('\0').slice(0, -1);
}
