/** Whose a link is: a link makes no provider, so it belongs to one whose pages are followed, or to nobody. */
import { ambiguityOf } from '../wire/url-ambiguity.js';
import { strictRootCheck } from '../wire/roots.js';

/** A provider whose pages are followed. */
interface SpiderProvider {
  pid: number;
  roots: readonly string[];
}

interface Root {
  pid: number;
  length: number;
  isAbove: (url: string) => boolean;
}

const ORIGIN = /^https?:\/\/[^/]+/;

export class LinkOwners {
  /** The longest first. */
  readonly #roots = new Map<string, Root[]>();
  readonly #pids = new Set<number>();

  constructor(providers: Iterable<SpiderProvider>) {
    for (const { pid, roots } of providers) {
      this.#pids.add(pid);
      for (const root of roots) {
        const origin = URL.canParse(root) ? new URL(root).origin : '';
        const there = this.#roots.get(origin) ?? [];
        there.push({ pid, length: root.length, isAbove: strictRootCheck([root]) });
        this.#roots.set(origin, there);
      }
    }
    for (const roots of this.#roots.values()) roots.sort((a, b) => b.length - a.length || a.pid - b.pid);
  }

  /** True if the pages of a provider are followed. */
  isFollowed(pid: number): boolean {
    return this.#pids.has(pid);
  }

  /** Why a url is nobody's that is of the host of a root: how servers read it is not certain; undefined: not
   * for that. */
  doubtOf(curl: string): string | undefined {
    const [origin = ''] = ORIGIN.exec(curl) ?? [];
    return this.#roots.has(origin) ? ambiguityOf(curl) : undefined;
  }

  /** The provider with the longest root around a url. @param curl canonical */
  ownerOf(curl: string): number | undefined {
    const [origin = ''] = ORIGIN.exec(curl) ?? [];
    return this.#roots.get(origin)?.find(root => root.isAbove(curl))?.pid;
  }
}
