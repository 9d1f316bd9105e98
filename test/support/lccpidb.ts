/** The real bin/lccpidb on homes that are removed when the tests are over. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './command.js';
import { atEnd } from './at-end.js';

const parent = mkdtempSync(join(tmpdir(), 'lcc-pidb-'));
let homes = 0;
atEnd(() => rmSync(parent, { recursive: true }));

/** One that is not there yet. */
export const newHome = () => join(parent, `home${++homes}`);

export const lccpidb = (home: string, ...args: string[]) => runCommand(home, 'lccpidb', args);
