// What a Debian package says of itself besides its control file.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeLicence } from './runtime.mjs';

export const MAINTAINER = 'The LCC project <lcc@lcc.example.org>';

/** Our licence, and that of the runtime with all that is in it. */
export function copyrightOf(root) {
  const { license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return `LCC, the Local Content Cache (${license})

Copyright (c) the authors of LCC

This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public License as published
by the Free Software Foundation, either version 3 of the License, or (at your option) any later version. On Debian systems the complete
text of the GNU General Public License version 3 is in /usr/share/common-licenses/GPL-3.

Parts of other packages are in the commands; THIRD-PARTY.txt.gz beside this file has their notices.

The runtime inside is Node.js ${process.version}. Its licence, with those of the libraries in it:

${nodeLicence().trim()}
`;
}

/** The changelog as Debian has it; that of LCC itself is one file for all packages. */
export function changelogOf(name, version, epoch) {
  const date = new Date(epoch * 1000).toUTCString().replace('GMT', '+0000');
  return `${name} (${version}) stable; urgency=medium

  * Release ${version} of LCC; CHANGELOG.md of its source has the changes.

 -- ${MAINTAINER}  ${date}
`;
}
