/** What became of a page in Markdown: an independent parser of GFM reads it, parse5 reads the page, and both are compared. */
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { parse, type DefaultTreeAdapterTypes } from 'parse5';

interface MarkdownNode {
  type: string;
  value?: string;
  depth?: number;
  url?: string;
  children?: MarkdownNode[];
}

type HtmlNode = DefaultTreeAdapterTypes.Node;
type HtmlElement = DefaultTreeAdapterTypes.Element;

/** Those of a page, or of what was made of it. */
export interface Found {
  pre: string[];
  /** Cells of all rows, each as its words. */
  tables: string[];
  links: string[];
  /** Level and words. */
  headings: string[];
}

export function treeOf(markdown: string): MarkdownNode {
  return fromMarkdown(markdown, {
    extensions: [gfm()],
    mdastExtensions: [gfmFromMarkdown()],
  });
}

/** Letters and digits, in their order. */
export function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Words that are shown. */
export function wordsOfMarkdown(markdown: string): string[] {
  const parts: string[] = [];
  const walk = ({ type, value, children }: MarkdownNode) => {
    if (value !== undefined) parts.push(type === 'html' && /^<br>$/.test(value) ? ' ' : value);
    for (const child of children ?? []) walk(child);
    if (!INLINE_NODES.has(type)) parts.push('\n');
  };
  walk(treeOf(markdown));
  return wordsOf(parts.join(''));
}

const INLINE_NODES = new Set(['text', 'inlineCode', 'strong', 'emphasis', 'link', 'delete']);

export function foundInMarkdown(markdown: string): Found {
  const found: Found = { pre: [], tables: [], links: [], headings: [] };
  const walk = (node: MarkdownNode) => {
    if (node.type === 'code') found.pre.push(lines(node.value ?? ''));
    if (node.type === 'table') found.tables.push(rowsOf(node));
    if (node.type === 'link') found.links.push(linkKey(node.url ?? '', textOf(node)));
    if (node.type === 'heading') found.headings.push(`${node.depth} ${wordsOf(textOf(node)).join(' ')}`);
    for (const child of node.children ?? []) walk(child);
  };
  walk(treeOf(markdown));
  return found;
}

function rowsOf({ children = [] }: MarkdownNode): string {
  const rows = children.map(({ children: cells = [] }) =>
    cells.map(cell => wordsOf(textOf(cell)).join(' ')).join('|'),
  );
  return rows.filter(row => row.replaceAll('|', '') !== '').join('\n');
}

function textOf({ type, value, children }: MarkdownNode): string {
  if (type === 'break' || (type === 'html' && value === '<br>')) return ' ';
  return value ?? (children ?? []).map(textOf).join('');
}

function linkKey(url: string, text: string): string {
  let target = url;
  try {
    target = decodeURIComponent(url);
  } catch {
    // As it is.
  }
  return `${target} ${wordsOf(text).join(' ')}`;
}

function lines(text: string): string {
  return text
    .replaceAll('\u00ad', '')
    .split('\n')
    .map(line => line.trimEnd())
    .join('\n')
    .replace(/^\n+|\n+$/g, '');
}

/** What a page holds that Markdown can. @param url of the page */
export function foundInHtml(html: string, url: string): Found {
  const found: Found = { pre: [], tables: [], links: [], headings: [] };
  let base = url;
  const walk = (node: HtmlNode, inTable: boolean, inHeading: boolean) => {
    if (isElement(node)) {
      const name = node.tagName;
      const attribute = (key: string) => node.attrs.find(each => each.name === key)?.value;
      if (
        HIDDEN_ELEMENTS.has(name) ||
        attribute('hidden') !== undefined ||
        /display:\s*none/.test(attribute('style') ?? '')
      )
        return;
      if (name === 'base' && base === url) base = resolved(attribute('href') ?? '', url) ?? url;
      const text = () => htmlText(node);
      if (name === 'pre' && !inTable && !inHeading && text().trim() !== '')
        found.pre.push(lines(rawText(node)));
      const target = name === 'a' ? resolved(attribute('href'), base) : undefined;
      if (target !== undefined && text().trim() !== '') found.links.push(linkKey(target, text()));
      if (/^h[1-6]$/.test(name)) {
        if (wordsOf(text()).length > 0) found.headings.push(`${name[1]} ${wordsOf(text()).join(' ')}`);
        inHeading = true;
      }
      if (name === 'table') {
        const rows = rowsOfTable(node);
        if (rows !== undefined) found.tables.push(rows);
        inTable = true;
      }
      // One in another is a part of it.
      if (name === 'pre') inHeading = true;
    }
    for (const child of childrenOf(node)) walk(child, inTable, inHeading);
  };
  walk(parse(html), false, false);
  return found;
}

const HIDDEN_ELEMENTS = new Set('script style template textarea title select noscript iframe svg'.split(' '));
const BLOCKS =
  /^(?:p|div|li|ul|ol|dl|dt|dd|td|th|tr|table|br|pre|blockquote|h[1-6]|section|figure|figcaption)$/;

function resolved(href: string | undefined, base: string): string | undefined {
  if (href === undefined || /^\s*(?:javascript|data):/i.test(href)) return undefined;
  try {
    return new URL(href, base).href;
  } catch {
    return undefined;
  }
}

function isElement(node: HtmlNode): node is HtmlElement {
  return 'tagName' in node;
}

function childrenOf(node: HtmlNode): HtmlNode[] {
  return 'childNodes' in node ? node.childNodes : [];
}

function rawText(node: HtmlNode): string {
  if (isElement(node) && node.tagName === 'br') return '\n';
  return 'value' in node ? node.value : childrenOf(node).map(rawText).join('');
}

function htmlText(node: HtmlNode): string {
  if ('value' in node) return node.value;
  if (isElement(node) && HIDDEN_ELEMENTS.has(node.tagName)) return '';
  const inside = childrenOf(node).map(htmlText).join('');
  return isElement(node) && BLOCKS.test(node.tagName) ? ` ${inside} ` : inside;
}

/** undefined for a table that Markdown has not. */
function rowsOfTable(table: HtmlElement): string | undefined {
  const rows: HtmlElement[] = [];
  let isOther = false;
  const walk = (node: HtmlNode) => {
    if (isElement(node)) {
      if (node.tagName === 'table' || /^h[1-6]$/.test(node.tagName)) isOther = true;
      if (node.tagName === 'pre' && lines(htmlText(node)).includes('\n')) isOther = true;
      if (node.tagName === 'tr') rows.push(node);
    }
    childrenOf(node).forEach(walk);
  };
  childrenOf(table).forEach(walk);
  const reaches: number[] = [];
  const grid = rows.map(row => {
    const cells: string[] = [];
    for (const [column, left] of reaches.entries()) if (left > 0) reaches[column] = left - 1;
    for (const cell of childrenOf(row)) {
      if (!isElement(cell) || !/^t[dh]$/.test(cell.tagName)) continue;
      const span = (name: string) => Number(cell.attrs.find(each => each.name === name)?.value ?? 1) || 1;
      while ((reaches[cells.length] ?? 0) > 0) cells.push('');
      for (let i = 0; i < span('colspan'); i++) {
        if (span('rowspan') > 1) reaches[cells.length] = span('rowspan');
        cells.push(i === 0 ? wordsOf(htmlText(cell)).join(' ') : '');
      }
    }
    return cells;
  });
  const columns = Math.max(0, ...grid.map(cells => cells.length));
  if (isOther || columns < 2 || columns > 64) return undefined;
  const filled = grid.map(cells => Array.from({ length: columns }, (_, i) => cells[i] ?? '').join('|'));
  const shown = filled.filter(row => row.replaceAll('|', '') !== '');
  return shown.length === 0 ? undefined : shown.join('\n');
}

/** How many of the ones are among the others. */
export function commonCount(wanted: readonly string[], there: readonly string[]): number {
  const left = new Map<string, number>();
  for (const each of there) left.set(each, (left.get(each) ?? 0) + 1);
  let count = 0;
  for (const each of wanted) {
    const some = left.get(each) ?? 0;
    if (some === 0) continue;
    left.set(each, some - 1);
    count++;
  }
  return count;
}
