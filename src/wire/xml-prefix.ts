/**
 * The prefix of the conversations' own elements. It is a fixed text: peers need not declare it, replies never
 * do. Peers that write XML with a library may have another one for the same namespace, and then declare it.
 */
export const PREFIX = 'lococa:';
export const NAMESPACE = 'http://www.lococa.org/1.0';

type Attributes = Readonly<Record<string, string>>;

/** An element's name without the prefix; one of its own is known by the declaration among its attributes. */
export function localName(name: string, attributes?: Attributes): string {
  if (name.startsWith(PREFIX)) return name.slice(PREFIX.length);
  const colon = attributes === undefined ? -1 : name.indexOf(':');
  return colon > 0 && attributes?.[`xmlns:${name.slice(0, colon)}`] === NAMESPACE
    ? name.slice(colon + 1)
    : name;
}

/** The prefixes that one peer has declared for the namespace, each up to the end of the element that declares
 * it. */
export class DeclaredPrefixes {
  /** With their colon, and the depth of the element. */
  #declared: { prefix: string; depth: number }[] = [];
  #depth = 0;

  /** The name of an element that begins, without its prefix; `end` is called at its end. */
  begin(name: string, attributes: Attributes): string {
    this.#depth += 1;
    for (const attribute in attributes) {
      if (attributes[attribute] === NAMESPACE && attribute.startsWith('xmlns:'))
        this.#declared.push({ prefix: `${attribute.slice('xmlns:'.length)}:`, depth: this.#depth });
    }
    return this.localName(name, attributes);
  }

  end(): void {
    while ((this.#declared.at(-1)?.depth ?? 0) >= this.#depth) this.#declared.pop();
    this.#depth -= 1;
  }

  /** The name of an element that has no others inside. */
  localName(name: string, attributes: Attributes): string {
    const declared = this.#declared.find(({ prefix }) => name.startsWith(prefix));
    return declared === undefined ? localName(name, attributes) : name.slice(declared.prefix.length);
  }
}
