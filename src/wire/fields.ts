/** Attribute values of messages as numbers, flags and texts; anything else is a breach of protocol. */
import { charsetNamed } from '../lib/charset.js';
import { LccError } from '../lib/errors.js';
import type { Attributes } from '../lib/xml/types.js';

/** A value that must be there. @throws LccError `peer.protocol` */
export function requiredText(element: string, attributes: Attributes, name: string): string {
  const value = attributes[name];
  if (value === undefined || value === '') throw breach(element, name, value, 'it is required');
  return value;
}

/** An absolute path that must be there. @throws LccError `peer.protocol` */
export function requiredPath(element: string, attributes: Attributes, name: string): string {
  const value = requiredText(element, attributes, name);
  if (!value.startsWith('/')) throw breach(element, name, value, 'give an absolute path');
  return value;
}

/** A whole number from 0 to 2^53-1 that must be there. @throws LccError `peer.protocol` */
export function requiredInteger(element: string, attributes: Attributes, name: string): number {
  const value = optionalInteger(element, attributes, name);
  if (value === undefined) throw breach(element, name, undefined, 'it is required');
  return value;
}

/** A whole number from 0 to 2^53-1. @throws LccError `peer.protocol` */
export function optionalInteger(element: string, attributes: Attributes, name: string): number | undefined {
  const text = attributes[name];
  if (text === undefined || text === '') return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(value)) throw breach(element, name, text, 'give a whole number');
  return value;
}

/** More than any machine has; a sum of many such is still a number that can be written. */
const MAX_SLOTS = 1_000_000;

/** How much a peer says that it can do at a time, as far as that is believed. @throws LccError
 * `peer.protocol` */
export function requiredSlots(element: string, attributes: Attributes): number {
  return Math.min(requiredInteger(element, attributes, 'slots'), MAX_SLOTS);
}

/** Seconds with decimals, as milliseconds. @throws LccError `peer.protocol` */
export function optionalSeconds(element: string, attributes: Attributes, name: string): number | undefined {
  const text = attributes[name];
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,10}(?:\.\d{1,9})?$/.test(text)) throw breach(element, name, text, 'give seconds');
  return Math.round(Number(text) * 1000);
}

/** `yes` or `no`. @throws LccError `peer.protocol` */
export function optionalFlag(element: string, attributes: Attributes, name: string): boolean | undefined {
  const text = attributes[name];
  if (text === undefined) return undefined;
  if (text === 'yes') return true;
  if (text === 'no') return false;
  throw breach(element, name, text, 'give yes or no');
}

/** The encoding that a label names; undefined for a label nobody knows, which says as little as none. */
export function optionalCharset({ charset }: Attributes): string | undefined {
  return charset === undefined ? undefined : charsetNamed(charset);
}

/** One of some words that must be there. @throws LccError `peer.protocol` */
export function requiredWord<W extends string>(
  element: string,
  attributes: Attributes,
  name: string,
  words: readonly W[],
): W {
  const text = attributes[name];
  for (const word of words) if (word === text) return word;
  throw breach(element, name, text, `give one of ${words.join(', ')}`);
}

function breach(element: string, name: string, value: string | undefined, advice: string): LccError {
  const given = value === undefined ? '' : `="${value.slice(0, 60)}"`;
  return new LccError('peer.protocol', `<${element}>: attribute ${name}${given}: ${advice}`);
}
