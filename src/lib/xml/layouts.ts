/**
 * The fast path: elements that look like one seen before are read by one regular expression.
 *
 * A layout is an element name, attribute names in their order, one blank between, double quotes. It is learnt from an
 * element saxes has accepted, so names, their number and their uniqueness need no second look; its expression admits
 * only values without control characters, and of references only the five predefined. Whatever does not match goes to saxes.
 * A regular expression with sticky flag reads 5 times what saxes reads, see bench/xml.ts.
 */
import type { Attributes } from './types.js';

/** Layouts tried on an element; more would slow down input that fits none. */
const MAX_LAYOUTS = 8;
/** Layouts compiled for one reader: a peer that varies them without end gets no more. */
const MAX_LEARNT = 64;

const SHAPE = /^<[^\s"'<>/=]+(?: [^\s"'<>/=]+="[^"<]*")*( ?\/)?>$/;
const VALUE = '([^"<\\u0000-\\u001f\\ufffe\\uffff]*)';
const TEXT = '([^\\]<\\u0000-\\u001f\\ufffe\\uffff]*)';

const OTHER_REFERENCE = /&(?!(?:amp|lt|gt|quot|apos);)/;
const REFERENCES = /&(?:amp|lt|gt|quot|apos);/g;
const MEANINGS: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
};

export interface Layout {
  name: string;
  /** `<name …/>`; otherwise `<name …>text</name>`. */
  empty: boolean;
  attributeNames: readonly string[];
  /** `<name a="` … `>`: one group for each value, one for the text. */
  expression: RegExp;
  /** All attributes, so that copies share one hidden class. */
  template: Attributes;
  /** The markup the expression was made from, without the values. */
  key: string;
  /** Length of `</name>`; 0 where it is empty. */
  endTagLength: number;
}

export class Layouts {
  readonly #layouts: Layout[] = [];
  #learnt = 0;

  /** What the layout found last has matched, references resolved. */
  match: RegExpExecArray | undefined;
  /** The length of the text of an element that is not empty, references as they were written. */
  contentLength = 0;

  /** The layout of the whole element that begins at `at`; `match` is set and `expression.lastIndex` is behind it. */
  find(text: string, at: number): Layout | undefined {
    const layouts = this.#layouts;
    for (let i = 0; i < layouts.length; i++) {
      const layout = layouts[i] as Layout;
      layout.expression.lastIndex = at;
      const match = layout.expression.exec(text);
      if (match !== null) {
        this.contentLength = (match.at(-1) as string).length;
        if (match[0].includes('&')) {
          if (OTHER_REFERENCE.test(match[0])) return undefined;
          for (let group = 1; group < match.length; group++) match[group] = resolved(match[group] as string);
        }
        this.match = match;
        if (i > 0) {
          layouts.splice(i, 1);
          layouts.unshift(layout);
        }
        return layout;
      }
    }
    return undefined;
  }

  /** Remembers how an accepted start tag looks. @param raw the tag, `<` to `>` */
  learn(name: string, attributes: Attributes, empty: boolean, raw: string): void {
    if (this.#learnt >= MAX_LEARNT) return;
    const shape = SHAPE.exec(raw);
    if (shape === null) return;
    const attributeNames = Object.keys(attributes);
    const end = shape[1] ?? '';
    const key = `${name} ${attributeNames.join(' ')}${end}`;
    if (this.#layouts.some(layout => layout.key === key)) return;
    this.#learnt += 1;
    const inside = attributeNames.map(n => ` ${escapeExpression(n)}="${VALUE}"`).join('');
    const rest = empty ? `${end}>` : `>${TEXT}</${escapeExpression(name)}>`;
    this.#layouts.unshift({
      name,
      empty,
      attributeNames,
      expression: new RegExp(`<${escapeExpression(name)}${inside}${rest}`, 'y'),
      template: Object.fromEntries(attributeNames.map(n => [n, ''])),
      key,
      endTagLength: empty ? 0 : name.length + 3,
    });
    this.#layouts.length = Math.min(this.#layouts.length, MAX_LAYOUTS);
  }
}

/** The attributes a match found. */
export function attributesOf(layout: Layout, match: RegExpExecArray): Attributes {
  const attributes = { ...layout.template };
  const names = layout.attributeNames;
  for (let i = 0; i < names.length; i++) attributes[names[i] as string] = match[i + 1] as string;
  return attributes;
}

function resolved(value: string): string {
  return value.includes('&') ? value.replace(REFERENCES, reference => MEANINGS[reference] as string) : value;
}

function escapeExpression(name: string): string {
  return name.replace(/[.*+?^${}()|[\]\\-]/g, '\\$&');
}
