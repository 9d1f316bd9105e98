/** `&…;` in text and attribute values. saxes would look for the `;` as far as the input goes; a reference
 * longer than any real one is refused where it begins. */

/** The five predefined, and the numeric with room for zeros in front. */
const REFERENCE = /&#?[A-Za-z0-9]{0,10}(;?)/y;

/** Up to where `text`, from `from` to `to`, has no reference without its `;`. */
export function endOfReferences(text: string, from: number, to: number): number {
  // A search in all of the text would go to its end for every piece of it.
  const piece = text.slice(from, to);
  for (let at = piece.indexOf('&'); at >= 0; at = piece.indexOf('&', at + 1)) {
    REFERENCE.lastIndex = from + at;
    if (REFERENCE.exec(text)?.[1] === '') return from + at;
  }
  return to;
}

/** True if the unfinished reference at `at` is unfinished only because `text` ends. */
export function mayBecomeReference(text: string, at: number): boolean {
  REFERENCE.lastIndex = at;
  return REFERENCE.test(text) && REFERENCE.lastIndex === text.length;
}
