/** The links of an HTML or XHTML document, in one pass over its tags; which elements are open is known only
 * where drawings change what a tag means. What is taken: docs/design/spidering.md. */
import { decodeHTMLAttribute } from 'entities';
import { Tokenizer } from 'htmlparser2';
import { nameIn, UNHEARD } from './attributes.js';
import { CDATA, hideCdata } from './cdata.js';
import { ofBytes } from './decode.js';
import { KnownNames } from './known-names.js';
import {
  isData,
  urlOfRefresh,
  urlsOfBeginning,
  urlsOfCss,
  urlsOfSrcset,
  withoutFragment,
  withoutNul,
} from './link-values.js';
import { hiddenScriptEnd } from './script-end.js';
import { Tree, type Beginning } from './tree.js';

/** `canonical`: of the page itself; `asset`: what a browser loads to show it. */
type LinkKind = 'page' | 'asset' | 'canonical';

export interface PageLink {
  /** As written, without entities and fragment: relative, and not checked. */
  href: string;
  kind: LinkKind;
  /** The page says not to follow it (`rel`). */
  isNofollow: boolean;
}

interface PageLinks {
  /** Each `href` once, in the order of the page. */
  links: readonly PageLink[];
  /** As written, what relative urls are relative to; undefined: the url of the page. */
  base: string | undefined;
  /** Words of meta elements to robots: their content, in lower case. */
  robots: readonly string[];
  /** Why links may be missing: a limit was reached. */
  cut: 'links' | 'time' | undefined;
  /** Values that were longer than the limit, and what is left out of them is no `data:`. */
  long: number;
}

export interface PageLinksOptions {
  /** XML rather than HTML: empty elements, no scripts that hide tags. */
  isXml: boolean;
  /** Each character of the document is a byte of UTF-8. */
  isBytes?: boolean;
  /** Also what a browser loads to show the page. */
  assets: boolean;
  /** The name by which pages speak to our robot, in lower case, besides `robots`. */
  robotName: string;
  maxLinks: number;
  /** Characters looked at of a value. */
  maxValueLength: number;
  timeoutMs: number;
  /** Milliseconds that only go forward. */
  nowMs(): number;
}

/** Tags between two looks at the clock. */
const TAGS_A_LOOK = 512;
/** Element → attributes that are looked at. */
const ATTRIBUTES = new Map(
  Object.entries({
    a: 'href xlink:href rel',
    area: 'href rel',
    audio: 'src',
    base: 'href',
    bgsound: 'src',
    body: 'background',
    embed: 'src',
    frame: 'src',
    iframe: 'src',
    image: 'src srcset href xlink:href',
    img: 'src srcset lowsrc',
    input: 'src type',
    link: 'href rel',
    meta: 'content http-equiv name',
    object: 'data',
    script: 'src',
    source: 'src srcset',
    table: 'background',
    td: 'background',
    th: 'background',
    track: 'src',
    tr: 'background',
    video: 'src poster',
  }).map(([element, names]) => [element, new Set(names.split(' '))] as const),
);
/** Elements whose names are needed besides. */
const OTHERS = new Set(['template', 'frameset', 'noframes', 'style', 'svg', 'math']);
const ELEMENT_NAMES = new KnownNames([...ATTRIBUTES.keys(), ...OTHERS]);
const ATTRIBUTE_NAMES = new KnownNames(['style', ...[...ATTRIBUTES.values()].flatMap(names => [...names])]);
const NO_ATTRIBUTES: ReadonlySet<string> = new Set();
const STYLE: ReadonlySet<string> = new Set(['style']);
/** Values of `rel` by which a link element leads to a page; that of a search is often named nowhere else. */
const PAGE_KINDS = ['next', 'prev', 'previous', 'alternate', 'search'];
const NOFOLLOW = /(?:^|[ \t\n\f\r])(?:nofollow|ugc|sponsored)(?:[ \t\n\f\r]|$)/i;
const FOREIGN = /<(?:svg|math)/i;
const BLANKS = /[ \t\n\f\r]+/;

/** @param document decoded; may be cut off or malformed */
export function pageLinks(document: string, options: PageLinksOptions): PageLinks {
  return new LinksPage(document, options);
}

/** Part of a document: the page that browsers without frames would show, which is HTML of its own; or its
 * frames, for all but they count for nothing. */
type Part = 'page' | 'noframes' | 'frames';

class LinksPage implements PageLinks {
  readonly robots: string[] = [];
  base: string | undefined;
  cut: PageLinks['cut'];
  long = 0;
  readonly #options: PageLinksOptions;
  readonly #links = new Map<string, PageLink>();
  /** Only where drawings stand in the page: in them scripts and titles are tags like others. */
  readonly #tree: Tree<boolean> | undefined;
  readonly #endMs: number;
  #tags = 0;
  /** Templates that are open, where there is no tree: nothing in them is shown. */
  #templates = 0;
  #isOfFrames = false;
  // The tag being read.
  #name = '';
  #wanted: ReadonlySet<string> = NO_ATTRIBUTES;
  readonly #values = new Map<string, string>();
  #attribute = '';
  #value = '';
  /** The raw text being read, of an element whose text holds links. */
  #raw: 'style' | 'noframes' | undefined;
  readonly #part: Part;

  constructor(document: string, options: PageLinksOptions, part: Part = 'page') {
    this.#options = options;
    this.#part = part;
    this.#endMs = options.nowMs() + options.timeoutMs;
    if (!options.isXml && part !== 'frames' && FOREIGN.test(document))
      this.#tree = new Tree({ stateOf: isInTemplate }, false, false);
    this.#readAll(document);
    if (part === 'page' && this.#isOfFrames && this.cut === undefined) this.#takeAll(document, 'frames');
  }

  get links(): readonly PageLink[] {
    return [...this.#links.values()];
  }

  #readAll(document: string): void {
    // In HTML it is no more than a comment up to the next `>`; the tokenizer would go on to its end in XML.
    if (!this.#options.isXml && this.#tree === undefined) document = hideCdata(document);
    for (let from: number | undefined = 0; from !== undefined;) from = this.#readFrom(document, from);
  }

  /** @returns where to go on, after a script or a comment whose end the tokenizer does not see */
  #readFrom(document: string, from: number): number | undefined {
    const source = from === 0 ? document : document.slice(from);
    const { isXml } = this.#options;
    let end: number | undefined;
    // No tag hides others where a drawing or XML is read, nor among frames.
    const isForeign = () => isXml || this.#part === 'frames' || this.#tree?.isForeign === true;
    /** After a `<![CDATA[` of HTML. */
    const goOnAfterComment = (start: number) => {
      if (isForeign()) return;
      this.#look();
      end = source.indexOf('>', start) + 1 || source.length;
      tokenizer.pause();
    };
    const tokenizer = new Tokenizer(
      { decodeEntities: false, recognizeSelfClosing: isXml },
      {
        ...UNHEARD,
        isInForeignContext: isForeign,
        ontext: (start, end) => {
          if (this.#raw !== undefined) this.#rawText(source, start, end);
        },
        onopentagname: (start, end) => {
          this.#look();
          this.#openTag(source, start, end);
        },
        onattribname: (start, end) => {
          this.#attribute = '';
          if (this.#wanted === NO_ATTRIBUTES && !this.#options.assets) return;
          if (!ATTRIBUTE_NAMES.mayBe(source, start, end)) return;
          const name = nameIn(source, start, end);
          if (this.#wanted.has(name) || (name === 'style' && this.#options.assets)) this.#attribute = name;
          this.#value = '';
        },
        onattribdata: (start, end) => {
          if (this.#attribute !== '') this.#value += source.slice(start, end);
        },
        onattribend: () => {
          const name = this.#attribute;
          if (name !== '' && !this.#values.has(name)) this.#values.set(name, this.#value);
        },
        onopentagend: at => {
          this.#opened(false);
          if (this.cut !== undefined) tokenizer.pause();
          if (this.#name !== 'script' || isForeign()) return;
          end = hiddenScriptEnd(source, at + 1);
          if (end !== undefined) tokenizer.pause();
        },
        onselfclosingtag: () => this.#opened(true),
        onclosetag: (start, end) => {
          this.#raw = undefined;
          if (this.#tree !== undefined || this.#templates > 0) this.#closeTag(nameIn(source, start, end));
        },
        oncdata: (start, at, offset) => {
          if (this.#raw === 'style' && isForeign()) this.#rawText(source, start, at - offset);
          goOnAfterComment(start);
        },
        oncomment: start => {
          if (source.startsWith(CDATA, start - 2)) goOnAfterComment(start);
        },
      },
    );
    tokenizer.write(source);
    tokenizer.end();
    return end === undefined || this.cut !== undefined ? undefined : from + end;
  }

  #look(): void {
    if (++this.#tags % TAGS_A_LOOK === 0 && this.#options.nowMs() >= this.#endMs) this.cut ??= 'time';
  }

  /** Within a template. */
  get #isHidden(): boolean {
    return this.#tree?.state ?? this.#templates > 0;
  }

  #openTag(source: string, start: number, end: number): void {
    this.#raw = undefined;
    this.#name = '';
    this.#wanted = NO_ATTRIBUTES;
    if (this.#values.size > 0) this.#values.clear();
    if (this.#tree === undefined && !this.#options.isXml && !ELEMENT_NAMES.mayBe(source, start, end)) return;
    const name = this.#ownName(nameIn(source, start, end));
    this.#name = name;
    this.#wanted = ATTRIBUTES.get(name) ?? (OTHERS.has(name) ? STYLE : NO_ATTRIBUTES);
  }

  /** In XML the name of an element of HTML may have a prefix. */
  #ownName(name: string): string {
    return this.#options.isXml ? name.slice(name.indexOf(':') + 1) : name;
  }

  #opened(isSelfClosing: boolean): void {
    const name = this.#name;
    const isForeign = this.#tree?.isForeign === true;
    if (
      name === 'template' &&
      !isForeign &&
      this.#part !== 'frames' &&
      !(isSelfClosing && this.#options.isXml)
    )
      this.#templates++;
    if (name === 'frameset') this.#isOfFrames = true;
    if (!this.#isHidden && this.#values.size > 0) this.#take(name);
    if (name === 'style' && !isSelfClosing) this.#raw = name;
    else if (name === 'noframes' && !isForeign && !this.#options.isXml && this.#part === 'page')
      this.#raw = name;
    // Where a body is open no frameset begins.
    if (name !== 'frameset') this.#tree?.start(name, isSelfClosing);
  }

  #closeTag(name: string): void {
    const own = this.#ownName(name);
    if (own === 'template' && this.#templates > 0) this.#templates--;
    this.#tree?.end(own);
  }

  #rawText(source: string, start: number, end: number): void {
    const raw = this.#raw;
    if (this.#isHidden || this.cut !== undefined) return;
    const text = source.slice(start, end);
    if (raw === 'noframes') this.#takeAll(text, 'noframes');
    else if (this.#options.assets)
      for (const url of urlsOfCss(withoutNul(this.#written(text)))) this.#add(url, 'asset');
  }

  #takeAll(document: string, part: Part): void {
    const inner = new LinksPage(document, this.#options, part);
    for (const link of inner.links) this.#put(link);
    this.long += inner.long;
    this.cut ??= inner.cut;
  }

  #take(name: string): void {
    if (this.#part === 'frames' && name !== 'frame') return;
    const style = this.#values.get('style');
    if (style !== undefined && this.#options.assets) this.#takeListed(style, urlsOfCss);
    switch (name) {
      case 'a':
      case 'area':
        this.#add(this.#get('href') ?? this.#get('xlink:href'), 'page');
        return;
      case 'frame':
      case 'iframe':
        this.#add(this.#get('src'), 'page');
        return;
      case 'base':
        this.base ??= this.#get('href');
        return;
      case 'link':
        this.#takeLink();
        return;
      case 'meta':
        this.#takeMeta();
        return;
      default:
        if (this.#options.assets) this.#takeAssets(name);
    }
  }

  #takeAssets(name: string): void {
    if (name === 'input' && this.#get('type')?.toLowerCase() !== 'image') return;
    for (const [attribute, value] of this.#values) {
      if (attribute === 'srcset') this.#takeListed(value, urlsOfSrcset);
      else if (attribute !== 'style' && attribute !== 'type') this.#add(this.#get(attribute), 'asset');
    }
  }

  /** The beginning of a value with several urls counts where the value is longer than the limit. */
  #takeListed(value: string, urlsOf: (text: string) => Iterable<string>): void {
    const most = this.#options.maxValueLength;
    const text = this.#decoded(value.slice(0, most));
    if (value.length <= most) {
      for (const url of urlsOf(text)) this.#add(url, 'asset');
      return;
    }
    const { urls, isData: isInPage } = urlsOfBeginning(text, urlsOf);
    for (const url of urls) this.#add(url, 'asset');
    if (!isInPage) this.long++;
  }

  #takeLink(): void {
    const kinds = new Set(this.#get('rel')?.toLowerCase().split(BLANKS));
    const href = this.#get('href');
    if (kinds.has('canonical')) this.#add(href, 'canonical');
    else if (kinds.has('stylesheet') || kinds.has('icon') || kinds.has('apple-touch-icon')) {
      if (this.#options.assets) this.#add(href, 'asset');
    } else if (PAGE_KINDS.some(kind => kinds.has(kind))) this.#add(href, 'page');
  }

  #takeMeta(): void {
    const content = this.#get('content');
    if (content === undefined) return;
    if (this.#get('http-equiv')?.toLowerCase() === 'refresh') this.#add(urlOfRefresh(content), 'page');
    const name = this.#get('name')?.trim().toLowerCase();
    if (name === 'robots' || name === this.#options.robotName) this.robots.push(content.toLowerCase());
  }

  #get(attribute: string): string | undefined {
    const value = this.#values.get(attribute);
    if (value === undefined) return undefined;
    if (value.length <= this.#options.maxValueLength) return this.#decoded(value);
    if (!isData(value)) this.long++;
    return undefined;
  }

  #decoded(value: string): string {
    const text = this.#written(value);
    return withoutNul(text.includes('&') ? decodeHTMLAttribute(text) : text);
  }

  #written(text: string): string {
    return this.#options.isBytes === true ? ofBytes(text) : text;
  }

  #add(href: string | undefined, kind: LinkKind): void {
    if (href === undefined) return;
    const isNofollow = kind === 'page' && NOFOLLOW.test(this.#values.get('rel') ?? '');
    this.#put({ href: withoutFragment(href), kind, isNofollow });
  }

  #put(link: PageLink): void {
    const known = this.#links.get(link.href);
    if (known !== undefined) {
      known.isNofollow &&= link.isNofollow;
      if (known.kind === 'asset') known.kind = link.kind;
    } else if (this.#links.size >= this.#options.maxLinks) this.cut = 'links';
    else this.#links.set(link.href, link);
  }
}

function isInTemplate({ name, foreign }: Beginning, around: boolean): boolean {
  return around || (name === 'template' && foreign === undefined);
}
