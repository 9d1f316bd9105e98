/**
 * Decides if a load balancer is believed that a page is gone. One that does not know names with a timestamp
 * says so of every page, and all of them would be removed from the rails; so it is asked for the page by its
 * own name, too, until it has answered any such name with a page.
 */
import type { ClearDatabase } from '../../db/clear/database.js';
import type { Commits } from '../rails/commits.js';
import type { Generated, PageOrigin, PageSource } from './generator.js';

/** Generates pages of `PageOrigin`s; that one knows names with a timestamp is kept in the database. */
export class ProvenSource {
  readonly #source: PageSource;
  readonly #db: ClearDatabase;
  readonly #commits: Commits;
  readonly #proven = new Set<string>();

  constructor(source: PageSource, db: ClearDatabase, commits: Commits) {
    this.#source = source;
    this.#db = db;
    this.#commits = commits;
  }

  /** Resolves as the source does. @param tsUrl the name that `url` is generated under */
  async generate(origin: PageOrigin, tsUrl: string, url: string): Promise<Generated> {
    const said = await this.#source.generate(origin, tsUrl);
    if (said.kind === 'page') this.#prove(origin);
    if (said.kind !== 'gone' || this.#isProven(origin)) return said;
    const plain = await this.#source.generate(origin, url);
    if (plain.kind !== 'page') return plain;
    const error = `${said.error}, but there is ${url}: the site must answer names with a timestamp (lccrail-drivers(5)), the page stays`;
    return { kind: 'failed', error };
  }

  #isProven(origin: PageOrigin): boolean {
    const name = nameOf(origin);
    if (this.#proven.has(name)) return true;
    if (!this.#db.read(() => this.#db.numbers.isNoted(name))) return false;
    this.#proven.add(name);
    return true;
  }

  #prove(origin: PageOrigin): void {
    if (this.#isProven(origin)) return;
    const name = nameOf(origin);
    this.#proven.add(name);
    this.#commits.add(() => this.#db.numbers.note(name));
  }
}

/** Another address, or another host, may be another site. */
function nameOf({ lbUrl, host }: PageOrigin): `names ${string}` {
  return `names ${lbUrl} ${host ?? ''}`;
}
