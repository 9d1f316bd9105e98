/** feed2url: feeds → `<url>`. */
import { LIST_OPTIONS, listWith } from './list-options.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'feed2url',
  summary: 'Describe the pages that feeds name (RSS, Atom, RDF, JSON Feed) as <url> containers.',
  operands: '[URL|FILE|-]...',
  writesUrls: () => true,
  options: [
    { flags: '--enclosures', help: 'list what is attached to items, such as sound, as well' },
    ...LIST_OPTIONS,
  ],
  example: `feed2url --state=feeds https://www.example.org/feed.xml | lcccpstate --statefile=state --forget=90d |
    lcccp --uns=lcc.example.org:9000 --pid=7 --pwdfile=pwd`,

  run(context) {
    return listWith(context, {
      from: 'feed2url',
      site: undefined,
      ignoresLastmod: true,
      revisitMs: undefined,
      extras: {
        images: false,
        videos: false,
        alternates: false,
        enclosures: context.options['enclosures'] === true,
      },
    });
  },
};
