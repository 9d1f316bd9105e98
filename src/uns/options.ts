/** Settings of a UNS: plain values, taken in one place. */
import { join } from 'node:path';
import { freeDiskOf } from '../config/free-disk.js';
import { xmlLimitsOf } from '../config/limits.js';
import { limitIn, type NumberKey } from '../config/settings/index.js';
import type { Services } from '../daemon/types.js';
import { placesAtDoor } from '../lib/open-files.js';
import { spoolDirOf } from './spool-dir.js';

/** Files besides the connections: databases, spool entries being written, the log. */
const KEPT_FILES = 100;

/** Replies waiting for a CP to read them before its set is read on. */
export const MAX_REPLY_BYTES = 1 << 20;
/** Time a CP has to read the last reply before it is cut. */
export const LINGER_TIMEOUT_MS = 5000;

export type UnsLimit = Extract<NumberKey, `uns.${string}`>;

export type UnsOptions = ReturnType<typeof unsOptions>;

/**
 * @param openFiles how many files the process may have open: connections stay below, so that the spool always
 * works
 */
export function unsOptions({ home, settings }: Pick<Services, 'home' | 'settings'>, openFiles: number) {
  const { uns, xml, wire, qm, store } = settings;
  const maxAtDoor = placesAtDoor(openFiles);
  // As many again may be about to speak TLS.
  const most = Math.max(1, Math.min(uns.maxConnections, openFiles - KEPT_FILES - 2 * maxAtDoor));
  return {
    /** Name of this UNS, part of the names of its spool and of its entries. */
    id: uns.id,
    spoolDir: spoolDirOf(home, uns.id),
    /** Free space that the disk of the spool must have for sets to be taken. */
    minFree: freeDiskOf(settings, 'uns'),
    sessionsDb: join(home.unsSpool, 'sessions.db'),
    lccDb: home.db,
    mimes: uns.mime,
    xml: { ...xmlLimitsOf(xml), maxHelloBytes: wire.maxHelloBytes },
    maxUrlBytes: xml.urlBytes,
    fullSetPeriodMs: qm.fullSetPeriodMs,
    qmTimeoutMs: uns.qmTimeoutMs,
    /** True if the home has an engine: sets are promised when they are absorbed. */
    isKept: store.url !== '',
    /** Connections that are turned away and may stay to read why; beyond, they are cut. */
    maxAtDoor,
    limits: { ...uns, maxConnections: most },
  };
}

/** `32 (uns.max_connections_per_address)`: a limit as a refusal names it. */
export function limitOf({ limits }: UnsOptions, key: UnsLimit): string {
  return limitIn({ uns: limits }, key);
}
