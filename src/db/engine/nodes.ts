/** `[store]` as read: nodes of the engine, and how they may be spoken to. */
import { closeSync, fstatSync, openSync } from 'node:fs';
import type { Settings } from '../../config/settings/index.js';
import { readAuthorities, readSetting } from '../../lib/authorities.js';
import { parseEndpoint } from '../../lib/endpoint.js';
import { LccError } from '../../lib/errors.js';
import { firstLineOf } from '../../lib/first-line.js';
import { isLoopback } from '../../lib/loopback.js';

export interface EngineNode {
  host: string;
  port: number;
}

export interface EngineAccount {
  /** In the order in which they are tried. */
  nodes: readonly EngineNode[];
  user: string;
  password: string;
  database: string;
  /** PEM certificates of those who may sign that of a node; undefined: without TLS. */
  ca: Buffer | undefined;
}

const PORT = 3306;
const MAX_NODES = 9;
const URL_FORM = /^mariadb:\/\/([\w.-]{1,80})(:[^@]*)?@([^/@\s]+)\/(\w{1,64})$/;

type StoreSettings = Pick<Settings['store'], 'url' | 'passwordFile' | 'tlsCa' | 'plain'>;

/** @param other than the user of the url @throws LccError `config` for each way in which it must not be */
export function engineAccount(
  { url, passwordFile, tlsCa, plain }: StoreSettings,
  other?: string,
): EngineAccount {
  const [whole, user = '', secret, hosts = '', database = ''] = URL_FORM.exec(url) ?? [];
  // Neither message shows the url: what is wrong with it may be a password.
  if (secret !== undefined || /:\/\/[^/]*:[^/@]*@/.test(url))
    throw refused('store.url', 'has a password in it; write that to a file of its own, store.password_file');
  if (whole === undefined)
    throw refused('store.url', 'write mariadb://USER@HOST[:PORT][,HOST…]/DATABASE; the own node first');
  const nodes = hosts.split(',').map(nodeOf);
  if (nodes.length > MAX_NODES) throw refused('store.url', `names more than ${MAX_NODES} nodes`);
  const far = nodes.find(({ host }) => !isLoopback(host));
  if (far !== undefined && tlsCa === '' && !plain)
    throw refused(
      'store.url',
      `${far.host} would be spoken to in plain text; name the authority of its certificate as store.tls_ca, or set store.plain = true where nobody else listens`,
    );
  return {
    nodes,
    user: other ?? user,
    database,
    password: passwordFile === '' ? '' : readPassword(passwordFile),
    ca: tlsCa === '' ? undefined : readAuthorities('store.tls_ca', tlsCa),
  };
}

function nodeOf(text: string): EngineNode {
  try {
    const endpoint = parseEndpoint(text, PORT);
    if (endpoint.kind === 'tcp' && endpoint.port > 0) return endpoint;
  } catch {
    // Below.
  }
  throw refused('store.url', `"${text}" is no node; write HOST or HOST:PORT`);
}

function readPassword(file: string): string {
  const line = readSetting('store.password_file', file, () => {
    const fd = openSync(file, 'r');
    try {
      if ((fstatSync(fd).mode & 0o077) !== 0)
        throw refused('store.password_file', `others may read or write ${file}; chmod 600 ${file}`);
      return firstLineOf(fd);
    } finally {
      closeSync(fd);
    }
  });
  if (line === undefined || line === '')
    throw refused('store.password_file', `the first line of ${file} is no password; write it there`);
  return line;
}

function refused(setting: string, why: string): LccError {
  return new LccError('config', `${setting}: ${why}`);
}
