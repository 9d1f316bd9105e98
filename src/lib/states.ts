/** Transitions between named states, each asserted where it is made. */

/**
 * @param noun what is in these states, for the message
 * @param after the states that each may become
 * @returns gives the state back that is entered. @throws Error for a transition that is not in the table: a
 * bug of the caller
 */
export function transitions<S extends string>(
  noun: string,
  after: Readonly<Record<S, readonly NoInfer<S>[]>>,
): (from: S, to: S, which?: string | number) => S {
  return (from, to, which) => {
    if (after[from].includes(to)) return to;
    throw new Error(`${noun}${which === undefined ? '' : ` ${which}`}: ${from} does not become ${to}`);
  };
}

/** The names in a table of transitions. */
export type StateOf<Becomes extends (...states: never[]) => string> = ReturnType<Becomes>;
