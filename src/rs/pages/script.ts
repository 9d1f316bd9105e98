/** The one script of the pages, which need it for nothing: buttons that copy, and pages that look again
 * without being loaded again. */
import { hash } from 'node:crypto';

export const SCRIPT = `'use strict';
(() => {
  const copied = async text => {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return true;
    }
    // Over plain http there is no clipboard but this one.
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    const isDone = document.execCommand('copy');
    area.remove();
    return isDone;
  };
  const prepare = part => {
    for (const code of part.querySelectorAll('.code')) {
      const button = code.querySelector('button.copy');
      const said = code.querySelector('[role="status"]');
      if (!button || !said) continue;
      button.hidden = false;
      code.classList.add('copies');
      button.addEventListener('click', async () => {
        const isDone = await copied(code.querySelector('pre').textContent).catch(() => false);
        button.focus();
        button.textContent = isDone ? 'Copied' : 'Not copied';
        said.textContent = isDone ? 'Copied' : 'This browser does not permit it: select the text, and copy it';
        setTimeout(() => {
          button.textContent = 'Copy';
          said.textContent = '';
        }, 3000);
      });
    }
  };
  const lookAgain = () => {
    const main = document.querySelector('main');
    const seconds = Number(main.dataset.refresh);
    if (!(seconds > 0)) return;
    setTimeout(async () => {
      try {
        const answer = await fetch(location.href);
        const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
        const next = page.querySelector('main');
        if (next && next.innerHTML !== main.innerHTML) {
          prepare(next);
          main.replaceWith(next);
          document.title = page.title;
        }
      } catch {
        // It looks again in any case.
      }
      lookAgain();
    }, seconds * 1000);
  };
  prepare(document);
  lookAgain();
})();
`;

/** Another one for another script. */
export const SCRIPT_VERSION = hash('sha256', SCRIPT).slice(0, 12);
