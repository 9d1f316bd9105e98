/**
 * The belief in a CP's words on content, against what came (semantics.md, rule 4). A CP may say an md5 that
 * its site never serves: of a template, of a file with other line ends. It may also be right, and a cache in
 * front of the site, or a site that is updated after it was announced, have given what was there before. The
 * first time nobody can know which, so:
 *
 *     agrees ──something else came──▶ doubted ──the same came again for the same words──▶ believed
 *        ▲ ▲                            │ ▲                                                  │
 *        │ ╰────what was said came──────╯ ╰────────something else came, or for other words───┤
 *        ╰──────────────────────────────what was said came, or what is held is said──────────╯
 *
 * In doubt the url is fetched whenever it is announced, once for each announcement, unless the md5 of what is
 * held is said. Believed words are as good as those that agree: what a site never serves is not fetched for
 * ever.
 */
import type { Arrived, Held, Said } from './held.js';

type Words = Pick<Said, 'md5' | 'len' | 'mtime'>;

/** The words that a row keeps; null: not said, or as it is. */
export type Belief = Pick<Held, 'saidmd5' | 'saidlen' | 'doubted'>;

/** True if the CP's words agree with what is held: all that it gives, and it gives something. */
export function saysUnchanged(said: Words, held: Held, enforced: boolean): boolean {
  return !saysNothing(said) && agrees(said, held, enforced);
}

/**
 * True if nothing that the CP gives contradicts what is held.
 * @param enforced what is held must be what was said: nothing else is believed
 */
export function agrees(said: Words, held: Held, enforced: boolean): boolean {
  if (said.mtime !== null && said.mtime !== held.mtime) return false;
  const isMd5 = said.md5 === null || said.md5 === held.md5;
  const isLen = said.len === null || said.len === held.len;
  if (said.md5 !== null && isMd5 && isLen) return true;
  // safeguard: doubt in what was said and did not come
  if (held.doubted !== 0) return saysNothing(said);
  if (enforced) return isMd5 && isLen;
  return (isMd5 || said.md5 === held.saidmd5) && (isLen || said.len === held.saidlen);
}

/** The belief after content has arrived for these words. */
export function beliefOf(said: Words, arrived: Arrived, held: Held | undefined): Belief {
  const saidmd5 = said.md5 === arrived.md5 ? null : said.md5;
  const saidlen = said.len === arrived.len ? null : said.len;
  // The md5 decides where there is one; the site's own word that what it gives is older is doubt enough where
  // there is none.
  const isDoubtful = said.md5 === null ? saidlen !== null || arrived.isOlder : saidmd5 !== null;
  const isAgain =
    held !== undefined &&
    held.md5 === arrived.md5 &&
    held.saidmd5 === saidmd5 &&
    (said.md5 !== null || (held.saidlen === saidlen && (said.mtime === null || said.mtime === held.mtime)));
  // safeguard: belief in what was said and did not come twice
  return { saidmd5, saidlen, doubted: isDoubtful && !isAgain ? 1 : 0 };
}

/** The same after what is held was confirmed with these words, which agree with it: older words are believed
 * no longer. */
export function beliefConfirmed(said: Words, held: Held): Belief {
  const isKnown = said.md5 === held.md5;
  const isLenSame = said.len === held.len || (said.len === null && isKnown);
  // safeguard: an end of the doubt in what is held when that is said
  // safeguard: forgetting words that are not said any more
  return {
    saidmd5: isKnown ? null : held.saidmd5,
    saidlen: isLenSame ? null : held.saidlen,
    doubted: isKnown ? 0 : held.doubted,
  };
}

function saysNothing({ md5, len, mtime }: Words): boolean {
  return md5 === null && len === null && mtime === null;
}
