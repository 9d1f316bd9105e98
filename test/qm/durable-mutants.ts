/** Safeguards of what is promised to be on disk taken out, to be noticed by the tests named. */
import { edit, type Mutant } from './mutants.js';

export const DURABLE_MUTANTS: readonly Mutant[] = [
  {
    without: 'synchronous=FULL',
    edits: [
      edit('db.pragma(`synchronous = ${synchronous}`);', "db.pragma('synchronous = NORMAL');"),
      edit("db.pragma('synchronous', { simple: true }) !== SYNCHRONOUS[synchronous]", 'false'),
    ],
    by: {
      file: 'db/sqlite/open',
      test: 'a commit is synced: WAL with synchronous=FULL, also when the database is opened again',
    },
  },
  {
    without: 'the assertion that SQLite took it',
    edits: [edit('db.pragma(`synchronous = ${synchronous}`);', '')],
    by: {
      file: 'db/sqlite/open',
      test: 'a commit is synced: WAL with synchronous=FULL, also when the database is opened again',
    },
  },
  {
    without: 'fsync before the rename of a file',
    edits: [edit(': data);\n            fsyncSync(fd);', ': data);')],
    by: {
      file: 'lib/durable',
      test: 'a file is written, synced, renamed into place, and its directory synced, in this order',
    },
  },
  {
    without: 'fsync of the directory of a new name',
    edits: [edit('    syncDirectory(dirname(path));\n', '')],
    by: {
      file: 'lib/durable',
      test: 'a file is written, synced, renamed into place, and its directory synced, in this order',
    },
  },
  {
    without: 'fsync before a spooled set gets its name',
    edits: [edit('await this.#synced(fd, sync);', '')],
    by: { file: 'lib/spool', test: 'ends the process, and the entry is not promised' },
  },
  {
    without: 'fsync of the directory before a set is promised',
    edits: [edit('await syncDirectoryAside(this.#new);', '')],
    by: { file: 'lib/spool', test: 'is promised only when its name was synced' },
  },
  {
    without: 'a promise waiting for the sync of its directory',
    edits: [edit('await syncDirectoryAside(', 'void syncDirectoryAside(')],
    by: { file: 'lib/spool', test: 'is promised only when its name was synced' },
  },
  {
    without: 'the acknowledgement of a set waiting for the disk',
    edits: [edit('await (kind', 'void (kind')],
    by: { file: 'uns/server', test: 'is told to the CP at once, and what was accepted before stays' },
  },
];
