/**
 * The tables with rows of a provider, and how they go to another shard. Ids of content stay as they are, for
 * they are unique over all shards; numbers of changes, of places in the queue and of sets are new, in their
 * old order. In a parcel (parcel.ts) sets and places are numbered from 1.
 */

export interface Carried {
  table: string;
  /** Condition of the rows of provider `$pid`. */
  where: string;
  /** Order of the rows, in which they get numbers. */
  order: string;
  /** Columns that name a set, and those that name a place; 0 and NULL name none. */
  sets?: readonly string[];
  places?: readonly string[];
  /** Columns left out, for the home that takes the rows gives them numbers. */
  renumbered?: readonly string[];
  /** Columns that have another value in a parcel. */
  instead?: Readonly<Record<string, string>>;
}

const ITS_OWN = 'pid = $pid';
/** Sets that are still known as taken: what pages show of a provider. */
const TAKEN_SETS = 1000;

/** A place within a range, the first or the last that is taken. */
function within(which: 'min' | 'max'): string {
  return `coalesce((SELECT ${which}(n) FROM places WHERE old BETWEEN firstpos AND lastpos), 0)`;
}
const RANGE = { firstpos: within('min'), lastpos: within('max') };

/** Two homes may have a UNS of one name: away from home it has that of its shard in front, as no UNS has. */
const uns = (column: string) =>
  `CASE WHEN ${column} = '' OR ${column} GLOB '*/*' THEN ${column} ELSE $src || '/' || ${column} END`;

/** In the order in which they are put in. */
export const CARRIED: readonly Carried[] = [
  {
    table: 'pidb',
    where: ITS_OWN,
    order: 'pid',
    sets: ['latestpsetid'],
    instead: { latestuns: uns('latestuns') },
  },
  { table: 'proots', where: ITS_OWN, order: 'root' },
  { table: 'givenroot', where: ITS_OWN, order: 'root' },
  // The login itself is not in the database.
  {
    table: 'sitelogin',
    where: ITS_OWN,
    order: 'pid',
    instead: { login: "coalesce((SELECT login FROM home.moving WHERE pid = $pid), '')" },
  },
  { table: 'rsop', where: ITS_OWN, order: 'at, id' },
  { table: 'pierr', where: ITS_OWN, order: 'errseq', renumbered: ['errseq'] },
  { table: 'failure', where: ITS_OWN, order: 'id', sets: ['psetid'], renumbered: ['id'] },
  {
    table: 'absorbed',
    where: `psetid IN (SELECT psetid FROM home.absorbed WHERE pid = $pid ORDER BY psetid DESC LIMIT ${TAKEN_SETS})`,
    order: 'psetid',
    sets: ['psetid'],
    instead: { uns: uns('uns'), ...RANGE },
  },
  // All that waits for its hours is put back into its set, and waits again when its turn has come.
  {
    table: 'qpsdb',
    where: `pid = $pid AND starttimeslot = (SELECT min(starttimeslot) FROM home.qpsdb AS part WHERE part.psetid = qpsdb.psetid)
      AND EXISTS (SELECT 1 FROM places WHERE old BETWEEN firstpos AND lastpos)`,
    order: 'psetid',
    sets: ['psetid'],
    instead: { starttimeslot: '-1', ...RANGE },
  },
  {
    table: 'qdb',
    where: ITS_OWN,
    order: 'pos',
    sets: ['psetid', 'named'],
    places: ['pos'],
    instead: { slot: '-1' },
  },
  { table: 'held', where: ITS_OWN, order: 'psetid', sets: ['psetid'] },
  {
    table: 'helddelete',
    where: 'psetid IN (SELECT psetid FROM home.held WHERE pid = $pid)',
    order: 'psetid, curl, mimetype',
    sets: ['psetid'],
  },
  { table: 'known', where: ITS_OWN, order: 'curl' },
  { table: 'audit', where: ITS_OWN, order: 'began, id' },
  { table: 'truth', where: ITS_OWN, order: 'day' },
  { table: 'pushday', where: ITS_OWN, order: 'day, door' },
  { table: 'tombstone', where: ITS_OWN, order: 'seq', renumbered: ['seq'] },
  { table: 'lccurl', where: ITS_OWN, order: 'seq', sets: ['psetid'], renumbered: ['seq'] },
  { table: 'visit', where: 'id IN (SELECT id FROM home.lccurl WHERE pid = $pid)', order: 'id' },
];

/** Tables with a column pid of which nothing goes along, and why. */
export const LEFT_BEHIND: Readonly<Record<string, string>> = {
  oldpath: 'paths in the stores of this shard, which this shard reports',
  moving: 'says that it moves',
  queued: 'goes along as qdb',
  qfolder: 'goes along as qdb',
};

/** The name of a UNS as shard `dst` has it. */
export function unsAt(dst: number, name: string): string {
  return name.startsWith(`${dst}/`) ? name.slice(`${dst}/`.length) : name;
}
