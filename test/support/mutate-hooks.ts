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
  const edits = mutation?.edits.filter(({ module }) => url.endsWith(`/dist/src/${module}`)) ?? [];
  if (edits.length === 0) return nextLoad(url, context);
  const source = edits.reduce(mutated, readFileSync(fileURLToPath(url), 'utf8'));
  return { format: 'module', shortCircuit: true, source };
};
