/** Targets, groups and paths as they are set up, read at once and then looked up often. Never changed: a new
 * one is made. */
import type { ClearDatabase } from '../db/clear/database.js';
import type { MemberRow, PathRow, TargetRow } from '../db/clear/targets.js';
import { isPutOn } from './drivers/index.js';

/** The content type whose paths say which file the page of a folder is: what stands after the path is its
 * name. */
export const INDEX_TYPE = '@index';

export class TargetMap {
  readonly #targets: ReadonlyMap<string, TargetRow>;
  readonly #below = new Map<string, string[]>();
  readonly #above = new Map<string, string[]>();
  readonly #paths = new Map<string, PathRow[]>();
  readonly #pathsOfTarget = new Map<string, string[]>();
  /** True if any folder has a file for its page. */
  readonly hasIndexes: boolean;
  readonly #ofCaches: ReadonlySet<string>;

  /** @param ofCaches elementary targets that have rails, none of which has files */
  constructor(
    targets: readonly TargetRow[],
    members: readonly MemberRow[],
    paths: readonly PathRow[],
    ofCaches: readonly string[] = [],
  ) {
    this.#ofCaches = new Set(ofCaches);
    this.hasIndexes = paths.some(({ contentType }) => contentType === INDEX_TYPE);
    this.#targets = new Map(targets.map(row => [row.name, row]));
    for (const { target, member } of members) {
      addTo(this.#below, target, member);
      addTo(this.#above, member, target);
    }
    for (const row of paths) {
      addTo(this.#paths, keyOf(row.contentType, row.target), row);
      if (row.contentType !== INDEX_TYPE) addTo(this.#pathsOfTarget, row.target, row.path);
    }
  }

  get(name: string): TargetRow | undefined {
    return this.#targets.get(name);
  }

  /** The elementary targets that a request for a target is about, each once; a target itself if it is one. */
  elementariesOf(name: string): readonly string[] {
    return reachable(name, this.#below).filter(each => this.get(each)?.kind === 'elementary');
  }

  /** The groups that a target is in, the nearest first. */
  groupsAbove(name: string): readonly string[] {
    return reachable(name, this.#above).slice(1);
  }

  /** Where contents of a type lie on a target, those of its groups left out; undefined where nothing is set
   * up. */
  pathsOf(contentType: string, name: string): readonly PathRow[] | undefined {
    return this.#paths.get(keyOf(contentType, name));
  }

  /** True if an elementary target has no rail with files, and any other. */
  isOfCaches(name: string): boolean {
    return this.#ofCaches.has(name);
  }

  /** Paths of pages of any type on a target, those of its groups left out. */
  allPathsOf(name: string): readonly string[] {
    return this.#pathsOfTarget.get(name) ?? [];
  }
}

function keyOf(contentType: string, target: string): string {
  return `${target}\0${contentType}`;
}

function addTo<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

/** A name and all that follows from it, the nearest first, each once. */
function reachable(name: string, next: ReadonlyMap<string, readonly string[]>): string[] {
  const seen = new Set([name]);
  // A set may grow while it is walked.
  for (const each of seen) for (const other of next.get(each) ?? []) seen.add(other);
  return [...seen];
}

/** Targets, groups and paths as they are stored. Inside a read. */
export function readTargetMap({ targets, rails }: Pick<ClearDatabase, 'targets' | 'rails'>): TargetMap {
  const all = rails.all();
  const withFiles = new Set(all.filter(isPutOn).map(({ target }) => target));
  const ofCaches = all.map(({ target }) => target).filter(target => !withFiles.has(target));
  return new TargetMap(targets.all(), targets.members(), targets.paths(), ofCaches);
}
