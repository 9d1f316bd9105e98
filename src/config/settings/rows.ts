/** Parts of a setting: type, unit, default, bounds, meaning. */
import type { Unit } from '../amounts.js';
import type { Form } from '../forms.js';

export type SettingRow =
  | {
      type: 'number';
      unit: Unit;
      default: number;
      min: number;
      max: number;
      doc: string;
      oneOf?: readonly number[];
    }
  | { type: 'boolean'; default: boolean; doc: string }
  | { type: 'string'; default: string; doc: string; oneOf?: readonly string[]; form?: Form }
  | { type: 'list'; default: readonly string[]; doc: string; of?: 'networks'; form?: Form; needsOne?: true };

/** The rows of one section of lcc.toml. */
export type Section<Name extends string> = Record<`${Name}.${string}`, SettingRow>;

export const count = (value: number, min: number, max: number, doc: string) =>
  ({ type: 'number', unit: 'count', default: value, min, max, doc }) as const;
export const ms = (value: number, min: number, max: number, doc: string) =>
  ({ type: 'number', unit: 'ms', default: value, min, max, doc }) as const;
export const bytes = (value: number, min: number, max: number, doc: string) =>
  ({ type: 'number', unit: 'bytes', default: value, min, max, doc }) as const;
export const bytesPerS = (value: number, min: number, max: number, doc: string) =>
  ({ type: 'number', unit: 'bytes_per_s', default: value, min, max, doc }) as const;
export const percent = (value: number, min: number, max: number, doc: string) =>
  ({ type: 'number', unit: 'percent', default: value, min, max, doc }) as const;
export const flag = (value: boolean, doc: string) => ({ type: 'boolean', default: value, doc }) as const;
export const text = (value: string, doc: string, form?: Form) =>
  ({ type: 'string', default: value, doc, ...(form === undefined ? {} : { form }) }) as const;
export const list = (value: readonly string[], doc: string, form?: Form) =>
  ({ type: 'list', default: value, doc, ...(form === undefined ? {} : { form }) }) as const;
