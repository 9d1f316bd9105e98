/**
 * Questions of a Queue Manager to a machine's store besides deletions: whether the content of a row is still
 * there, that everything stored so far be put on disk, and that content of another shard's store on the same
 * machine be here as well, under a name of this store. Part of the conversation of qm-bm.ts.
 *
 * down: <check id="21" machineid="m1" fileid="ab/cd/1e.0" md5="…" len="512"/>  <sync id="22" machineid="m1"/>
 * up:   <checked id="21" status="ok"/>                                          <synced id="22" status="ok"/>
 *
 * down: <adopt id="23" machineid="m1" shard="0" fileid="ab/cd/1e.0" md5="…" len="512"/>
 * up:   <adopted id="23" status="ok" fileid="00/07/0000071e.2"/>
 */
import { formatAttributes } from '../lib/xml/escape.js';
import type { Attributes } from '../lib/xml/types.js';
import { requiredInteger, requiredText, requiredWord } from './fields.js';

interface ContentRequest {
  /** Unique on the connection it is sent over. */
  id: number;
  machineId: string;
  fileId: string;
  /** Lower-case hex. */
  md5: string;
  len: number;
}

export interface CheckRequest extends ContentRequest {
  kind: 'check';
}

export interface AdoptRequest extends ContentRequest {
  kind: 'adopt';
  /** The home in whose store the file is. */
  shard: number;
}

interface SyncRequest {
  kind: 'sync';
  id: number;
  machineId: string;
}

export type UpkeepRequest = CheckRequest | AdoptRequest | SyncRequest;

export interface UpkeepResult {
  kind: UpkeepRequest['kind'];
  id: number;
  /** `bad`: the file is gone or not that content; of a sync: something written since the last one is lost.
   * `unable`: it could not be done now. `away`: no Bot Manager for that machine is connected. `nowhere`: the
   * machine does not find the other shard's store. */
  status: 'ok' | 'bad' | 'unable' | 'away' | 'nowhere';
  /** Name in this store of content that is here now. */
  fileId?: string | undefined;
}

const STATUSES: readonly UpkeepResult['status'][] = ['ok', 'bad', 'unable', 'away', 'nowhere'];
const KINDS = ['check', 'adopt', 'sync'] as const;
const ANSWERS = { check: 'checked', adopt: 'adopted', sync: 'synced' } as const;

export function formatUpkeep(request: UpkeepRequest): string {
  const { kind, id, machineId: machineid } = request;
  if (kind === 'sync') return `<sync${formatAttributes({ id, machineid })}/>\n`;
  const { fileId: fileid, md5, len } = request;
  if (kind === 'check') return `<check${formatAttributes({ id, machineid, fileid, md5, len })}/>\n`;
  return `<adopt${formatAttributes({ id, machineid, shard: request.shard, fileid, md5, len })}/>\n`;
}

/** Undefined when the element is none of these. @throws LccError `peer.protocol` */
export function readUpkeep(name: string, attributes: Attributes): UpkeepRequest | undefined {
  if (name !== 'check' && name !== 'adopt' && name !== 'sync') return undefined;
  const id = requiredInteger(name, attributes, 'id');
  const machineId = requiredText(name, attributes, 'machineid');
  if (name === 'sync') return { kind: name, id, machineId };
  const fileId = requiredText(name, attributes, 'fileid');
  const md5 = requiredText(name, attributes, 'md5').toLowerCase();
  const content = { id, machineId, fileId, md5, len: requiredInteger(name, attributes, 'len') };
  if (name === 'check') return { kind: name, ...content };
  return { kind: name, ...content, shard: requiredInteger(name, attributes, 'shard') };
}

export function formatUpkept({ kind, id, status, fileId: fileid }: UpkeepResult): string {
  const file = fileid === undefined ? '' : formatAttributes({ fileid });
  return `<${ANSWERS[kind]}${formatAttributes({ id, status })}${file}/>\n`;
}

/** Undefined when the element is none of these. @throws LccError `peer.protocol` */
export function readUpkept(name: string, attributes: Attributes): UpkeepResult | undefined {
  const kind = KINDS.find(each => ANSWERS[each] === name);
  if (kind === undefined) return undefined;
  const id = requiredInteger(name, attributes, 'id');
  const status = requiredWord(name, attributes, 'status', STATUSES);
  if (kind !== 'adopt' || status !== 'ok') return { kind, id, status };
  return { kind, id, status, fileId: requiredText(name, attributes, 'fileid') };
}
