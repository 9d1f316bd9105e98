/** One request to the content door of another machine (wire/content.ts). */
import { request } from 'node:http';
import { SECOND } from '../../config/amounts.js';
import type { Clock } from '../../lib/clock.js';
import { connectFailure } from '../../lib/connect-failure.js';
import { dial, type Trust } from '../../lib/dial.js';
import { formatEndpoint, type Endpoint } from '../../lib/endpoint.js';
import { LccError } from '../../lib/errors.js';
import { MACHINE_HEADER } from '../../wire/content.js';

/** Until the answer begins, and between two pieces of it. */
const ANSWER_MS = 10 * SECOND;
const SILENCE_MS = 30 * SECOND;
/** Characters of an answer that is no content. */
const MOST_SAID = 300;

export interface PeerAnswer {
  /** The machine that answered. */
  machineId: string;
  /** False: it has no such file. */
  isThere: boolean;
}

/**
 * Resolves at the end of a whole answer, whose pieces `take` is given.
 * @throws LccError `peer.unavailable` where there was none; what `take` throws
 */
export function askPeer(
  { endpoint, trust, clock }: { endpoint: Endpoint; trust: () => Trust; clock: Clock },
  path: string,
  take: (piece: Buffer) => void,
): Promise<PeerAnswer> {
  const where = formatEndpoint(endpoint);
  const broken = (why: string) => new LccError('peer.unavailable', `${where}: ${why}`);
  // Certificates that cannot be read are a fault of this machine.
  const shown = trust();
  return new Promise((resolve, reject) => {
    const asked = request({
      path: `/${path}`,
      headers: { host: where.replace(/^(?:tls|unix):/, '') },
      createConnection: () => dial(endpoint, shown, () => undefined),
    });
    const cut = (error: unknown) => {
      asked.destroy();
      reject(error instanceof LccError ? error : broken(connectFailure(error)));
    };
    const limit = (delayMs: number) =>
      clock.after(delayMs, () => cut(broken(`silent for ${delayMs / SECOND} s`)));
    let cancel = limit(ANSWER_MS);
    asked.on('close', () => cancel());
    asked.on('error', cut);
    asked.on('response', response => {
      const { statusCode, headers } = response;
      const machineId = headers[MACHINE_HEADER];
      let said = '';
      response.on('data', (piece: Buffer) => {
        cancel();
        cancel = limit(SILENCE_MS);
        if (statusCode !== 200) return void (said = (said + piece.toString()).slice(0, MOST_SAID));
        try {
          take(piece);
        } catch (error) {
          cut(error);
        }
      });
      response.on('error', cut);
      response.on('end', () => {
        if (statusCode !== 200 && statusCode !== 404)
          return cut(broken(said.trim() || `answers ${statusCode}`));
        if (typeof machineId !== 'string')
          return cut(broken('is it what --listen-content of an lccd-bm names?'));
        resolve({ machineId, isThere: statusCode === 200 });
      });
    });
    asked.end();
  });
}
