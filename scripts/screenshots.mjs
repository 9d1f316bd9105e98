// Pictures of all pages of the Registration Server, of an LCC that really runs, into docs/screenshots/.
//
//   npm run screenshots            builds, and makes those that are kept: the widths and schemes of KEPT
//   npm run screenshots -- --all   every page in light and dark, at three widths
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { startOperators } from '../dist/test/support/operator-scene.js';
import { until } from '../dist/test/support/until.js';

const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const isAll = process.argv.includes('--all');
const directory = process.argv.find(arg => arg.startsWith('--to='))?.slice(5) ?? 'docs/screenshots';
const WIDTHS = [320, 768, 1280];
const SCHEMES = ['light', 'dark'];
/** Page → what of it is kept in the repository: width and scheme. */
const KEPT = {
  'op-overview': ['1280-light', '1280-dark', '320-light'],
  'op-application': ['1280-light'],
  'op-providers': ['1280-light'],
  register: ['768-light'],
  pair: ['768-light'],
  me: ['768-light', '320-dark'],
  'me-errors': ['768-light'],
};
/** For which the LCC is watched before the pictures are taken: graphs show this time. */
const WATCHED_MS = 60_000;

const scene = await startOperators(
  `series_ms = 1000\nseries_keep_ms = ${WATCHED_MS}\noverview_ms = 500\ncontact = "lcc@example.org"\n`,
);
const { operators, server, lcc } = scene;
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
try {
  emptied();
  const town = await scene.applicant('town', 400);
  const library = await scene.applicant('library', 6000, '40KB');
  const news = await scene.applicant('news', 900, '100KB');
  for (const each of [town, library, news]) await scene.approve(each);
  await scene.applicant('museum', 40);
  const [waiting] = [await scene.applicant('school', 20, '500KB')];
  await scene.deliver(town, 12);
  await scene.deliver(library);
  const begunMs = Date.now();
  let delivered = 0;
  await until(
    'there is a minute to be seen',
    async () => {
      const seconds = (Date.now() - begunMs) / 1000;
      if (seconds > 15 && delivered === 0 && ++delivered) await scene.deliver(news, 25);
      if (seconds > 35 && delivered === 1 && ++delivered) await scene.deliver(town, 12);
      return seconds > WATCHED_MS / 1000;
    },
    2 * WATCHED_MS,
  );
  await lcc.run('lccrs audit --limit=1');

  const operator = await browser.newContext();
  const page = await operator.newPage();
  await page.goto(operators);
  const login = await page.content();
  if (!login.includes('name="password"')) throw new Error('there is no login of operators');
  await page.fill('#name', 'ada');
  await page.fill('#password', scene.password);
  await page.click('main button');
  const provider = await browser.newContext();
  const own = await provider.newPage();
  await own.goto(`${server}login`);
  await own.fill('#number', String(town.pid));
  await own.fill('#password', town.password);
  await own.click('main button');
  const anybody = await browser.newContext();
  const pages = [
    [operator, 'op-overview', operators],
    [operator, 'op-applications', `${operators}/applications`],
    [operator, 'op-application', `${operators}/applications/${waiting.id}`],
    [operator, 'op-queue', `${operators}/queue`],
    [operator, 'op-providers', `${operators}/providers`],
    [operator, 'op-provider', `${operators}/providers/${library.pid}`],
    [operator, 'op-daemons', `${operators}/daemons`],
    [operator, 'op-refusals', `${operators}/refusals`],
    [operator, 'op-audit', `${operators}/audit`],
    [anybody, 'welcome', server],
    [anybody, 'register', `${server}register`],
    [anybody, 'login', `${server}login`],
    [anybody, 'forgot', `${server}forgot`],
    [anybody, 'pair', `${server}pair/${waiting.capability}`],
    [anybody, 'op-login', `${operators}/login`],
    ...['', '/errors', '/receipts', '/roots', '/terms', '/password', '/mail', '/leave'].map(path => [
      provider,
      `me${path.replace('/', '-')}`,
      `${server}me${path}`,
    ]),
  ];
  for (const [context, name, url] of pages)
    for (const width of WIDTHS)
      for (const colorScheme of SCHEMES)
        if (isAll || KEPT[name]?.includes(`${width}-${colorScheme}`))
          await picture(context, name, url, width, colorScheme);
} finally {
  await browser.close();
  await scene.end();
}

/** A page that is not there has no picture. */
async function picture(context, name, url, width, colorScheme) {
  const page = await context.newPage();
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height: 800 });
  const answer = await page.goto(url, { waitUntil: 'networkidle' });
  if (answer?.status() === 200) {
    const path = join(directory, `${name}-${width}-${colorScheme}.png`);
    await page.screenshot({ path, fullPage: true });
    console.log(`${path} ${Math.round(readFileSync(path).length / 1024)} KB`);
  } else console.log(`${name}: ${answer?.status()}`);
  await page.close();
}

function emptied() {
  if (existsSync(directory)) rmSync(directory, { recursive: true });
  mkdirSync(directory, { recursive: true });
}
