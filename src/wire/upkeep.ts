/**
 * Questions of a Queue Manager to a machine's store besides deletions: whether the content of a row is still
 * there, and that everything stored so far be put on disk. Part of the conversation of qm-bm.ts.
 *
 * down: <check id="21" machineid="m1" fileid="ab/cd/1e.0" md5="…" len="512"/>  <sync id="22" machineid="m1"/>
 * up:   <checked id="21" status="ok"/>                                          <synced id="22" status="ok"/>
 */
import { formatAttributes } from '../lib/xml/escape.js';
import type { Attributes } from '../lib/xml/types.js';
import { requiredInteger, requiredText, requiredWord } from './fields.js';

export interface CheckRequest {
  kind: 'check';
  /** Unique on the connection it is sent over. */
  id: number;
  machineId: string;
  fileId: string;
  /** Lower-case hex. */
  md5: string;
  len: number;
}

interface SyncRequest {
  kind: 'sync';
  id: number;
  machineId: string;
}

export type UpkeepRequest = CheckRequest | SyncRequest;

export interface UpkeepResult {
  kind: UpkeepRequest['kind'];
  id: number;
  /** `bad`: the file is gone or not that content; of a sync: something written since the last one is lost.
   * `unable`: it could not be done now. `away`: no Bot Manager for that machine is connected. */
  status: 'ok' | 'bad' | 'unable' | 'away';
}

const STATUSES: readonly UpkeepResult['status'][] = ['ok', 'bad', 'unable', 'away'];
const ANSWERS = { check: 'checked', sync: 'synced' } as const;

export function formatUpkeep(request: UpkeepRequest): string {
  const { kind, id, machineId: machineid } = request;
  if (kind === 'sync') return `<sync${formatAttributes({ id, machineid })}/>\n`;
  const { fileId: fileid, md5, len } = request;
  return `<check${formatAttributes({ id, machineid, fileid, md5, len })}/>\n`;
}

/** Undefined when the element is none of these. @throws LccError `peer.protocol` */
export function readUpkeep(name: string, attributes: Attributes): UpkeepRequest | undefined {
  if (name !== 'check' && name !== 'sync') return undefined;
  const id = requiredInteger(name, attributes, 'id');
  const machineId = requiredText(name, attributes, 'machineid');
  if (name === 'sync') return { kind: name, id, machineId };
  const fileId = requiredText(name, attributes, 'fileid');
  const md5 = requiredText(name, attributes, 'md5').toLowerCase();
  return { kind: name, id, machineId, fileId, md5, len: requiredInteger(name, attributes, 'len') };
}

export function formatUpkept({ kind, id, status }: UpkeepResult): string {
  return `<${ANSWERS[kind]}${formatAttributes({ id, status })}/>\n`;
}

/** Undefined when the element is none of these. @throws LccError `peer.protocol` */
export function readUpkept(name: string, attributes: Attributes): UpkeepResult | undefined {
  const kind = name === ANSWERS.check ? 'check' : name === ANSWERS.sync ? 'sync' : undefined;
  if (kind === undefined) return undefined;
  return {
    kind,
    id: requiredInteger(name, attributes, 'id'),
    status: requiredWord(name, attributes, 'status', STATUSES),
  };
}
