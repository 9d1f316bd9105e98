/**
 * Absolute paths of the content held on this machine: for indexers that read files, `xargs -0`, `cpio -0`.
 */
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

/** Paths that are no longer current: of content that was replaced or deleted. A path never comes back. */
export const gonePaths: Format = {
  sides: ['gone'],
  takesFields: false,
  ofOldPaths: true,
  open: context => ({
    columns: ['localfileid'],
    record: ([fileid]) => `${context.storeDir}/${fileid}\n`,
  }),
};

export const paths = pathsEndingWith('\n');
export const paths0 = pathsEndingWith('\0');
