/** A program for tests of moves: the Queue Managers of two homes, until the move of a provider is over. */
import { until } from './until.js';
import { closeHome, FileBook, openHome } from './moves.js';

const dir = process.argv[2] ?? '';
const homes = [openHome(dir, 0), openHome(dir, 1)];
for (const { mover } of homes) mover.start();
const book = new FileBook(dir);
await until('the move is over', () => book.read().move === undefined);
for (const home of homes) await closeHome(home);
