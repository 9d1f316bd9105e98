/** A site that announces nothing: pages of all kinds below a directory, and endless ones that nginx makes. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Pages by path; text is UTF-8. */
export type SitePages = Readonly<Record<string, string | Buffer>>;

export function writePages(docroot: string, pages: SitePages): void {
  for (const [path, content] of Object.entries(pages)) {
    const file = join(docroot, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

/** A site of `count` pages that link to each other, to pictures and to a style sheet; each has a link that leads nowhere. */
export function treeOf(count: number): Record<string, string> {
  const pages: Record<string, string> = {};
  const nameOf = (n: number) => `tree/${n % 7}/page-${n}.html`;
  for (let n = 0; n < count; n++) {
    const links = [2 * n + 1, 2 * n + 2, (7 * n) % count]
      .filter(to => to < count)
      .map(to => `<p>More on <a href="../../${nameOf(to)}#part">page ${to}</a>.</p>`);
    pages[nameOf(n)] =
      `<!doctype html><html><head><title>Page ${n}</title><link rel="stylesheet" href="/tree/style.css"></head><body>
<p>Text of page ${n}.</p>${links.join('\n')}<img src="/tree/img/${n % 5}.png"><a href="/missing.html">gone</a></body></html>`;
  }
  for (let n = 0; n < 5; n++) pages[`tree/img/${n}.png`] = `picture ${n}`;
  pages['tree/style.css'] = 'body { background: url(img/0.png) } @import "more.css";';
  pages['tree/more.css'] = 'p { background: url("img/extra.png") }';
  pages['tree/img/extra.png'] = 'extra';
  return pages;
}

/** Links that are written in unusual ways, and where they lead; `index.html` is where one begins. @param origin of the site */
export function oddPages(origin: string): SitePages {
  const host = origin.replace(/^http:/, '');
  return {
    'odd/index.html': `<a href="base.html"><a href='&#115;rcset.html'><a href=refresh.html><a href="entit&eacute;.html"><a href="${host}/odd/host.html">
      <a href="query.html?q=1&amp;r=2"><a href="latin1.html"><a href="frames.html"><a href="feed.xml"><a href="xhtml.xhtml">
      <noscript><a href="noscript.html"></noscript><a href="%6eormal.html#top"><a href="normal.html?utm_source=x">
      <template><a href="no.html"></template><!-- <a href="no.html"> --><script>"<a href='no.html'>"</script>`,
    'odd/base.html': '<base href="/odd/deep/"><base href="/no/"><a href="in-base.html">',
    'odd/deep/in-base.html': 'in the base',
    'odd/srcset.html': '<img srcset="set-1.png 1x, set-2.png 2x" style="background: url(styled.png)">',
    'odd/set-1.png': '1',
    'odd/set-2.png': '2',
    'odd/styled.png': '3',
    'odd/refresh.html': `<meta http-equiv="refresh" content="5; url='refreshed.html'">`,
    'odd/refreshed.html': 'refreshed',
    'odd/entité.html': 'an entity',
    'odd/host.html': 'the host',
    'odd/query.html': 'a query',
    'odd/latin1.html': Buffer.from('<meta charset=iso-8859-1><a href="latin1-target.html?q=\xe9">', 'latin1'),
    'odd/latin1-target.html': 'Latin-1',
    'odd/frames.html':
      '<frameset><frame src="left.html"><noframes><a href="noframes.html"></noframes></frameset>',
    'odd/left.html': 'left',
    'odd/noframes.html': 'no frames',
    'odd/feed.xml': '<rss><channel><item><link>/odd/item.html</link></item></channel></rss>',
    'odd/item.html': 'an item',
    'odd/xhtml.xhtml':
      '<html xmlns="http://www.w3.org/1999/xhtml"><script/><a href="from-xhtml.html"/></html>',
    'odd/from-xhtml.html': 'from XHTML',
    'odd/noscript.html': 'no script',
    'odd/normal.html': 'one form',
    'odd/no.html': 'never asked for',
  };
}

/** The paths of the above that a crawl asks for, with what shows pages. */
export const ODD_PATHS =
  `base.html deep/in-base.html srcset.html refresh.html refreshed.html entit%C3%A9.html host.html latin1.html
  frames.html left.html noframes.html item.html from-xhtml.html noscript.html normal.html index.html query.html?q=1&r=2
  latin1-target.html?q=%E9 feed.xml xhtml.xhtml set-1.png set-2.png styled.png`
    .split(/\s+/)
    .map(name => `/odd/${name}`)
    .sort();

/** For nginx's server: places without end, each below its name; what they answer is never twice the same but for `same`. */
export const TRAP_LOCATIONS = `
  location /deep/ { default_type text/html; return 200 '<a href="\${uri}$request_id/">deeper</a>'; }
  location /again/ { default_type text/html; return 200 '$request_id <a href="\${uri}a/">again</a>'; }
  location /next/ { default_type text/html; return 200 '<a href="/next/$request_id">next</a>'; }
  location /list { default_type text/html; return 200 '<a href="?a=$request_id">1</a><a href="?b=$request_id">2</a>'; }
  location /same/ { default_type text/html; return 200 '<a href="x/">the</a> <a href="y/">same</a> <a href="z/">again</a>'; }
  location /calendar/ { default_type text/html; return 200 '$request_id <a href="/calendar/2099-01/">far</a><a href="/calendar/1999-01/">near</a>'; }
  location /twice/ { default_type text/html; return 200 '<a href="/twice/%2525">%</a><a href="/twice/?a=1&amp;amp;b=2">amp</a>'; }
  location /many/ { default_type text/html; return 200 '<a href="?1&2&3&4&5&6&7&8&9&10&11&12&13">many</a>'; }
  location /long/ { default_type text/html; return 200 '<a href="${'x'.repeat(2001)}">long</a>'; }
  location /sorted { default_type text/html; return 200 '<link rel=canonical href="/sorted"><a href="?sort=$request_id">sort</a>'; }
`;

/** Where each of them begins, and the name by which it is counted. */
export const TRAPS = {
  '/deep/': 'deep',
  '/again/': 'repeated',
  '/next/': 'hops',
  '/list': 'queries',
  '/same/': 'copies',
  '/calendar/': 'calendar',
  '/twice/': 'escaped',
  '/many/': 'parameters',
  '/long/': 'long',
  '/sorted?sort=1': 'canonical',
} as const;
