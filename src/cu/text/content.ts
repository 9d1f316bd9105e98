/** Stored content, trusted only after its md5 was taken (semantics.md, rule 16), and the text in it. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { errnoOf } from '../../lib/errors.js';
import { decodeText } from './decode.js';
import { pageText, tidy, type PageText } from './html.js';

export type Content = { ok: true; bytes: Buffer } | { ok: false; why: string };

/** Reads a stored file whole; `why` says what is wrong with one that cannot be used. */
export function readContent(file: string, md5: string): Content {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    const errno = errnoOf(error);
    return {
      ok: false,
      why: errno === 'ENOENT' ? 'missing' : `cannot be read (${errno ?? 'unknown error'})`,
    };
  }
  return createHash('md5').update(bytes).digest('hex') === md5
    ? { ok: true, bytes }
    : { ok: false, why: 'altered: its md5 differs' };
}

/** Whether there is text in content of this type. */
export function holdsText(mimetype: string): boolean {
  return mimetype.startsWith('text/') || isMarkup(mimetype);
}

/** @param mimetype one that `holdsText` */
export function textOf(bytes: Uint8Array, mimetype: string): PageText {
  const markup = isMarkup(mimetype);
  const document = decodeText(bytes, markup);
  return markup ? pageText(document) : { title: '', text: tidy(document) };
}

function isMarkup(mimetype: string): boolean {
  return /^(text\/(html|xml)|application\/xml|.*\+xml)$/.test(mimetype);
}
