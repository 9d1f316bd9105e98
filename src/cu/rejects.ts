/** Rows that could not be written as they should: counted, and named, but for most of those that are on
 * another machine. */

export interface RejectTalk {
  /** A row that could not be written as it should. */
  reject(message: string): void;
  /** In place of `reject`, a row whose content is on another machine. */
  elsewhere?: ((curl: string, machine: string) => void) | undefined;
  /** True if such rows are named one by one; otherwise the first of them is, and how many more there are. */
  namesAll?: boolean | undefined;
}

export class Rejects {
  count = 0;
  /** Rows left out that the next query has: nothing is wrong with them. */
  replaced = 0;
  readonly #talk: RejectTalk;
  /** Rows with their content on another machine, but for the first. */
  readonly #elsewhere = new Map<string, number>();
  #isElsewhereTold = false;

  constructor(talk: RejectTalk) {
    this.#talk = talk;
  }

  readonly add = (message: string): void => {
    this.count++;
    this.#talk.reject(message);
  };

  /** A store that is mostly elsewhere has thousands of such rows. */
  elsewhere(curl: string, machine: string): void {
    const { elsewhere, namesAll } = this.#talk;
    if (elsewhere === undefined && (namesAll === true || !this.#isElsewhereTold)) {
      this.#isElsewhereTold = true;
      this.add(`${curl}: left out: its content is on machine ${machine}, not on this one`);
      return;
    }
    this.count++;
    if (elsewhere !== undefined) elsewhere(curl, machine);
    else this.#elsewhere.set(machine, (this.#elsewhere.get(machine) ?? 0) + 1);
  }

  /** Says how many rows were left out unnamed. */
  tellRest(): void {
    if (this.#elsewhere.size === 0) return;
    const each = [...this.#elsewhere].map(([machine, count]) => `${count} on machine ${machine}`);
    this.#talk.reject(`left out in the same way: ${each.join(', ')}; -v names each`);
    this.#elsewhere.clear();
  }
}
