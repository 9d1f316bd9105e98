/** The columns of pidb that an operator decides, and what else a damaged row must not change unnoticed. */
const TERMS = `pid, password, enabled, filesmax, spacemax, fullsetsallowed, bandwidth, timeofday, priority, parallel, enforce,
  paused, fusepercent, fuseurls, maxlen, fetchtimeout, useragent`;

/** SQL that changes what is summed takes the sum away: what people write with SQL is believed. */
const forgotten = (name: string, event: string, pid: string) =>
  `CREATE TRIGGER ${name} AFTER ${event} BEGIN DELETE FROM pidbsum WHERE pid = ${pid}; END;`;

/** Schema 5: checksums of what providers are served by, and of what they are told. */
export const migration005 = `
-- Of a provider's terms, password, roots and login together (db/terms.ts); a provider that has none is believed. A table of
-- its own: one flipped bit in a row's header could take a column away.
CREATE TABLE pidbsum(
  pid INTEGER PRIMARY KEY,
  sum INTEGER NOT NULL
);
${forgotten('pidb_inserted', 'INSERT ON pidb', 'new.pid')}
${forgotten('pidb_updated', `UPDATE OF ${TERMS} ON pidb`, 'new.pid')}
${forgotten('pidb_deleted', 'DELETE ON pidb', 'old.pid')}
${['proots', 'sitelogin']
  .map(table =>
    [
      forgotten(`${table}_inserted`, `INSERT ON ${table}`, 'new.pid'),
      forgotten(`${table}_updated`, `UPDATE ON ${table}`, 'new.pid'),
      forgotten(`${table}_moved`, `UPDATE OF pid ON ${table}`, 'old.pid'),
      forgotten(`${table}_deleted`, `DELETE ON ${table}`, 'old.pid'),
    ].join('\n'),
  )
  .join('\n')}

-- NULL = from before.
ALTER TABLE pierr ADD COLUMN sum INTEGER;
`;
