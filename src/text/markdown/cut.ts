/** Longest run that looks like one character, or it is cut. */
const LONGEST_CHARACTER = 32;
/** A character that belongs to the one before it. */
const JOINED = /^(?:\p{M}|\p{Emoji_Modifier}|\u200d)/u;

/** Where a text is cut that has `most` characters then, at most: never inside of one that people see. */
export function cutBefore(text: string, most: number): number {
  if (text.length <= most) return text.length;
  let at = most;
  while (at > 1 && at > most - LONGEST_CHARACTER && isInside(text, at)) at--;
  if (at > 1 && !isInside(text, at)) return at;
  return isPair(text, most) && most > 1 ? most - 1 : most;
}

function isInside(text: string, at: number): boolean {
  return isPair(text, at) || text[at - 1] === '\u200d' || JOINED.test(text.slice(at, at + 2));
}

function isPair(text: string, at: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));
}
