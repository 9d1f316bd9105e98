/**
 * Safeguards of what is queued and held taken out, to be noticed by the model or the tests named. The source marks the
 * place of each with a comment, `// safeguard: ` and what the code no longer does without it.
 */
import type { Edit } from '../support/mutation.js';

export interface Mutant {
  /** What the code no longer does: the name of the marks in the source. */
  without: string;
  /** Each at the one mark of this name that has the text after it. */
  edits: Edit[];
  /** Noticed by the model's random histories, unless by this named test. */
  by?: { file: string; test: string };
}

export const edit = (find: string, replace: string): Edit => ({ find, replace });

export const QUEUE_MUTANTS: readonly Mutant[] = [
  {
    without: 'the generation in results',
    edits: [
      edit('row === undefined || row.gen !== sent.gen || state', 'row === undefined || state'),
      edit('WHERE pos = ? AND gen = ? AND op = 1', 'WHERE pos = ? AND gen >= ? AND op = 1'),
    ],
  },
  {
    without: 'a delete during the fetch winning',
    edits: [
      edit('SET op = 0, gen = gen + 1, named', 'SET op = 0, named'),
      edit("row.gen !== sent.gen || state === 'cancelled' || ", 'row.gen !== sent.gen || '),
      edit('AND gen = ? AND op = 1', 'AND gen = ?'),
    ],
  },
  {
    without: 'full sets reconciling the queue',
    edits: [edit('this.#dropRow(row.pos);', '{}')],
  },
  {
    without: 'full sets reconciling the content',
    edits: [edit('this.stores.content.remove(pid, held, nowS());', '{}')],
  },
  {
    without: 'memory of what was absorbed',
    edits: [
      edit('this.#state = options.store.absorb.sets.find(uns, head.entry);', ''),
      edit('INSERT INTO absorbed(', 'INSERT OR REPLACE INTO absorbed('),
    ],
  },
  {
    without: 'going on where a set was cut off',
    edits: [
      edit('this.#state.complete ? Infinity : this.#state.rowsdone', 'this.#state.complete ? Infinity : 0'),
    ],
  },
  {
    without: 'the answer waiting for the commit',
    edits: [
      edit(
        'return await this.#complete();\n            this.#commit();',
        '{ setImmediate(() => this.#complete()); return { queued: 0, duplicate: 0, unchanged: 0, deleted: 0 }; }\n            this.#commit();',
      ),
    ],
  },
  {
    without: 'the answers waiting for the commit of their group',
    edits: [
      edit(
        'const values = commit(() => group.map(({ change }) => change()));',
        'for (const { done } of group) done({ state: {} });\n            const values = commit(() => group.map(({ change }) => change()));',
      ),
    ],
    by: { file: 'lib/group-commit', test: 'nobody is told before the commit that all share' },
  },
  {
    without: 'incomplete sets being kept from the order',
    edits: [
      edit(
        'this.#slice = new Slice();\n        step(',
        'this.#slice = new Slice();\n        this.#options.store.queue.addSet({ slot: -1, class: 0, ...this.#state });\n        step(',
      ),
    ],
  },
  {
    without: 'what may be older than the last set being passed over',
    edits: [edit('newest > last.newest', 'true')],
    by: {
      file: 'qm/set-order',
      test: 'in whatever order two UNSes hand over, every url is as its last accepted set said, or a full set is wanted',
    },
  },
  {
    without: 'the order of sets',
    edits: [edit('ORDER BY class, psetid ${AT_MOST}', 'ORDER BY class, psetid DESC ${AT_MOST}')],
  },
  {
    without: 'reading on behind the sets that are in memory',
    edits: [edit('sets.length < room ? Infinity : last', 'Infinity')],
  },
  {
    without: 'sets that come while others are only in the database waiting there',
    edits: [edit('if (rank > this.#end)\n            return;', '')],
  },
  {
    without: 'knowing sets that are only in the database, when rows come back into them',
    edits: [edit('rank > this.#end || this.#sets.has', 'this.#sets.has')],
    by: {
      file: 'qm/schedule/url-order',
      test: 'rows that come back into a set that is only stored have none before it passed over',
    },
  },
  {
    without: 'finding the providers with sets at the start',
    edits: [edit('this.#providers.addStored(pid);', 'pid;')],
  },
  {
    without: 'the order within a set',
    edits: [
      edit('AND tries = 0 ORDER BY pos ${AT_MOST}', 'AND tries = 0 ORDER BY curl DESC, pos ${AT_MOST}'),
    ],
  },
  {
    without: 'the first position being kept',
    edits: [
      edit(
        'UPDATE OR FAIL queued SET\n',
        'UPDATE OR FAIL queued SET pos = (SELECT max(pos) + 1 FROM queued),\n',
      ),
    ],
  },
  {
    without: 'failed urls going to the end of their set',
    edits: [edit('AND slot = ? AND tries = 0 ORDER', 'AND slot = ? ORDER')],
    by: {
      file: 'qm/model',
      test: 'a url that failed comes behind the others of its set, also after a crash',
    },
  },
  {
    without: 'what waits being fetched although it looks unchanged',
    edits: [
      edit(
        '(saysUnchanged(url, held, slice.enforced) && !this.#isWaiting(slice, url, false))',
        'saysUnchanged(url, held, slice.enforced)',
      ),
    ],
  },
  {
    without: 'doubt in what was said and did not come',
    edits: [edit('if (held.doubted !== 0)', 'if (false)')],
    by: {
      file: 'qm/model',
      test: 'content that is not what was announced is fetched again, and believed when the same came again',
    },
  },
  {
    without: 'belief in what was said and did not come twice',
    edits: [edit('isDoubtful && !isAgain', 'isDoubtful')],
    by: {
      file: 'qm/model',
      test: 'content that is not what was announced is fetched again, and believed when the same came again',
    },
  },
  {
    without: 'an end of the doubt in what is held when that is said',
    edits: [edit('doubted: isKnown ? 0 : held.doubted', 'doubted: held.doubted')],
    by: {
      file: 'qm/model',
      test: 'content is in doubt no longer when its md5 is announced',
    },
  },
  {
    without: 'forgetting words that are not said any more',
    edits: [edit('saidmd5: isKnown ? null : held.saidmd5', 'saidmd5: held.saidmd5')],
    by: {
      file: 'qm/model',
      test: 'what was announced and never came is believed no longer when what is held is announced',
    },
  },
  {
    without: 'confirming what is held when it comes again',
    edits: [edit('isSameContent(held, arrived)', 'false')],
  },
  {
    without: 'the same bytes taking no number when they are said to be newer',
    edits: [
      edit('if (mtime !== held.mtime)', 'if (mtime !== held.mtime && this.stores.tally.takeSeq() > 0)'),
    ],
  },
  {
    without: '"if absent" naming what waits',
    edits: [edit('this.#nameRow(state.psetid, state.pid, url.curl, url.mimetype, state.psetid);', '')],
  },
  {
    without: 'forgetting what was read ahead',
    edits: [edit('this.stores.queue.changed(pid);', '')],
  },
  {
    without: 'freeing the file of a result that comes too late',
    edits: [
      edit(
        "if (result?.status === 'ok')\n                this.#free(result);\n            if (row === undefined)",
        'if (row === undefined)',
      ),
    ],
  },
  {
    without: 'freeing the file that is replaced',
    edits: [
      edit(
        'this.#letGo(seq, key.pid, held, nowS);\n            this.stores.tally',
        '{}\n            this.stores.tally',
      ),
    ],
  },
  {
    without: 'freed rows staying until their file is gone',
    edits: [edit("if (status === 'ok')\n", '')],
    by: { file: 'qm/model', test: 'a file is asked for until it is gone, though its machine was away' },
  },
  {
    without: 'the quota of files when content arrives',
    edits: [
      edit('use === undefined || use.filesused + 1 > use.filesmax', 'use === undefined'),
      edit('before === undefined && use.filesused + 1 > use.filesmax', 'false'),
    ],
  },
  {
    without: 'the quota counting what deletes make free',
    edits: [edit('this.#use = use ?? UNLIMITED;', 'this.#use = { ...(use ?? UNLIMITED) };')],
    by: { file: 'qm/set-absorption', test: 'a delete makes room for what follows it in the same set' },
  },
  {
    without: 'counting rows that leave the queue',
    edits: [edit('this.#tally.waiting(row.pid, -1);', '{}')],
  },
  {
    without: 'keeping errors until the CP has received them',
    edits: [edit('WHERE pid = ? AND errseq <= ?', 'WHERE pid = ? AND errseq <= ? + 1')],
  },
  {
    without: 'the fuse',
    edits: [edit('return content > limit ? content : undefined;', 'return undefined;')],
  },
  {
    without: 'leaving alone what later sets named when held removals are released',
    edits: [edit('AND coalesce(q.named, q.psetid) >= ?)`;', 'AND coalesce(q.named, q.psetid) >= ? + 1e9)`;')],
    by: { file: 'qm/model', test: 'what a later set named outlives the release of held removals' },
  },
  {
    without: 'a later full set settling what earlier ones would have removed',
    edits: [edit('held.supersede(pid, psetid);', '{}')],
    by: { file: 'qm/model', test: 'a later full set settles what an earlier one would have removed' },
  },
];
