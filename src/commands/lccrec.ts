/** lccrec(1): shows a stream of spider records, or the document of one. */
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { Output, readChunks } from '../lib/stdio.js';
import { formatJsonl, formatTsv } from '../spider/records/formats.js';
import { writeBody, writeLines, writeRecords } from '../spider/records/show.js';
import { storedRecords } from '../spider/records/stored.js';
import type { CommandContext, CommandSpec } from './run.js';

const MAX_DOC_ID = 0xffff_ffff;

export const command: CommandSpec = {
  name: 'lccrec',
  summary: 'Show the records that a spider sends to a store server: one a line, or the document of one.',
  options: [
    { flags: '--jsonl', help: 'one JSON object a line (default)' },
    { flags: '--tsv', help: 'fields separated by tabs' },
    {
      flags: '--body <ID>',
      help: 'the document of the first record with this doc_id, and nothing else',
      once: true,
    },
    { flags: '--records', help: 'the records themselves' },
    {
      flags: '--store <DIR>',
      help: 'what a store server holds below DIR, instead of the standard input',
      once: true,
    },
  ],
  example: 'lccrec --tsv <stream\nlccrec --store=/var/lib/store --body=7 >page.html',
  isFilter: true,
  run,
};

function run(context: CommandContext): ExitStatus {
  const { options } = context;
  const asked = ['jsonl', 'tsv', 'body', 'records'].filter(name => options[name] !== undefined);
  if (asked.length > 1) throw new LccError('usage', `--${asked.join(' and --')}: give one of them`);
  const { body, store } = options;
  const docId = typeof body === 'string' ? idOf(body) : undefined;
  const chunks = typeof store === 'string' ? storedRecords(store, docId) : readChunks(context.stdin);
  const output = new Output(context.stdout);
  if (docId !== undefined) writeBody(output, chunks, docId);
  else if (options['records'] === true) writeRecords(output, chunks);
  else writeLines(output, chunks, options['tsv'] === true ? formatTsv : formatJsonl);
  return EXIT.ok;
}

function idOf(text: string): number {
  if (!/^\d{1,10}$/.test(text) || Number(text) > MAX_DOC_ID)
    throw new LccError('usage', `--body=${text}: give the doc_id of a record, 0 to ${MAX_DOC_ID}`);
  return Number(text);
}
