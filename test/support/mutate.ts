/** `node --import mutate.js …` runs a program with the mutation in LCC_MUTATION (JSON). */
import { register } from 'node:module';
import type { Mutation } from './mutation.js';

const data = JSON.parse(process.env['LCC_MUTATION'] ?? '{"changes":[]}') as Mutation;
register('./mutate-hooks.js', import.meta.url, { data });
