/** Absolute paths of the content held on this machine: for indexers that read files, `xargs -0`, `cpio -0`. */
import type { Format } from './types.js';

function pathsEndingWith(end: string): Format {
  return {
    sides: ['held'],
    takesFields: false,
    local: true,
    open: context => ({
      template: {
        held: [{ before: `${context.storeDir}/`, column: 'fetched_fileid', after: '' }],
        end,
        escapes: [],
      },
    }),
  };
}

export const paths = pathsEndingWith('\n');
export const paths0 = pathsEndingWith('\0');
