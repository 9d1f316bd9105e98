import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse, type DefaultTreeAdapterTypes } from 'parse5';
import { urlOfRefresh, urlsOfCss, urlsOfSrcset } from '../../src/text/link-values.js';
import { pageLinks, type PageLinksOptions } from '../../src/text/page-links.js';

/** Mutated pages. */
const PAGES = Number(process.env['LCC_TEST_LINK_PAGES'] ?? 300);
const SEED = Number(process.env['LCC_TEST_SEED'] ?? 19);

type Node = DefaultTreeAdapterTypes.ChildNode;
type Element = DefaultTreeAdapterTypes.Element;

/** What a parser of HTML finds that makes a tree; the values are read by the same functions. */
function linksOfTree(html: string): Set<string> {
  const found = new Set<string>();
  const visit = (nodes: readonly Node[]) => {
    for (const node of nodes)
      if ('tagName' in node) {
        for (const href of linksOf(node)) found.add(href);
        visit(node.childNodes);
      }
  };
  visit(parse(html, { scriptingEnabled: false }).childNodes);
  return found;
}

function* linksOf(element: Element): Generator<string> {
  const get = (name: string) =>
    element.attrs.find(attr => attr.name === name && attr.prefix === undefined)?.value;
  const all = function* (...names: string[]) {
    for (const name of names) {
      const value = get(name);
      if (value !== undefined) yield value;
    }
  };
  yield* urlsOfCss(get('style') ?? '');
  const rel =
    get('rel')
      ?.toLowerCase()
      .split(/[ \t\n\f\r]+/) ?? [];
  switch (element.tagName) {
    case 'a':
    case 'area':
      yield* all('href');
      break;
    case 'link':
      if (rel.some(one => 'canonical next prev search alternate stylesheet icon'.split(' ').includes(one)))
        yield* all('href');
      break;
    case 'img':
    case 'source':
      yield* urlsOfSrcset(get('srcset') ?? '');
      yield* all('src');
      break;
    case 'video':
      yield* all('src', 'poster');
      break;
    case 'object':
      yield* all('data');
      break;
    case 'frame':
    case 'iframe':
    case 'audio':
    case 'track':
    case 'script':
    case 'embed':
      yield* all('src');
      break;
    case 'style':
      for (const child of element.childNodes) if ('value' in child) yield* urlsOfCss(child.value);
      break;
    case 'meta':
      if (get('http-equiv')?.toLowerCase() === 'refresh') yield urlOfRefresh(get('content') ?? '') ?? '';
      break;
    default:
  }
}

/**
 * What pages are made of. Without `select`: of what is in it parse5 8.1 has an older standard, by which browsers do not go any
 * more. Drawings and templates are whole before the page is changed: the few elements that the standard moves out of a
 * template that was crossed with a drawing are not followed there.
 */
const PIECES =
  `<a href="page-#.html">link</a>|<a href='#?a=1&amp;b=2&copy=#' rel=nofollow>link</a>|<map><area href=#></map>|<p>|</p>
|<div style="background: url(#)">|</div>|<table><tr><td>|</td></tr></table>|<iframe src="#"></iframe>|<noscript><a href=#></noscript>
|<frameset><frame src=#></frameset>|<frameset>|<noframes><p>no frames</noframes>|<script src=#></script>|<script>"<a href=#>"</script>
|<!-- <a href=#> -->|<script><!-- <script> </script> --></script>|<style>a { background: url("#") }</style>|<template><a href=#></template>
|<svg viewBox="0 0 1 1"><a xlink:href=#><title>t</title></a></svg>|<svg><foreignObject><p><a href=#></a></p></foreignObject></svg>
|<math><mi>x</mi></math>|<title>a title</title>|<textarea>text</textarea>|<img src=# srcset="# 1x, #-2 2x">|<video poster=# src='#'></video>
|<link rel=next href=#>|<meta http-equiv=refresh content="0;url='#'">|<base href="/#/">|<object data=#></object>|<head>|<body>|</body>
|</html>|<xmp><b></xmp>|<![CDATA[ x ]]>|<br/>|<h1>head</h1>|<button>|</button>|<form>|</form>|text &eacute; & < >|<b><i>|</i></b>|<li>
|<ul>|</ul>|<!doctype html>`
    .split('|')
    .map(piece => piece.trim());

/** 32 bits, the same for the same seed (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const ODD = ['<', '>', '"', "'", '=', '/', '&', ' ', '\0', '\n', '-', '!', ']', 'a', 'é'];

function mutatedPage(random: (below: number) => number): string {
  let page = '';
  for (let piece = 0; piece < 30; piece++)
    page += (PIECES[random(PIECES.length)] ?? '').replaceAll('#', () => `u${random(100_000)}`);
  for (let change = 1 + random(6); change > 0; change--) {
    const at = random(page.length);
    const odd = ODD[random(ODD.length + 3)] ?? page.slice(at - 40, at);
    page = page.slice(0, at) + odd + page.slice(at + random(random(4) === 0 ? 40 : 4));
  }
  return page;
}

test(`${PAGES} mutated pages: all that parse5 finds is found`, () => {
  const random = randomOf(SEED);
  for (let run = 0; run < PAGES; run++) {
    const page = mutatedPage(random);
    const options: PageLinksOptions = {
      isXml: false,
      assets: true,
      robotName: 'x',
      maxLinks: 10_000,
      maxValueLength: 8192,
      timeoutMs: 60_000,
      nowMs: () => 0,
    };
    const { links, cut } = pageLinks(page, options);
    assert.equal(cut, undefined);
    const bytes = Buffer.from(page).toString('latin1');
    assert.deepEqual(pageLinks(bytes, { ...options, isBytes: true }).links, links);
    const found = new Set(links.map(({ href }) => href));
    const missed = [...linksOfTree(page)].filter(
      href => href !== '' && !href.includes('<![CDATA[') && !found.has(href),
    );
    assert.deepEqual(missed, [], `page ${run} of seed ${SEED}: ${JSON.stringify(page)}`);
  }
});
