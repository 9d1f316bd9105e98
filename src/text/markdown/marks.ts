/** Marks of a block's words: strong, emphasized, code, a link; and pictures between them. A list of pairs,
 * where in the text it begins and what holds from there on, so that the text is one with and without them. */
export const STRONG = 1;
export const EMPHASIS = 2;
export const CODE = 4;
/** A picture stands here; the number is its own, and what held before goes on. */
export const IMAGE = 8;
/** From here on: the number of a link, or a picture; 0: none. */
export const NUMBERED = 16;

export interface Image {
  alt: string;
  src: string;
  /** The number of the link that it is in. */
  link: number;
}

export interface MarkedText {
  text: string;
  /** Pairs, the first of them at 0; undefined: nothing but words. */
  marks?: readonly number[] | undefined;
}

/** Parts of a marked text, in their order: each mark is looked at once. @param ends of the parts, the last
 * that of the text */
export function* partsOf({ text, marks }: MarkedText, ends: readonly number[]): Generator<MarkedText> {
  let from = 0;
  let at = 0;
  let holds = 0;
  for (const to of ends) {
    const some: number[] = marks === undefined ? [] : [0, holds];
    const isIn = (mark: number | undefined) => mark !== undefined && (mark < to || to === text.length);
    for (; isIn(marks?.[at]); at += 2) {
      const what = marks?.[at + 1] ?? 0;
      some.push(Math.max(0, (marks?.[at] ?? 0) - from), what);
      if ((what & IMAGE) === 0) holds = what;
    }
    yield { text: text.slice(from, to), marks: marks && some };
    from = to;
  }
}
