/** Browse URLs, one a line: of what is held, or of all that changed and is gone, for a consumer that fetches
 * each one. */
import type { Format } from './types.js';

/** A URL with a line break in it is nobody's; its bytes are shown as a URL can hold them. */
const ESCAPES = [
  ['\n', '%0A'],
  ['\r', '%0D'],
] as const;

export const urls: Format = {
  sides: ['held'],
  takesFields: false,
  browsable: true,
  open: () => ({
    template: { held: [{ before: '', column: 'burl', after: '' }], end: '\n', escapes: ESCAPES },
  }),
};

export const changedUrls: Format = {
  sides: ['held', 'gone'],
  takesFields: false,
  keyedByUrl: true,
  open: () => ({
    columns: ['burl'],
    record: ([burl]) => `${ESCAPES.reduce((url, [from, to]) => url.replaceAll(from, to), String(burl))}\n`,
  }),
};
