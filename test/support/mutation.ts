/** A compiled module with a safeguard taken out, to see that a test notices. */

/** A change of the code after a mark. */
export interface Edit {
  /** Exact text. */
  find: string;
  replace: string;
}

/** An edit at its place. */
export interface Change extends Edit {
  /** Below dist/src. */
  module: string;
  /** Where `find` begins. */
  at: number;
}

export interface Mutation {
  changes: Change[];
}

/** How far after its mark the text may begin: a statement of SQL. */
const REACH_CHARACTERS = 1200;

const commentOf = (mark: string) => `// safeguard: ${mark}`;

/**
 * Where the edit belongs: after the one mark `// safeguard: NAME` that has its text close by, whichever module that is in.
 * @param modules path → compiled text
 * @throws Error when there is no such mark or more than one: the mutant has to follow the code
 */
export function placed(modules: ReadonlyMap<string, string>, mark: string, edit: Edit): Change {
  const found = new Map<string, Change>();
  for (const [module, source] of modules) {
    const line = `${commentOf(mark)}\n`;
    for (let from = source.indexOf(line); from >= 0; from = source.indexOf(line, from + 1)) {
      const at = source.indexOf(edit.find, from + line.length);
      if (at >= 0 && at - from < REACH_CHARACTERS) found.set(`${module}:${at}`, { module, at, ...edit });
    }
  }
  const [change, ...others] = found.values();
  if (change === undefined || others.length > 0)
    throw new Error(`${found.size} places after "${commentOf(mark)}" have this text, not one: ${edit.find}`);
  return change;
}

/** The module with the change made. */
export function mutated(source: string, { at, find, replace }: Change): string {
  return source.slice(0, at) + replace + source.slice(at + find.length);
}
