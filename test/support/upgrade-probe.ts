/** A program for tests of the migration: opens lcc.db for writing, as lccd does. */
import { openDatabase } from '../../src/db/sqlite/open.js';

openDatabase(process.argv[2] ?? '').close();
