/** The file `backup.json` of a backup: of which LCC it is, and whether it is whole. */
import { join } from 'node:path';
import { writeFileDurably } from '../../lib/durable.js';
import { readIfThere } from '../../lib/read-if-there.js';

export const BACKUP_FILE = 'backup.json';
/** Raised when older programs cannot read what is beside it. */
const FORMAT = 1;

export interface BackupFacts {
  /** Version of the LCC, and number of the schema of its lcc.db. */
  version: string;
  schema: number;
  /** The LCC ran while it was copied. */
  live: boolean;
  /** RFC 3339. */
  began: string;
  /** Left out as long as something is missing. */
  ended?: string;
  /** Rows with content in it; rows whose content was gone, which is fetched again. */
  pages?: number;
  missing?: number;
}

export function writeBackupFile(dir: string, facts: BackupFacts): void {
  writeFileDurably(join(dir, BACKUP_FILE), `${JSON.stringify({ format: FORMAT, ...facts })}\n`, 0o600);
}

/** Undefined: the folder is no backup, or one of a format that this program does not know. */
export function readBackupFile(dir: string): BackupFacts | undefined {
  const text = readIfThere(join(dir, BACKUP_FILE));
  if (text === undefined) return undefined;
  try {
    const { format, ...facts } = Object(JSON.parse(text)) as BackupFacts & { format?: unknown };
    return format === FORMAT ? facts : undefined;
  } catch {
    return undefined;
  }
}
