/** What the record of a fetch means to a Queue Manager: the code that is reported, and how far it reaches (bot/verdict.ts does that for a robot). */
import { codeText } from '../../wire/codes.js';
import type { ErrorReach } from '../../wire/fetch.js';
import {
  httpText,
  readReasonByte,
  SPIDER_REASONS,
  type SpiderEnd,
  type SpiderReason,
} from '../../wire/spider-codes.js';

export interface FetchVerdict {
  code: number;
  reach: ErrorReach;
  message: string;
}

type Failure = Exclude<SpiderReason, 'ok' | 'empty' | 'http-4xx' | 'http-5xx' | 'http-other'>;

const VERDICTS: Record<Failure, readonly [code: number, reach: ErrorReach]> = {
  'no-location': [611, 'url'],
  'too-many-redirects': [608, 'real'],
  'redirect-loop': [608, 'real'],
  'bad-target': [611, 'url'],
  'forbidden-target': [610, 'real'],
  'total-timeout': [603, 'url'],
  'connect-timeout': [603, 'provider'],
  'header-timeout': [603, 'url'],
  'idle-timeout': [603, 'url'],
  'no-such-name': [601, 'provider'],
  'name-trouble': [601, 'provider'],
  refused: [602, 'provider'],
  reset: [605, 'url'],
  unreachable: [602, 'provider'],
  'short-body': [605, 'url'],
  tls: [604, 'provider'],
  protocol: [611, 'url'],
  'headers-too-large': [611, 'url'],
  'content-length': [611, 'url'],
  'transfer-encoding': [611, 'url'],
  'too-many-1xx': [611, 'url'],
  'content-coding': [611, 'url'],
  'bad-url': [611, 'real'],
  scheme: [611, 'real'],
  robots: [610, 'real'],
  mime: [607, 'real'],
  'address-forbidden': [610, 'real'],
  'long-url': [611, 'real'],
  cancelled: [605, 'url'],
  internal: [605, 'url'],
};

/** Statuses that pass with time. */
const PASSING: readonly number[] = [408, 425, 429];

/** How a record says that its fetch ended. @param reason, http as in the record; a reserved reason is a spider's fault */
export function endOf(reason: number): SpiderEnd {
  return readReasonByte(reason) ?? { reason: 'internal', redirected: false, cut: false };
}

/** Of a record without success. */
export function verdictOf({ reason }: SpiderEnd, http: number): FetchVerdict {
  if (reason === 'http-4xx' || reason === 'http-5xx' || reason === 'http-other')
    return statusVerdict(reason, http);
  if (reason === 'ok' || reason === 'empty')
    return { code: 605, reach: 'url', message: `${codeText(605)}: a record without success that says so` };
  const [code, reach] = VERDICTS[reason];
  return { code, reach, message: `${codeText(code)}: ${SPIDER_REASONS[reason][1]}` };
}

function statusVerdict(reason: 'http-4xx' | 'http-5xx' | 'http-other', http: number): FetchVerdict {
  const text = httpText(http);
  // A status without a byte of its own is the first of its hundred, which RFC 9110 has clients take it for.
  const code = /^\d{3}$/.test(text)
    ? Number(text)
    : /^\dxx$/.test(text)
      ? Number(`${text.charAt(0)}00`)
      : 611;
  const message = text === 'other' ? `${codeText(611)}: an unknown status` : `HTTP status ${text}`;
  if (reason === 'http-other') return { code, reach: 'url', message };
  return { code, reach: code >= 500 || PASSING.includes(code) ? 'url' : 'real', message };
}
