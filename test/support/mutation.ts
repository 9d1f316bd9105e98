/** A compiled module with a safeguard taken out, to see that a test notices. */

export interface Edit {
  /** Below dist/src. */
  module: string;
  /** Exact text, found once. */
  find: string;
  replace: string;
}

export interface Mutation {
  edits: Edit[];
}

/** @throws Error when the text is not found exactly once: the mutation has to follow the code */
export function mutated(source: string, { module, find, replace }: Edit): string {
  const parts = source.split(find);
  if (parts.length !== 2) throw new Error(`${module}: found ${parts.length - 1} times, not once: ${find}`);
  return parts.join(replace);
}
