/**
 * What the acceptance knows of each indexer: the example that feeds it and how it is asked. Everything else is the same
 * for all of them.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Old engines that write their own files, what builds on libraries of today, what comes from npm. */
export type Family = 'engines' | 'libraries' | 'npm';

export interface Adapter {
  /** Its folder below examples/. */
  name: string;
  family: Family;
  /** Programs of Debian that it needs, by name or path. */
  programs: readonly string[];
  /** Shell line that prints what is found for `$W`, browse URLs in whatever surrounds them; runs in the index's directory. */
  search: string;
  /** Shell line that ends what `update` started. */
  stop?: string;
  /** The word for déjà where the indexer knows no accents. */
  deja?: string;
  /** Tried with every change of the code; the others in the long set. */
  often?: true;
  /** Cannot forget: what it finds goes through lccq-resolve, which drops a page as soon as it has changed. */
  resolves?: boolean;
}

const LATIN1 = '"$(printf %s "$W" | iconv -f utf-8 -t latin1)"';
const HTSEARCH = '/usr/lib/cgi-bin/htsearch';

export const ADAPTERS: readonly Adapter[] = [
  {
    name: 'fts5',
    family: 'libraries',
    often: true,
    programs: ['sqlite3'],
    search: `sqlite3 pages.db "SELECT burl FROM pages WHERE pages MATCH '$W'"`,
  },
  {
    name: 'swish-e',
    family: 'engines',
    often: true,
    programs: ['swish-e', 'iconv'],
    search: `swish-e -f index/pages.idx -H0 -x '%p\\n' -w ${LATIN1} || true`,
  },
  {
    name: 'swish++',
    family: 'engines',
    programs: ['index++', 'search++'],
    search: 'search++ -i pages.index "$W" | lccq-resolve',
    deja: 'deja',
    resolves: true,
  },
  {
    name: 'htdig',
    family: 'engines',
    programs: ['htdig', 'htpurge', HTSEARCH, '/usr/bin/python3', 'iconv'],
    search: `${HTSEARCH} -c htdig.conf "words="${LATIN1}";format=builtin-short;matchesperpage=1000"`,
  },
  {
    name: 'xapian-omega',
    family: 'libraries',
    often: true,
    programs: ['scriptindex', 'quest'],
    search: `quest --db=db --stemmer=none --msize=1000 "$W" | sed -n 's/^url=//p'`,
  },
  {
    name: 'recoll',
    family: 'libraries',
    programs: ['recollq', '/usr/bin/python3', '/usr/lib/python3/dist-packages/recoll/recoll.py'],
    search: 'recollq -c recoll -b "$W"',
  },
  {
    name: 'groonga',
    family: 'libraries',
    programs: ['groonga'],
    search: `groonga db/pages select Pages --match_columns 'title||text' --query "$W" --output_columns burl --limit -1`,
  },
  {
    name: 'notmuch',
    family: 'libraries',
    programs: ['notmuch', '/usr/bin/python3'],
    search:
      'export NOTMUCH_CONFIG=$PWD/notmuch-config; ' +
      `notmuch search --output=files "$W" | xargs -r -n 1 sed -n 's/^X-LCC-URL: //p'`,
  },
  {
    name: 'sphinx',
    family: 'libraries',
    programs: ['searchd', 'mariadb'],
    search:
      'mariadb --no-defaults --socket=$PWD/sphinx.sock --default-character-set=utf8 --skip-column-names ' +
      `-e "SELECT burl FROM pages WHERE MATCH('$W') LIMIT 1000"`,
    stop: 'searchd --config sphinx.conf --stopwait',
  },
  { name: 'minisearch', family: 'npm', programs: [], search: 'node "$EXAMPLE/search.mjs" index.json "$W"' },
  { name: 'pagefind', family: 'npm', programs: [], search: 'node "$EXAMPLE/search.mjs" pagefind "$W"' },
];

/** Why the indexer cannot be tried here, or false: for `skip`. Under CI a missing program is a failure, not a skip. */
export function missing({ programs }: Adapter): string | false {
  const absent = programs.filter(
    program =>
      !(program.startsWith('/')
        ? existsSync(program)
        : (process.env['PATH'] ?? '').split(':').some(directory => existsSync(join(directory, program)))),
  );
  return absent.length > 0 && process.env['CI'] !== 'true' && `no ${absent.join(', ')}`;
}
