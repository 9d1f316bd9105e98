/** Databases of a home that are kept in an engine (lcc-cluster(7)), and their files below the home. */
export const KEPT = { lcc: 'lcc.db', rs: 'rs/rs.db', clear: 'clear/clear.db' } as const;

/** Defaults that are others in a kept home: another machine takes it over only after robots have given up. */
export const KEPT_DEFAULTS: Readonly<Record<string, number>> = { 'wire.ping_interval_ms': 1000 };

export type KeptName = keyof typeof KEPT;
