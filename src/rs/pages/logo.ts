/** The sign of the cache: what arrives is kept. */
import { html } from 'hono/html';

const SIGN = 'M12 5.2v8.1m0 0 3.3-3.3M12 13.3 8.7 10M5.8 15.6v1.2a2 2 0 0 0 2 2h8.4a2 2 0 0 0 2-2v-1.2';

/** Beside the name, which says the same. */
export const LOGO = html`<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">
  <rect class="mark" width="24" height="24" rx="6" />
  <path class="sign" d="${SIGN}" />
</svg>`;

/** For tabs of browsers. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="#0d5f58"/><path d="${SIGN}" fill="none" stroke="#fff" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"/></svg>`;
