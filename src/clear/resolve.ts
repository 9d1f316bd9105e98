/** From a request to the pages it is about: on each elementary target below the one that was named, path + id
 * + extension. */
import type { RequestKey } from '../db/clear/queue.js';
import { isFolder, pathOfContentId, problemOfPage, problemOfUrl } from './page-url.js';
import { indexesOf, isOnPath, pathsFor } from './path-map.js';
import type { TargetMap } from './target-map.js';

/** A page of an elementary target. */
export interface TargetPage {
  target: string;
  /** Path of the page on the rails. */
  url: string;
}

/** The content type of requests whose content id is the path of a page already. */
export const URL_TYPE = '@url';

export interface ResolveOptions {
  /** Ids may have letters of any script. */
  utf8: boolean;
  /** Pages of one request at most. */
  maxPages: number;
}

/** The code of a rejection stands first in its text: `no-path-map: …`. */
export type Resolved = { pages: TargetPage[] } | { rejected: string };

/** The pages, each once; or why there are none. */
export function resolveRequest(map: TargetMap, request: RequestKey, options: ResolveOptions): Resolved {
  const { contentType, target } = request;
  if (map.get(target) === undefined) return { rejected: `no-target: there is no target ${shown(target)}` };
  const urls = contentType === URL_TYPE ? asUrl(map, request) : asContent(map, request, options);
  if ('rejected' in urls) return urls;
  const pages: TargetPage[] = [];
  for (const elementary of map.elementariesOf(target)) {
    for (const url of new Set(urls.of(elementary))) {
      const problem = contentType === URL_TYPE ? problemOfPage(url) : problemOfUrl(url);
      if (problem !== undefined) return { rejected: `bad-url: ${problem}: ${shown(url)}` };
      if (pages.push({ target: elementary, url }) > options.maxPages)
        return { rejected: `too-many-pages: more than ${options.maxPages}` };
    }
  }
  return pages.length > 0 ? { pages } : { rejected: urls.none };
}

type Urls = { of: (elementary: string) => string[]; none: string } | { rejected: string };

function asUrl(map: TargetMap, { contentId: url, target: asked }: RequestKey): Urls {
  const problem = problemOfPage(url);
  if (problem !== undefined) return { rejected: `bad-url: ${problem}: ${shown(url)}` };
  const on = map.elementariesOf(asked).filter(elementary => isOnPath(map, elementary, url));
  const pages = new Map(on.map(elementary => [elementary, pagesAt(map, url, { elementary, asked })]));
  const unclear = on.find(elementary => pages.get(elementary)?.length === 0);
  if (unclear !== undefined) {
    const remedy = `lccrail map add ${unclear} --type=@index --path=/ --extension=index.html says which file it is`;
    return { rejected: `bad-url: ${problemOfUrl(url) ?? ''} (${remedy}): ${shown(url)}` };
  }
  return {
    of: elementary => pages.get(elementary) ?? [],
    none:
      map.elementariesOf(asked).length === 0
        ? `outside: the group ${shown(asked)} has no members (lccrail target group)`
        : `outside: ${shown(url)} is below no path of the target (lccrail map add)`,
  };
}

/** The page of a folder is a file, or, where rails have no files, what it is called; none where that is not
 * known. */
function pagesAt(map: TargetMap, url: string, scope: { elementary: string; asked: string }): string[] {
  if (!isFolder(url)) return [url];
  const files = indexesOf(map, url, scope);
  return files.length > 0 || !map.isOfCaches(scope.elementary) ? files : [url];
}

function asContent(
  map: TargetMap,
  { contentId, contentType, target }: RequestKey,
  { utf8 }: ResolveOptions,
): Urls {
  const id = pathOfContentId(contentId, utf8);
  if ('problem' in id) return { rejected: `bad-content-id: ${id.problem}: ${shown(contentId)}` };
  return {
    of: elementary =>
      pathsFor(map, contentType, { elementary, asked: target }).map(
        ({ path, extension }) => path + id.part + extension,
      ),
    none: `no-path-map: no path for contents of type ${shown(contentType)} on ${shown(target)} (lccrail map add)`,
  };
}

const SHOWN_CHARS = 200;

/** Text of strangers, as it may stand in a log. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, SHOWN_CHARS));
}
