/** The tables of the engine; a database of it is one LCC, a shard is one home. */

const SHARD = 'SMALLINT UNSIGNED NOT NULL';
const NAME = 'VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL';
const MACHINE = 'VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL';
const NUMBER = 'BIGINT UNSIGNED NOT NULL';
const PIECE = 'INT UNSIGNED NOT NULL';
const PLACE = 'VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL';

interface Table {
  /** Columns of the key, in its order. */
  key: Readonly<Record<string, string>>;
  /** The others. */
  more: Readonly<Record<string, string>>;
}

const TABLES: Readonly<Record<string, Table>> = {
  home: {
    key: { shard: SHARD },
    more: { lcc: NAME.replace('16', '36'), epoch: NUMBER, owner: MACHINE, open: 'TINYINT UNSIGNED NOT NULL' },
  },
  pulse: { key: { shard: SHARD }, more: { epoch: NUMBER, beat: NUMBER } },
  standby: { key: { shard: SHARD, machine: MACHINE }, more: { behind: NUMBER, at: NUMBER } },
  file: {
    key: { shard: SHARD, name: NAME },
    more: { epoch: NUMBER, n: NUMBER, part: NUMBER, pos: PLACE, base: NUMBER },
  },
  log: { key: { shard: SHARD, name: NAME, n: NUMBER, k: PIECE }, more: { data: 'LONGBLOB NOT NULL' } },
  base: { key: { shard: SHARD, name: NAME, base: NUMBER, i: PIECE }, more: { data: 'LONGBLOB NOT NULL' } },
  // Tables of the whole.
  pmdb: { key: { pid: NUMBER }, more: { shard: SHARD, state: NAME } },
  move: { key: { pid: NUMBER }, more: { src: SHARD, dst: SHARD, stage: NAME, n: NUMBER } },
};

/** Statements that make what is not there. */
export const MAKE_TABLES: readonly string[] = Object.entries(TABLES).map(([name, { key, more }]) => {
  const columns = Object.entries({ ...key, ...more }).map(column => column.join(' '));
  return `CREATE TABLE IF NOT EXISTS ${name} (${columns.join()}, PRIMARY KEY (${Object.keys(key).join()})) ENGINE = InnoDB`;
});
