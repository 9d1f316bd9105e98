/** Safeguards of a kept home taken out: something is told that is not in the engine, or sent without a lease. */
import { edit, type Mutant } from './mutants.js';

export const GATE_MUTANTS: readonly Mutant[] = [
  {
    without: 'the answer to a UNS waiting for the engine',
    edits: [edit("await kept.shipped('lcc');", '')],
    by: { file: 'qm/gate', test: 'answers a UNS when the set is in the engine, and not before' },
  },
  {
    without: 'deletions waiting for the engine',
    edits: [edit('all.filter(({ fid }) => fid <= upTo)', 'all')],
    by: {
      file: 'qm/gate',
      test: 'has a file deleted when the row that let go of it is in the engine, and not before',
    },
  },
  {
    without: 'the answer of a control waiting for the engine',
    edits: [edit("kept.isKept ? kept.shipped('lcc').then(() => done) : done", 'done')],
    by: {
      file: 'qm/gate',
      test: 'answers a control that has changed something when that is in the engine, and others at once',
    },
  },
  {
    without: 'the answer to a Registration Server waiting for the engine',
    edits: [edit("await this.#options.kept.shipped('lcc');", '')],
    by: { file: 'qm/gate', test: 'answers a Registration Server when what it asked for is in the engine' },
  },
  {
    without: 'the lease before each send',
    edits: [edit('lease.untilMs - clock.monotonicMs()', '1')],
    by: {
      file: 'qm/gate',
      test: 'is over when its time is, by the clock alone: a process that was stopped finds it so',
    },
  },
  {
    without: 'the acknowledgement of a set waiting for the Queue Manager of a kept home',
    edits: [edit('await absorptions?.of(entry);', '')],
    by: {
      file: 'uns/gate',
      test: 'is called accepted when the Queue Manager has absorbed it, and not before',
    },
  },
  {
    without: 'the move of a cursor waiting for the engine',
    edits: [edit('this.#shipped === undefined ? reached', 'true ? reached')],
    by: {
      file: 'cu/gate',
      test: 'moves, and its changes are told, when they are in the engine, and not before',
    },
  },
  {
    without: 'an answer with a cursor waiting for the engine',
    edits: [edit('await parts.shipped();', '')],
    by: { file: 'cu/gate', test: 'answers when what it has looked at is in the engine, and not before' },
  },
  {
    without: 'the change feed waiting for the engine',
    edits: [edit('await this.#parts.shipped();', '')],
    by: { file: 'cu/http/gate', test: 'tells an event when it is in the engine, and not before' },
  },
  {
    without: 'changes of the library waiting for the engine',
    edits: [edit('await this.#shipped?.();', '')],
    by: { file: 'cu/gate', test: 'gives changes when they are in the engine, and not before' },
  },
  {
    without: 'answers over HTTP waiting for the engine',
    edits: [edit('await gate?.answers();', '')],
    by: {
      file: 'rs/gate',
      test: 'that has committed something is answered when that is in the engine; another is not kept waiting',
    },
  },
  {
    without: 'operations waiting for the engine',
    edits: [edit('await leaves();', ';')],
    by: {
      file: 'rs/gate',
      test: 'an operation goes to the Queue Manager when it is in the engine, and not before',
    },
  },
  {
    without: 'mail waiting for the engine',
    edits: [edit('await leaves?.();', '')],
    by: { file: 'rs/gate', test: 'a mail goes to its server when it is in the engine, and not before' },
  },
  {
    without: 'checkpoints of a kept home left to its keeper',
    edits: [edit('isKept ? 0 : MOST_PAGES', 'MOST_PAGES')],
    by: {
      file: 'db/sqlite/checkpoints',
      test: 'a log of a kept home is left to its keeper, however long it is',
    },
  },
  {
    without: 'the end of a command waiting for the engine',
    edits: [edit('await shippedWithin(kept, name, clock, limitMs);', '')],
    by: { file: 'daemon/open-kept', test: 'is done when it is in the engine, and not before' },
  },
];
