/** What a UNS must be told: plain values, taken from the settings in one place. */
import { join } from 'node:path';
import { freeDiskOf, type FreeDisk } from '../config/free-disk.js';
import { xmlLimitsOf } from '../config/limits.js';
import type { Config } from '../config/load.js';
import { limitText, type SettingKey } from '../config/settings/index.js';
import { SESSIONS_DB } from '../db/spools/sessions.js';
import { placesAtDoor } from '../lib/open-files.js';
import type { XmlLimits } from '../lib/xml/types.js';
import { spoolDirOf } from './spool-dir.js';

/** The settings a session is bounded by. */
const LIMITS = [
  'uns.max_connections',
  'uns.max_connections_per_address',
  'uns.max_connections_per_provider',
  'uns.login_timeout_ms',
  'uns.idle_timeout_ms',
  'uns.min_rate_bytes_per_s',
  'uns.session_timeout_ms',
  'uns.linger_timeout_ms',
  'uns.max_reply_bytes',
  'uns.max_set_urls',
  'uns.max_set_bytes',
  'uns.max_spool_bytes',
  'uns.errors_shown',
] as const satisfies readonly SettingKey[];
export type UnsLimit = (typeof LIMITS)[number];

/** Files besides the connections: databases, spool entries being written, the log. */
const KEPT_FILES = 100;

export interface UnsOptions {
  /** Name of this UNS, part of the names of its spool and of its entries. */
  id: string;
  spoolDir: string;
  /** What the disk of the spool must have free for sets to be taken. */
  minFree: FreeDisk;
  sessionsDb: string;
  lccDb: string;
  mimes: readonly string[];
  xml: XmlLimits & { maxHelloBytes: number };
  maxUrlBytes: number;
  fullSetPeriodMs: number;
  qmTimeoutMs: number;
  /** Connections that are turned away and may stay to read why; beyond, they are cut. */
  maxAtDoor: number;
  limits: Readonly<Record<UnsLimit, number>>;
}

/**
 * @param openFiles how many files the process may have open: connections stay below, so that the spool always works
 */
export function unsOptions(config: Config, openFiles: number): UnsOptions {
  const id = config.get('uns.id');
  const maxAtDoor = placesAtDoor(openFiles);
  const limits = Object.fromEntries(LIMITS.map(key => [key, config.get(key)])) as Record<UnsLimit, number>;
  limits['uns.max_connections'] = Math.max(
    1,
    // As many again may be about to speak TLS.
    Math.min(limits['uns.max_connections'], openFiles - KEPT_FILES - 2 * maxAtDoor),
  );
  return {
    id,
    spoolDir: spoolDirOf(config.home, id),
    minFree: freeDiskOf(config, 'uns'),
    sessionsDb: join(config.home.unsSpool, SESSIONS_DB.file),
    lccDb: config.home.db,
    mimes: config.get('uns.mime'),
    xml: { ...xmlLimitsOf(config), maxHelloBytes: config.get('wire.max_hello_bytes') },
    maxUrlBytes: config.get('xml.url_bytes'),
    fullSetPeriodMs: config.get('qm.full_set_period_ms'),
    qmTimeoutMs: config.get('uns.qm_timeout_ms'),
    maxAtDoor,
    limits,
  };
}

/** `32 (uns.max_connections_per_address)`: a limit as a refusal names it. */
export function limitOf(options: UnsOptions, key: UnsLimit): string {
  return limitText(key, options.limits[key]);
}
