/** The JSON API of a Registration Server, from the side of the site that asks. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { LccError, messageOf } from '../../lib/errors.js';
import { oneLine } from '../../lib/one-line.js';
import { certificateTrouble } from '../../lib/connect-failure.js';

/** A pair as the server shows it. */
export interface PairStanding {
  state: string;
  pid: number;
  /** The directory that is applied for. */
  url: string;
  /** The url of the file. */
  file: string;
  /** Directories that were proven. */
  proven: readonly string[];
  reason: { code: string; what: string; do: string } | undefined;
  /** Where sets are delivered to. */
  uns: string;
}

/** The one answer with the secrets; the pair of a root has no password. */
export interface PairMade extends PairStanding {
  id: string;
  secret: string;
  password: string;
}

/** Something that a server refuses, in its words. */
export class RegistrationRefused extends LccError {
  readonly status: number;
  readonly word: string;
  readonly retryAfterS: number | undefined;

  constructor(status: number, word: string, message: string, retryAfterS: number | undefined) {
    // An address that is not confirmed yet is, when its link was followed.
    const isLater = status === 408 || status === 429 || status >= 500 || word === 'unconfirmed';
    super(
      isLater ? 'try.later' : status === 401 || status === 403 ? 'auth.refused' : 'data.refused',
      message,
    );
    this.status = status;
    this.word = word;
    this.retryAfterS = retryAfterS;
  }
}

interface RegistrationServerOptions {
  /** Public address of the server. */
  url: string;
  timeoutMs: number;
  /** Certificates (PEM) trusted instead of the system's. */
  ca: Buffer | undefined;
}

/** Forms of what a server says that comes to stand in a command, a path or a file here. A server is somebody
 * else's: whatever has another form is refused, and not quoted. */
const FORMS = {
  id: /^[\w-]{1,64}$/,
  secret: /^[\w-]{20,64}$/,
  password: /^[\w-]{0,100}$/,
  /** After the directory. */
  file: /^lcc-[0-9a-f]{1,64}\.txt$/,
} as const;

/** True if it has the form that all our servers give it. */
export function hasForm(what: keyof typeof FORMS, value: unknown): value is string {
  return typeof value === 'string' && FORMS[what].test(value);
}

const MAX_ANSWER_BYTES = 256 * 1024;

export class RegistrationServer {
  readonly #options: RegistrationServerOptions;

  constructor(options: RegistrationServerOptions) {
    this.#options = options;
  }

  /** A pair for a new provider. @throws LccError `try.later` when the server does not answer;
   * RegistrationRefused */
  make(
    url: string,
    wishes: { email?: string; bandwidth?: string; hours?: string; zone?: string },
  ): Promise<PairMade> {
    return this.#make('pairs', { url, ...wishes });
  }

  /** A pair for another root. @param login `NUMBER:PASSWORD` @throws as `make` */
  makeRoot(url: string, login: string): Promise<PairMade> {
    return this.#make('me/roots', { url }, login);
  }

  /** A pair for another password, in place of one that was forgotten. @param url one of the roots @throws as
   * `make` */
  makeReset(pid: number, url: string): Promise<PairMade> {
    return this.#make('forgot', { pid, url });
  }

  async #make(path: string, body: object, login?: string): Promise<PairMade> {
    const answer = await this.ask('POST', path, body, login);
    const [id, secret] = [answer['id'], answer['secret']];
    const password = answer['password'] ?? (login === undefined ? undefined : '');
    if (!hasForm('id', id) || !hasForm('secret', secret) || !hasForm('password', password))
      throw this.#strange('no pair');
    return { ...this.#standing(answer), id, secret, password };
  }

  /**
   * Says that the file is there. @param givesUp of a reset: roots without it are taken off @throws as `make`
   */
  async check(id: string, givesUp: boolean): Promise<PairStanding> {
    return this.#standing(await this.ask('POST', `pairs/${id}/check`, givesUp ? { give_up: true } : {}));
  }

  /** @throws as `make` */
  async look(id: string): Promise<PairStanding> {
    return this.#standing(await this.ask('GET', `pairs/${id}`));
  }

  #standing(answer: Readonly<Record<string, unknown>>): PairStanding {
    const { state, pid, url, file, proven, reason, uns } = answer;
    if (
      typeof state !== 'string' ||
      !Number.isSafeInteger(pid) ||
      !isPlainUrl(url) ||
      typeof file !== 'string' ||
      !file.startsWith(url) ||
      !hasForm('file', file.slice(url.length))
    )
      throw this.#strange('no standing of a pair');
    return {
      state: oneLine(state),
      pid: Number(pid),
      url,
      file,
      proven: Array.isArray(proven) ? proven.map(each => oneLine(String(each))) : [],
      reason: reasonIn(reason),
      uns: typeof uns === 'string' ? oneLine(uns) : '',
    };
  }

  /**
   * Asks for anything below `api/v1`.
   * @param login `NUMBER:PASSWORD` of a provider
   * @throws as `make`
   */
  async ask(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body?: object,
    login?: string,
  ): Promise<Record<string, unknown>> {
    const { status, retryAfter, location, text } = await this.#send(method, path, body, login);
    // Secrets are sent to the address that was given, and to no other.
    if (status >= 300 && status <= 399 && location !== '') throw this.#elsewhere(path, location);
    let answer: Record<string, unknown>;
    try {
      answer = Object(JSON.parse(text)) as Record<string, unknown>;
    } catch {
      // As a proxy before it answers, which knows nothing of its JSON; 501 is of a server that has no POST.
      if ((status !== 408 && status !== 429 && status < 500) || status === 501)
        throw this.#strange(`status ${status}, and no JSON`);
      const waitS = Number(retryAfter) || undefined;
      const when = waitS === undefined ? 'later' : `in ${waitS} s`;
      const message = `${this.#options.url}: status ${status}; try again ${when}`;
      throw new RegistrationRefused(status, 'busy', message, waitS);
    }
    if (status >= 200 && status <= 299) return answer;
    const { code, what, do: advice } = answer;
    const message = `${this.#options.url}: ${oneLine(String(what))}; ${oneLine(String(advice))}`;
    throw new RegistrationRefused(status, oneLine(String(code)), message, Number(retryAfter) || undefined);
  }

  #send(
    method: string,
    path: string,
    body?: object,
    login?: string,
  ): Promise<{ status: number; retryAfter: string; location: string; text: string }> {
    const { url: base, timeoutMs, ca } = this.#options;
    const url = this.#addressOf(path);
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const headers = {
      ...(bytes !== undefined && { 'content-type': 'application/json', 'content-length': bytes.length }),
      ...(login !== undefined && { authorization: `Basic ${Buffer.from(login).toString('base64')}` }),
    };
    const signal = AbortSignal.timeout(timeoutMs);
    return new Promise((resolve, reject) => {
      const failed = (error: unknown) => {
        const trouble = certificateTrouble(error);
        if (trouble !== undefined)
          return reject(new LccError('peer.unavailable', `${base}: ${trouble}`, { cause: error }));
        const why = signal.aborted ? `no answer within ${timeoutMs / 1000} s (--timeout)` : messageOf(error);
        reject(new LccError('try.later', `${base}: ${why}; try again later`, { cause: error }));
      };
      const asked = request(url, { method, headers, signal, ...(ca !== undefined && { ca }) }, answer => {
        read(answer)
          .then(text =>
            resolve({
              status: answer.statusCode ?? 0,
              retryAfter: answer.headers['retry-after'] ?? '',
              location: answer.headers.location ?? '',
              text,
            }),
          )
          .catch(failed);
      });
      asked.on('error', failed).end(bytes);
    });
  }

  #addressOf(path: string): URL {
    const { url } = this.#options;
    return new URL(`api/v1/${path}`, url.endsWith('/') ? url : `${url}/`);
  }

  /** @param location as the server gives it */
  #elsewhere(path: string, location: string): LccError {
    const asked = this.#addressOf(path);
    if (!URL.canParse(location, asked.href)) return this.#strange(`it leads to ${oneLine(location)}`);
    const { href } = new URL(location, asked.href);
    const end = `/api/v1/${path}`;
    const target = href.endsWith(end) ? href.slice(0, 1 - end.length) : href;
    return new LccError(
      'usage',
      `${this.#options.url}: it leads to ${oneLine(target)}; give that as --server`,
    );
  }

  #strange(what: string): LccError {
    return new LccError(
      'peer.protocol',
      `${this.#options.url}: ${what}; is that the address of a Registration Server?`,
    );
  }
}

/** A url as the URL Standard writes it: nothing in it ends a word, or moves the cursor of a terminal. */
function isPlainUrl(url: unknown): url is string {
  return typeof url === 'string' && /^https?:/.test(url) && URL.canParse(url) && new URL(url).href === url;
}

function reasonIn(reason: unknown): PairStanding['reason'] {
  if (typeof reason !== 'object' || reason === null) return undefined;
  const { code, what, do: advice } = reason as Record<string, unknown>;
  return { code: oneLine(String(code)), what: oneLine(String(what)), do: oneLine(String(advice)) };
}

async function read(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of answer) {
    pieces.push(piece as Buffer);
    length += (piece as Buffer).length;
    if (length > MAX_ANSWER_BYTES) throw new Error(`an answer of more than ${MAX_ANSWER_BYTES} bytes`);
  }
  return Buffer.concat(pieces).toString('utf8');
}
