/** Module hooks of mutate.ts: one module is loaded with some of its text replaced. */
import { readFileSync } from 'node:fs';
import type { InitializeHook, LoadHook } from 'node:module';
import { fileURLToPath } from 'node:url';
import { mutated, type Mutation } from './mutation.js';

let mutation: Mutation | undefined;

export const initialize: InitializeHook<Mutation> = data => {
  mutation = data;
};

export const load: LoadHook = (url, context, nextLoad) => {
  const changes = mutation?.changes.filter(({ module }) => url.endsWith(`/dist/src/${module}`)) ?? [];
  if (changes.length === 0) return nextLoad(url, context);
  // From the last on, so that places before it stay where they are.
  const ordered = changes.sort((a, b) => b.at - a.at);
  const source = ordered.reduce(mutated, readFileSync(fileURLToPath(url), 'utf8'));
  return { format: 'module', shortCircuit: true, source };
};
