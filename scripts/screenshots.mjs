// Pictures of all pages of the Registration Server, of an LCC that really runs, into docs/screenshots/.
//
//   npm run screenshots            builds, and makes those that are kept: the widths and schemes of KEPT
//   npm run screenshots -- --all   every page in light and dark, at three widths
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { MeScene } from '../dist/test/rs/me-scene.js';
import { startOperators } from '../dist/test/support/operator-scene.js';
import { linkIn, MailServer } from '../dist/test/support/smtp.js';
import { until } from '../dist/test/support/until.js';
import { ground } from '../dist/test/web/support.js';
import { withPalette } from './png-palette.mjs';

const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const isAll = process.argv.includes('--all');
const directory = process.argv.find(arg => arg.startsWith('--to='))?.slice(5) ?? 'docs/screenshots';
const WIDTHS = [320, 768, 1280];
const SCHEMES = ['light', 'dark'];
/** Page → what of it is kept in the repository: width and scheme. */
const KEPT = {
  'op-overview': ['1280-light'],
  'op-provider': ['768-light'],
  welcome: ['1280-light'],
  register: ['768-light'],
  pair: ['768-light'],
  me: ['768-light'],
};
/** For which the LCC is watched before the pictures are taken: graphs show this time. */
const WATCHED_MS = 60_000;

const mails = await MailServer.listen();
const scene = await startOperators(
  `smtp = "smtp://127.0.0.1:${mails.port}"\nmail_from = "lcc@lcc.example.org"\nmail_gather_ms = 0\n` +
    `series_ms = 1000\ncontact = "lcc@example.org"\n`,
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
  const waiting = await scene.applicant('school', 20, '500KB');
  const refused = await scene.applicant('casino', 5);
  await lcc.run(`lccrs refuse ${refused.id} --reason='its pages are copies of another site'`);
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
  const guest = await anybody.newPage();
  /** A page as it was answered to a form, for those that are shown once, or are no answer to a look. */
  const seen = async (context, name, from) => ({
    context,
    name,
    url: from.url(),
    html: await from.content(),
  });
  const look = (context, name, url) => ({ context, name, url });
  const of = { operator, provider, anybody };
  const first = [
    ['operator', 'op-overview', operators],
    ['operator', 'op-graphs', `${operators}/graphs`],
    ['operator', 'op-provider-errors', `${operators}/providers/${town.pid}/errors`],
    ['operator', 'op-applications', `${operators}/applications`],
    ['operator', 'op-application', `${operators}/applications/${waiting.id}`],
    ['operator', 'op-queue', `${operators}/queue`],
    ['operator', 'op-providers', `${operators}/providers`],
    ['operator', 'op-provider', `${operators}/providers/${library.pid}`],
    ['operator', 'op-daemons', `${operators}/daemons`],
    ['operator', 'op-refusals', `${operators}/refusals`],
    ['operator', 'op-audit', `${operators}/audit`],
    ['anybody', 'op-login', `${operators}/login`],
    ['anybody', 'welcome', server],
    ['anybody', 'register', `${server}register`],
    ['anybody', 'login', `${server}login`],
    ['anybody', 'forgot', `${server}forgot`],
    ['anybody', 'forgot-asked', `${server}forgot/asked`],
    ['anybody', 'pair-waiting', `${server}pair/${waiting.capability}`],
    ['anybody', 'pair-refused', `${server}pair/${refused.capability}`],
    ['anybody', 'pair-active', `${server}pair/${town.capability}`],
    ['anybody', 'cancelled', `${server}cancelled`],
    ['anybody', 'not-there', `${server}nothing`],
    ['provider', 'me', `${server}me`],
    ['provider', 'me-errors', `${server}me/errors`],
    ['provider', 'me-receipts', `${server}me/receipts?urls=${receipts(town.root)}`],
    ['provider', 'me-roots', `${server}me/roots`],
    ['provider', 'me-roots-remove', `${server}me/roots/remove?root=${encodeURIComponent(town.root)}`],
    ['provider', 'me-terms', `${server}me/terms`],
    ['provider', 'me-password', `${server}me/password`],
    ['provider', 'me-leave', `${server}me/leave`],
  ];
  for (const [who, name, url] of first) await pictures(look(of[who], name, url));

  await guest.goto(`${server}register`);
  await guest.fill('#url', `${scene.site.url}sports`);
  await guest.fill('#hours', '25');
  await guest.click('main button');
  await pictures(await seen(anybody, 'register-wrong', guest));
  await guest.fill('#url', `${scene.site.url}sports/`);
  await guest.fill('#hours', '0-7,22-23');
  await guest.fill('#zone', 'Europe/Berlin');
  await guest.fill('#email', 'web@sports.example.org');
  await guest.click('main button');
  await pictures(await seen(anybody, 'pair', guest));
  const [pair] = guest.url().match(/[^/]+$/);
  const confirm = `${server}confirm/${linkIn(await mails.mail(1), 'confirm')}`;
  await guest.goto(confirm);
  await pictures(await seen(anybody, 'confirm', guest));
  await guest.click('main button');
  await pictures(await seen(anybody, 'confirmed', guest));
  await guest.goto(`${server}pair/${pair}`);
  await guest.click('button:text-is("It is there")');
  await guest.waitForLoadState();
  await until('the check is over', async () => {
    await guest.goto(`${server}pair/${pair}`);
    return (await guest.content()).includes('role="alert"');
  });
  await pictures(await seen(anybody, 'pair-failed', guest));
  await guest.click('button:text-is("Cancel")');
  await pictures(look(anybody, 'gone', `${server}pair/${pair}`));

  await own.goto(`${server}me/mail`);
  await own.fill('#email', 'web@town.example.org');
  await own.click('main button:text-is("Send the link")');
  await pictures(look(provider, 'me-mail-waits', `${server}me/mail`));
  await guest.goto(`${server}confirm/${linkIn(await mails.mail(2), 'confirm')}`);
  await guest.click('main button');
  await pictures(look(provider, 'me-mail', `${server}me/mail`));
  await guest.goto(`${server}forgot`);
  await guest.fill('#who', String(town.pid));
  await guest.click('main button >> nth=0');
  const reset = () => mails.taken.find(({ body }) => /\/reset\//.test(body));
  await until('there is a link', () => reset() !== undefined);
  await guest.goto(`${server}reset/${linkIn(reset(), 'reset')}`);
  await pictures(await seen(anybody, 'reset', guest));
  await guest.click('main button');
  await pictures(await seen(anybody, 'password', guest));

  await rareStates((name, url) => pictures(look(anybody, name, url)));
} finally {
  await browser.close();
  await scene.end();
  await mails.close();
}

/** In each look that is wanted. @param page `html`: as it was answered, else it is asked for */
async function pictures(page) {
  for (const width of WIDTHS)
    for (const colorScheme of SCHEMES)
      if (isAll || KEPT[page.name]?.includes(`${width}-${colorScheme}`))
        await picture(page, width, colorScheme);
}

async function picture({ context, name, url, html }, width, colorScheme) {
  const page = await context.newPage();
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height: 480 });
  if (html !== undefined)
    await page.route(url, route => route.fulfill({ body: html, contentType: 'text/html; charset=utf-8' }));
  await page.goto(url, { waitUntil: 'networkidle' });
  const path = join(directory, `${name}-${width}-${colorScheme}.png`);
  await page.screenshot({ path, fullPage: true });
  writeFileSync(path, withPalette(readFileSync(path)));
  console.log(`${path} ${Math.round(readFileSync(path).length / 1024)} KB`);
  await page.close();
}

/** Addresses as a provider asks for them. */
function receipts(root) {
  return encodeURIComponent(
    ['0.html', '1.html', '405.html', 'never.html'].map(name => root + name).join('\n'),
  );
}

/** A Registration Server in this process, which asks a slow site, and then takes no new ones. @param show is given pages of it */
async function rareStates(show) {
  const ends = [];
  const own = await MeScene.start(ground({ after: end => void ends.push(end) }), undefined, {
    'rs.contact': 'lcc@example.org',
  });
  const { rs } = own.accounts;
  const [{ port }] = own.pages.server.endpoints;
  const pair = rs.issue('/slow/');
  const { answer } = rs.site;
  const held = [];
  rs.site.answer = (...asked) => void held.push(() => answer(...asked));
  const checked = rs.registrar.check(pair.capability);
  await show('pair-checking', `http://127.0.0.1:${port}/base/pair/${pair.capability}`);
  rs.site.answer = answer;
  for (const each of held) each();
  await checked;
  rs.options.mode = 'closed';
  await show('closed', `http://127.0.0.1:${port}/base/`);
  await own.close();
  for (const end of ends) end();
}

function emptied() {
  if (existsSync(directory)) rmSync(directory, { recursive: true });
  mkdirSync(directory, { recursive: true });
}
