/** The one style sheet: colours by role, light and dark, one column from 320 px on. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --card: #ffffff; --ink: #1d2329; --soft: #55606b; --line: #d8d5cc;
  --brand: #0b5c56; --brand-ink: #ffffff; --link: #0b5c56; --code: #f1efe8;
  --good: #1d6b34; --good-paper: #e6f3e8; --wait: #7a4f00; --wait-paper: #fdf1d8; --bad: #a11d1d; --bad-paper: #fbe7e5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181c; --card: #1c2227; --ink: #e8e6e0; --soft: #a9b3bc; --line: #37414a;
    --brand: #57c7bb; --brand-ink: #0c1a19; --link: #6fd3c8; --code: #12171b;
    --good: #8fdca4; --good-paper: #15291b; --wait: #f0c674; --wait-paper: #2c2411; --bad: #ff9d94; --bad-paper: #331817;
  }
}
* { box-sizing: border-box; }
html { font: 100%/1.55 ui-sans-serif, system-ui, "Segoe UI", "Noto Sans", sans-serif; background: var(--paper); color: var(--ink); }
body { margin: 0; overflow-wrap: anywhere; min-height: 100vh; display: flex; flex-direction: column; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .5rem 1rem; z-index: 1; }
header, main, footer { width: 100%; max-width: 46rem; margin: 0 auto; padding: 0 1.25rem; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: baseline; padding-top: 1.5rem; padding-bottom: 1rem; border-bottom: 1px solid var(--line); }
header .name { font-weight: 700; letter-spacing: .01em; color: var(--ink); text-decoration: none; }
header nav { display: flex; flex-wrap: wrap; gap: 1.25rem; margin-left: auto; }
main { flex: 1; padding-top: 2rem; padding-bottom: 3rem; }
footer { padding-top: 1rem; padding-bottom: 2rem; border-top: 1px solid var(--line); color: var(--soft); font-size: .9rem; }
h1 { font-size: clamp(1.5rem, 1.2rem + 1.6vw, 2.1rem); line-height: 1.2; margin: 0 0 .75rem; text-wrap: balance; }
h1.address { font-size: clamp(1.15rem, 1rem + 1vw, 1.6rem); }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p, ul, ol, dl { margin: 0 0 1rem; max-width: 40rem; }
.lead { font-size: 1.1rem; color: var(--soft); }
a { color: var(--link); text-underline-offset: .15em; }
a, button, input, select, summary { border-radius: .35rem; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
code, pre, .mono { font-family: ui-monospace, "Cascadia Code", "DejaVu Sans Mono", monospace; font-size: .92em; overflow-wrap: anywhere; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem; margin: 0 0 1rem; white-space: pre-wrap; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1.1rem 1.25rem; margin: 0 0 1.25rem; }
.card > :last-child { margin-bottom: 0; }
dl.facts { display: grid; grid-template-columns: minmax(7rem, auto) 1fr; gap: .35rem 1.25rem; }
dl.facts dt { color: var(--soft); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 30rem) { dl.facts { grid-template-columns: 1fr; gap: 0; } dl.facts dd { margin-bottom: .6rem; } }
label { display: block; font-weight: 600; margin-bottom: .2rem; }
.hint { display: block; color: var(--soft); font-size: .92rem; margin-bottom: .35rem; }
.field { margin-bottom: 1.25rem; }
input { width: 100%; min-height: 2.75rem; padding: .5rem .75rem; font: inherit; color: var(--ink); background: var(--card); border: 1px solid var(--soft); }
.field.wrong input { border: 2px solid var(--bad); }
.wrong-text { color: var(--bad); font-weight: 600; display: block; margin-bottom: .35rem; }
.button, button { display: inline-block; min-height: 2.75rem; padding: .55rem 1.2rem; font: inherit; font-weight: 600; cursor: pointer; text-decoration: none; background: var(--brand); color: var(--brand-ink); border: 2px solid var(--brand); }
button.plain { background: transparent; color: var(--link); }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; }
.actions form { margin: 0; }
.note { border-left: .35rem solid var(--soft); background: var(--card); padding: .8rem 1rem; margin: 0 0 1.25rem; border-radius: 0 .5rem .5rem 0; }
.note > :last-child { margin-bottom: 0; }
.note h2 { margin: 0 0 .35rem; }
.card h2 { margin-top: 0; }
.note.good { border-color: var(--good); background: var(--good-paper); }
.note.wait { border-color: var(--wait); background: var(--wait-paper); }
.note.bad { border-color: var(--bad); background: var(--bad-paper); }
.state { display: inline-block; padding: .1rem .6rem; border-radius: 1rem; font-size: .9rem; font-weight: 700; border: 1px solid currentColor; }
.state.good { color: var(--good); } .state.wait { color: var(--wait); } .state.bad { color: var(--bad); }
ol.steps { padding-left: 1.4rem; } ol.steps li { margin-bottom: 1rem; padding-left: .25rem; }
@media (prefers-reduced-motion: no-preference) { a, button { transition: background-color .12s, color .12s; } }
@media (forced-colors: active) { .button, button { border: 2px solid ButtonText; } }
`;
