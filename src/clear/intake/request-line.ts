/** One request from one line, in each of the formats that lccclear reads. */
import type { NewRequest } from '../../db/clear/queue.js';
import { pathOfContentId, problemOfPage } from '../page-url.js';
import { URL_TYPE } from '../resolve.js';
import { requestFor, type FeedRules } from './feed-rules.js';

/** Defaults for fields that a line leaves out. */
export interface RequestDefaults {
  target: string | undefined;
  type: string | undefined;
  force: boolean;
  source: string;
  /** Ids may have letters of any script. */
  utf8: boolean;
  /** True if there is such a target. */
  hasTarget: (name: string) => boolean;
  rules: FeedRules | undefined;
}

/** `nothing`: a change that clears nothing. `seq`: the place of a change in its feed. */
export type LineRequest =
  | { request: NewRequest; seq?: number }
  | { nothing: string; hasRule: boolean; seq?: number }
  | { problem: string };

type LineFormat = (text: string, defaults: RequestDefaults) => LineRequest;

export const MAX_NAME_BYTES = 255;

export const LINE_FORMATS: Readonly<Record<string, LineFormat>> = {
  /** `content_id TAB content_type TAB target`; what is left out at the end comes from the options. */
  tsv(text, defaults) {
    const [contentId = '', contentType, target, ...more] = text.split('\t');
    if (more.length > 0)
      return { problem: `${more.length + 3} fields; there are content id, type and target` };
    return checked(contentId, contentType || undefined, target || undefined, defaults);
  },
  /** Paths of pages, or absolute urls, of which the path counts. */
  urls(text, defaults) {
    const path = pathOf(text);
    return path === undefined
      ? { problem: 'no path and no absolute url' }
      : checked(path, URL_TYPE, undefined, defaults);
  },
  /** Objects: changes of `lccq --format=jsonl` with rules, else `{"id", "type", "target", "force"}`. */
  jsonl(text, defaults) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return { problem: 'no JSON' };
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return { problem: 'no JSON object' };
    const fields = value as Record<string, unknown>;
    return defaults.rules === undefined ? plain(fields, defaults) : change(fields, defaults.rules, defaults);
  },
};

/** A request as arguments have it: a path of a page, or a content id of a type. */
export function requestOf(id: string, defaults: RequestDefaults): LineRequest {
  if (defaults.type !== undefined && defaults.type !== URL_TYPE)
    return checked(id, defaults.type, undefined, defaults);
  const path = pathOf(id);
  if (path !== undefined) return checked(path, URL_TYPE, undefined, defaults);
  return { problem: `no path of a page; a content id needs --type: ${shown(id)}` };
}

function plain(fields: Record<string, unknown>, defaults: RequestDefaults): LineRequest {
  const { id: given, type, target, force = defaults.force } = fields;
  const id = Number.isSafeInteger(given) ? String(given) : given;
  const other = Object.keys(fields).find(key => !['id', 'type', 'target', 'force'].includes(key));
  if (other !== undefined) return { problem: `no key "${other}"; changes of lccq need --rules` };
  if (typeof id !== 'string') return { problem: '"id" is neither text nor a whole number' };
  for (const [key, value] of Object.entries({ type, target }))
    if (value !== undefined && typeof value !== 'string') return { problem: `"${key}" is no text` };
  if (typeof force !== 'boolean') return { problem: '"force" is neither true nor false' };
  return checked(id, type as string | undefined, target as string | undefined, { ...defaults, force });
}

function change(fields: Record<string, unknown>, rules: FeedRules, defaults: RequestDefaults): LineRequest {
  const { op, pid, curl, seq } = fields;
  if (typeof curl !== 'string' || typeof pid !== 'number' || (op !== 'upsert' && op !== 'delete'))
    return { problem: 'no change of lccq: it has op, pid and curl' };
  if (seq !== undefined && typeof seq !== 'number') return { problem: '"seq" is no number' };
  const place = seq === undefined ? {} : { seq };
  const key = requestFor(rules, String(pid), curl);
  if (key === undefined)
    return { nothing: `no rule for ${shown(curl)} of provider ${pid}`, hasRule: false, ...place };
  // A page that is gone must not stay anywhere, also where it is replaced otherwise.
  const force = defaults.force || op === 'delete';
  const found = checked(key.contentId, key.contentType, key.target, { ...defaults, force });
  if ('request' in found) return { ...found, ...place };
  // The feed must go on: what no rail can have is not to be cleared there.
  const nothing = 'problem' in found ? `${shown(curl)}: ${found.problem}` : found.nothing;
  return { nothing, hasRule: true, ...place };
}

function checked(
  given: string,
  contentType: string | undefined,
  target: string | undefined,
  defaults: RequestDefaults,
): LineRequest {
  const asked = contentType ?? defaults.type;
  const path = asked === undefined || asked === URL_TYPE ? pathOf(given) : undefined;
  const [contentId, type] = path === undefined ? [given, asked] : [path, URL_TYPE];
  const name = target ?? defaults.target;
  if (type === undefined)
    return {
      problem: `no path of a page, and no content type; give that in the line, or --type: ${shown(contentId)}`,
    };
  if (name === undefined) return { problem: 'no target; give it in the line, or --target' };
  for (const text of [type, name])
    if (!isTypeName(text))
      return {
        problem: `content type or target longer than ${MAX_NAME_BYTES} bytes, or with control characters`,
      };
  if (!defaults.hasTarget(name))
    return { problem: `there is no target ${shown(name)}; lccrail target add makes one` };
  const asId = type === URL_TYPE ? undefined : pathOfContentId(contentId, defaults.utf8);
  const problem =
    asId === undefined ? problemOfPage(contentId) : 'problem' in asId ? asId.problem : undefined;
  if (problem !== undefined) return { problem: `${problem}: ${shown(contentId)}` };
  const { force, source } = defaults;
  return { request: { contentId, contentType: type, target: name, force, source } };
}

/** True if a text can be a content type, or the name of a target. */
export function isTypeName(text: string): boolean {
  return Buffer.byteLength(text) <= MAX_NAME_BYTES && !/\p{Cc}/u.test(text);
}

function pathOf(text: string): string | undefined {
  if (text.startsWith('/')) return text;
  const [url, rest = ''] = /^https?:\/\/[^/?#\s]+(.*)$/is.exec(text) ?? [];
  if (url === undefined) return undefined;
  // A site that is named without a slash is its first page all the same.
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** In quotes, without what a terminal would obey or hide. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, 200)).replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, char =>
    char.replace(/[^]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}
