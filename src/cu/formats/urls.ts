/** Browse URLs of what is held, one a line. */
import type { Format } from './types.js';

export const urls: Format = {
  sides: ['held'],
  takesFields: false,
  browsable: true,
  open: () => ({
    template: {
      held: [{ before: '', column: 'burl', after: '' }],
      end: '\n',
      // A URL with a line break in it is nobody's; its bytes are shown as a URL can hold them.
      escapes: [
        ['\n', '%0A'],
        ['\r', '%0D'],
      ],
    },
  }),
};
