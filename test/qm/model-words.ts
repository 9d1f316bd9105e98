/** What a CP says of content, and what is believed of it (semantics.md, rule 4). Contents of one length are the same. */
import { REMOVALS_HELD } from '../../src/wire/codes.js';
import type { Held, Provider, Words } from './model-types.js';

export function saysNothing({ len, md5, mtime }: Words): boolean {
  return len === undefined && md5 === undefined && mtime === undefined;
}

/** Whether what is held need not be fetched, by what is said of it now. */
export function agrees(said: Words, held: Held): boolean {
  if (isOtherTime(said, held)) return false;
  const isLen = said.len === undefined || said.len === held.len;
  const isMd5 = said.md5 === undefined || said.md5 === held.len;
  if (said.md5 !== undefined && isMd5 && isLen) return true;
  // What came was not what was said: that must come twice to be believed.
  if (held.doubted) return saysNothing(said);
  return (isLen || said.len === held.wrong.len) && (isMd5 || said.md5 === held.wrong.md5);
}

function isOtherTime(said: Words, held: Held): boolean {
  return said.mtime !== undefined && said.mtime !== held.mtime;
}

/** What is held is so, as its CP or its site says: other words are believed no longer. */
export function confirmed(held: Held, said: Words): Pick<Held, 'wrong' | 'doubted' | 'mtime'> {
  const { len, md5 } = held.wrong;
  const isMd5 = said.md5 === held.len;
  const isLen = said.len === held.len || (isMd5 && said.len === undefined);
  const wrong = { ...(isLen ? {} : { len }), ...(isMd5 ? {} : { md5 }) };
  return { wrong, doubted: held.doubted && !isMd5, mtime: said.mtime ?? held.mtime };
}

/** What is kept of the words when content of that length has come for them. */
export function keptOf(
  said: Words,
  is: number,
  held: Held | undefined,
): Pick<Held, 'wrong' | 'doubted' | 'mtime'> {
  const wrong = {
    ...(said.len === undefined || said.len === is ? {} : { len: said.len }),
    ...(said.md5 === undefined || said.md5 === is ? {} : { md5: said.md5 }),
  };
  // The same words brought the same content before: so it is, whatever the CP says.
  const isSettled =
    held?.len === is &&
    wrong.md5 === held.wrong.md5 &&
    (said.md5 !== undefined || (wrong.len === held.wrong.len && !isOtherTime(said, held)));
  const isWrong = said.md5 === undefined ? wrong.len !== undefined : wrong.md5 !== undefined;
  // A time that is not said any more is that of the same content only.
  const mtime = said.mtime ?? (held?.len === is ? held.mtime : undefined);
  return { wrong, doubted: isWrong && !isSettled, mtime };
}

/** Content of a url has come: its errors are over. The last one kept stays while others are only counted. */
export function cure(provider: Pick<Provider, 'errors' | 'nurlerrs'>, key: string): void {
  for (const error of provider.errors.filter(each => each.key === key && each.code !== REMOVALS_HELD)) {
    if (provider.errors.length === 1 && provider.nurlerrs > 1) return;
    provider.errors = provider.errors.filter(each => each !== error);
    provider.nurlerrs = provider.errors.length === 0 ? 0 : provider.nurlerrs - 1;
  }
}
