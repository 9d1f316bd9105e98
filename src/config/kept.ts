/** Databases of a home that are kept in an engine (lcc-cluster(7)), and their files below the home. */
export const KEPT = { lcc: 'lcc.db', rs: 'rs/rs.db', clear: 'clear/clear.db' } as const;

export type KeptName = keyof typeof KEPT;
