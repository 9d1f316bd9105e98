/** sitemap2url: the sitemaps of a site → `<url>`. */
import { LccError } from '../lib/errors.js';
import { siteUrl } from '../sources/places.js';
import { LIST_OPTIONS, listWith } from './list-options.js';
import { durationMsOf, textOf } from './options.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'sitemap2url',
  summary: 'Describe the pages that sitemaps list as <url> containers.',
  operands: '[URL|FILE|-]...',
  writesUrls: () => true,
  options: [
    {
      flags: '--site <URL>',
      help: 'read the sitemaps that robots.txt of this site names, else /sitemap.xml',
    },
    {
      flags: '--lastmod <HOW>',
      help: 'trust: times in sitemaps say what changed; ignore: they do not',
      default: 'trust',
      choices: ['trust', 'ignore'],
    },
    { flags: '--revisit <TIME>', help: 'have urls without a time that counts asked for once in that time' },
    { flags: '--images', help: 'list the images of pages as well' },
    { flags: '--videos', help: 'list the videos of pages as well' },
    { flags: '--alternates', help: 'list the pages in other languages as well' },
    ...LIST_OPTIONS,
  ],
  example: `sitemap2url --site=https://www.example.org/ --state=sm | lcccpstate --statefile=state |
    lcccp --uns=lcc.example.org:9000 --pid=7 --pwdfile=pwd`,

  run(context) {
    const { options } = context;
    const site = textOf(options, 'site');
    const lastmod = textOf(options, 'lastmod');
    if (lastmod !== 'trust' && lastmod !== 'ignore')
      throw new LccError('usage', `--lastmod=${lastmod}: trust or ignore`);
    return listWith(context, {
      from: 'sitemap2url',
      site: site === undefined ? undefined : siteUrl(site),
      ignoresLastmod: lastmod === 'ignore',
      revisitMs: durationMsOf('--revisit', options['revisit']),
      extras: {
        images: options['images'] === true,
        videos: options['videos'] === true,
        alternates: options['alternates'] === true,
        enclosures: false,
      },
    });
  },
};
