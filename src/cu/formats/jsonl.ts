/** One JSON object a line with all fields, null where a row has none. */
import { fieldValue, FIELD_NAMES, FIELDS } from '../fields.js';
import type { Format } from './types.js';

export const jsonl: Format = {
  sides: ['held', 'gone'],
  takesFields: true,
  open(context) {
    const names = context.fields ?? FIELD_NAMES;
    const keys = names.map((name, i) => `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`);
    return {
      columns: names.map(name => FIELDS[name]),
      record(values) {
        let line = '';
        for (const [i, name] of names.entries()) {
          line += keys[i] + JSON.stringify(fieldValue(name, values[i] ?? null, context.storeDir));
        }
        return `${line}}\n`;
      },
    };
  },
};
