/** The attributes of the tag being read: those that are looked at, each as far as it is looked at. */

const LOOKED_AT = 256;
const ATTRIBUTES = new Map(
  'lang xml:lang role hidden aria-hidden style http-equiv content open popover href'
    .split(' ')
    .map(name => [name, LOOKED_AT]),
);

/** The same for who writes Markdown. */
export const MARKDOWN_ATTRIBUTES = new Map([
  ...ATTRIBUTES,
  ...'alt class colspan data-lang name property rowspan start'
    .split(' ')
    .map(name => [name, LOOKED_AT] as const),
  ['content', 1000],
  // One more than is written.
  ['href', 2049],
  ['src', 2049],
]);

export class TagAttributes {
  readonly #values = new Map<string, string>();
  readonly #known: ReadonlyMap<string, number>;
  #name = '';
  /** How much of the value is looked at; 0: nothing, for it is another one, or was there before. */
  #most = 0;
  #value = '';

  /** @param known names, each with the characters of its value that are looked at */
  constructor(known: ReadonlyMap<string, number> = ATTRIBUTES) {
    this.#known = known;
  }

  get size(): number {
    return this.#values.size;
  }

  get(name: string): string | undefined {
    return this.#values.get(name);
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  clear(): void {
    if (this.#values.size > 0) this.#values.clear();
  }

  /** An attribute begins; the first of its name counts. */
  begin(name: string): void {
    this.#name = name;
    this.#most = this.#values.has(name) ? 0 : (this.#known.get(name) ?? 0);
    this.#value = '';
  }

  /** A part of its value, of which no more is taken than is looked at. */
  add(source: string, start: number, end: number): void {
    if (this.#value.length < this.#most)
      this.#value += source.slice(start, Math.min(end, start + this.#most));
  }

  end(): void {
    if (this.#most > 0) this.#values.set(this.#name, this.#value);
  }
}

export type ReadTagAttributes = Pick<TagAttributes, 'size' | 'get' | 'has'>;

/** A name as far as names are looked at. */
export function nameIn(source: string, start: number, end: number): string {
  return source.slice(start, Math.min(end, start + LOOKED_AT)).toLowerCase();
}

const nothing = (): void => undefined;
/** Parts of a document of which a reader of its tokens wants to hear nothing. */
export const UNHEARD = {
  onattribend: nothing,
  onattribentity: nothing,
  ondeclaration: nothing,
  onend: nothing,
  onprocessinginstruction: nothing,
  ontextentity: nothing,
};
