/**
 * The one style sheet: colours by role, light and dark; one column from 320 px on. Parts of it: `.card`,
 * `.note`, `.state` (with `good`, `wait`, `bad`), `.tiles` of `.tile`, `.table`, `.facts`, `.field`,
 * `.actions`, `.code`, `.empty`.
 */
import { hash } from 'node:crypto';

const COLOURS = `
:root {
  color-scheme: light dark;
  --paper: #f6f5f1; --card: #ffffff; --sunk: #efede6; --ink: #1a2026; --soft: #56616b; --line: #dcd9cf; --edge: #7d8790;
  --brand: #0d5f58; --brand-strong: #084843; --brand-ink: #ffffff; --brand-wash: #e3f0ee; --link: #0b5c56;
  --good: #1a6632; --good-wash: #e7f4ea; --good-line: #b5dcbf;
  --wait: #7a4d00; --wait-wash: #fdf3de; --wait-line: #ecd49c;
  --bad: #a11b1b; --bad-wash: #fcebe9; --bad-line: #f0beb9;
  --cut: rgb(26 32 38 / 26%);
  --shadow: 0 1px 2px rgb(26 32 38 / 6%), 0 1px 8px rgb(26 32 38 / 4%);
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #11161a; --card: #1a2126; --sunk: #0d1114; --ink: #e9e7e1; --soft: #a7b2bb; --line: #2f3941; --edge: #7b8791;
    --brand: #5fcabd; --brand-strong: #83dbd0; --brand-ink: #06201d; --brand-wash: #15312f; --link: #74d4c9;
    --good: #8fdba3; --good-wash: #142a1b; --good-line: #285537;
    --wait: #f1c777; --wait-wash: #2d2512; --wait-line: #5e4c20;
    --bad: #ff9f96; --bad-wash: #341a19; --bad-line: #6a3330;
    --cut: rgb(0 0 0 / 75%); --shadow: none;
  }
}`;

const GROUND = `
*, *::before, *::after { box-sizing: border-box; }
html {
  font: 100%/1.55 ui-sans-serif, system-ui, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100%;
}
body { margin: 0; overflow-wrap: break-word; min-height: 100vh; display: flex; flex-direction: column; }
h1, h2, h3 { line-height: 1.25; letter-spacing: -.011em; font-weight: 680; text-wrap: balance; overflow-wrap: anywhere; }
h1 { font-size: clamp(1.55rem, 1.3rem + 1.3vw, 2.15rem); letter-spacing: -.02em; margin: 0 0 .9rem; }
h1.address { font-size: clamp(1.2rem, 1.05rem + .9vw, 1.6rem); }
h2 { font-size: 1.2rem; margin: 2.25rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .4rem; }
p, ul, ol, dl { margin: 0 0 1rem; max-width: 42rem; }
a { color: var(--link); text-underline-offset: .16em; text-decoration-thickness: .07em; }
a:hover { text-decoration-thickness: .13em; }
a, button, input, textarea, summary { border-radius: .4rem; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
code, pre, .mono { font-family: ui-monospace, "Cascadia Code", "DejaVu Sans Mono", "Liberation Mono", monospace; font-size: .9em; overflow-wrap: anywhere; }
code { background: var(--sunk); border-radius: .25rem; padding: .08em .3em; }
.lead { font-size: 1.13rem; color: var(--soft); }
.soft { color: var(--soft); }
.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none !important; }`;

const FRAME = `
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .5rem 1rem; z-index: 2; }
.inner { width: 100%; max-width: 66rem; margin: 0 auto; padding-left: clamp(1rem, 4vw, 2rem); padding-right: clamp(1rem, 4vw, 2rem); }
body > header { background: var(--card); border-bottom: 1px solid var(--line); }
body > header .inner { display: flex; flex-wrap: wrap; align-items: center; gap: 0 1.5rem; min-height: 3.75rem; }
.brand { display: inline-flex; align-items: center; gap: .6rem; padding: .5rem 0; font-weight: 700; letter-spacing: -.01em; color: var(--ink); text-decoration: none; }
.brand svg { width: 1.65rem; height: 1.65rem; flex: none; }
.brand .mark { fill: var(--brand); } .brand .sign { fill: none; stroke: var(--brand-ink); stroke-width: 2.2; stroke-linecap: round; stroke-linejoin: round; }
.brand small { font-size: .72rem; font-weight: 650; letter-spacing: .05em; text-transform: uppercase; color: var(--soft); border: 1px solid var(--line); border-radius: 1rem; padding: .05rem .55rem; }
nav { display: flex; flex-wrap: wrap; gap: .1rem .25rem; }
nav a { display: inline-flex; align-items: center; min-height: 2.25rem; padding: .25rem .62rem; color: var(--soft); text-decoration: none; font-weight: 550; font-size: .96rem; }
nav a:hover { color: var(--ink); background: var(--sunk); }
nav a[aria-current="page"] { color: var(--brand-strong); background: var(--brand-wash); }
header nav { margin-left: auto; }
header.in .inner { padding-top: .3rem; }
header.in nav { order: 3; flex: 1 0 100%; margin: 0 -.62rem .5rem; }
@media (min-width: 34.01rem) and (max-width: 50rem) { header.in nav { margin: 0 -.42rem .5rem; } header.in nav a { padding: .25rem .3rem; } }
.logout { display: flex; align-items: center; gap: .8rem; margin-left: auto; color: var(--soft); font-size: .93rem; font-variant-numeric: tabular-nums; }
main { flex: 1; padding-top: clamp(1.5rem, 4vw, 2.75rem); padding-bottom: 4rem; }
footer { border-top: 1px solid var(--line); color: var(--soft); font-size: .9rem; }
footer .inner { padding-top: 1.1rem; padding-bottom: 1.6rem; }
footer p { margin: 0; }
@media (max-width: 34rem) {
  body > header .inner { padding-top: .3rem; padding-bottom: .3rem; }
  header:not(.in) nav { flex: 1 0 100%; margin: 0 -.5rem .3rem; }
  header.in nav { margin: .35rem -.5rem .3rem; }
  nav a { padding: .2rem .5rem; min-height: 2rem; font-size: .93rem; }
  .logout { flex: 1 0 100%; justify-content: space-between; margin: 0; }
}`;

const PARTS = `
.card, .tile { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; box-shadow: var(--shadow); }
.card { padding: 1.15rem 1.3rem; margin: 0 0 1.25rem; }
.card > :last-child, .note > :last-child, .empty > :last-child { margin-bottom: 0; }
.card > h2:first-child { margin-top: 0; }
.narrow { max-width: 42rem; }
.columns { display: grid; gap: 1.5rem 2.5rem; align-items: start; }
@media (min-width: 56rem) { .columns { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); } }

.note { border: 1px solid var(--line); background: var(--card); border-radius: .75rem; padding: .95rem 1.15rem; margin: 0 0 1.25rem; max-width: 42rem; }
.note h2 { margin: 0 0 .35rem; font-size: 1.05rem; }
.note ul { padding-left: 1.15rem; }
.note.good { border-color: var(--good-line); background: var(--good-wash); } .note.good h2 { color: var(--good); }
.note.wait { border-color: var(--wait-line); background: var(--wait-wash); } .note.wait h2 { color: var(--wait); }
.note.bad { border-color: var(--bad-line); background: var(--bad-wash); } .note.bad h2 { color: var(--bad); }
.note code, .note pre { background: color-mix(in srgb, var(--card) 65%, transparent); }

.state { white-space: nowrap; display: inline-flex; align-items: center; gap: .45rem; padding: .14rem .7rem .14rem .6rem; border-radius: 1rem; font-size: .9rem; font-weight: 650; border: 1px solid var(--line); background: var(--card); }
.state::before { content: ""; width: .55rem; height: .55rem; border-radius: 50%; background: currentColor; flex: none; }
.state.good { color: var(--good); border-color: var(--good-line); background: var(--good-wash); }
.state.wait { color: var(--wait); border-color: var(--wait-line); background: var(--wait-wash); }
.state.wait::before { border-radius: .1rem; transform: rotate(45deg); width: .5rem; height: .5rem; }
.state.bad { color: var(--bad); border-color: var(--bad-line); background: var(--bad-wash); }
.state.bad::before { border-radius: .1rem; }
.standing { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem .8rem; margin-bottom: 1.6rem; max-width: none; }

.tiles { display: grid; grid-auto-flow: column; grid-auto-columns: minmax(0, 1fr); gap: .8rem; margin: 0 0 1.5rem; padding: 0; }
.tile { padding: .9rem clamp(.8rem, 4vw, 1.1rem) 1rem; display: flex; flex-direction: column; container-type: inline-size; }
.tile h2 { margin: 0; font-size: .88rem; font-weight: 600; letter-spacing: 0; color: var(--soft); }
.tile p { margin: .15rem 0 0; font-size: .9rem; color: var(--soft); font-variant-numeric: tabular-nums; }
.tile .figure { margin: .15rem 0 0; white-space: nowrap; font-size: clamp(1.45rem, 1.3rem + .7vw, 1.75rem); line-height: 1.2; font-weight: 680; letter-spacing: -.02em; color: var(--ink); }
.tile .figure small { font-size: .95rem; font-weight: 550; letter-spacing: 0; color: var(--soft); }
.tile .figure.long { font-size: clamp(.9rem, 14cqi, 1.75rem); }
.tile.bad .figure { color: var(--bad); } .tile.wait .figure { color: var(--wait); }
/* Four are 2 + 2, five are 3 + 2: none stands alone in its row. */
@media (max-width: 56rem) { .tiles { grid-auto-flow: row; grid-auto-columns: auto; grid-template-columns: repeat(6, minmax(0, 1fr)); } }
@media (min-width: 34.01rem) and (max-width: 56rem) {
  .tile { grid-column: span 2; }
  .tile:first-child:nth-last-child(4), .tile:first-child:nth-last-child(4) ~ .tile, .tile:first-child:nth-last-child(5) ~ .tile:nth-child(n + 4) { grid-column: span 3; }
}
@media (max-width: 34rem) { .tiles > .tile { grid-column: span 3; } .tiles > .tile:last-child:nth-child(odd) { grid-column: 1 / -1; } }
.bar { display: block; width: 100%; height: .4rem; margin: .6rem 0 .1rem; border-radius: .2rem; background: var(--sunk); }
.bar rect { fill: var(--brand); } .bar.wait rect { fill: var(--wait); } .bar.bad rect { fill: var(--bad); }

/* What is cut at a side has a shadow there, which the content covers where it ends. */
.table { overflow-x: auto; margin: 0 0 1.25rem; background: linear-gradient(to right, var(--card) 1.2rem, transparent) 0 0 / 2.4rem 100% no-repeat local, linear-gradient(to left, var(--card) 1.2rem, transparent) 100% 0 / 2.4rem 100% no-repeat local, linear-gradient(to right, var(--cut), transparent) 0 0 / 1rem 100% no-repeat scroll, linear-gradient(to left, var(--cut), transparent) 100% 0 / 1rem 100% no-repeat scroll, var(--card); border: 1px solid var(--line); border-radius: .75rem; box-shadow: var(--shadow); }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th, td { text-align: left; vertical-align: top; padding: .5rem 1.1rem; }
td time, tbody th { white-space: nowrap; }
tbody th time { font-weight: 400; }
td a { text-decoration-color: color-mix(in srgb, var(--link) 40%, transparent); } td a:hover { text-decoration-color: var(--link); }
th { font-weight: 600; }
thead th { font-size: .84rem; color: var(--soft); white-space: nowrap; background: color-mix(in srgb, var(--sunk) 45%, transparent); }
tbody tr { border-top: 1px solid var(--line); }
td.number, th.number { text-align: right; }
td.address, tbody th.address { overflow-wrap: anywhere; white-space: normal; min-width: 11rem; }
@media (max-width: 60rem) { th, td { padding-left: .7rem; padding-right: .7rem; } }
@media (max-width: 40rem) {
  .table.stacks { overflow: visible; background: var(--card); }
  .stacks thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .stacks table, .stacks tbody, .stacks tr, .stacks th, .stacks td { display: block; }
  .stacks tr { padding: .65rem 1rem; }
  .stacks tbody tr:first-child { border-top: 0; }
  .stacks td, .stacks th { padding: .12rem 0; min-width: 0; text-align: left; white-space: normal; }
  .stacks td[data-label]::before { content: attr(data-label) " "; color: var(--soft); font-size: .86rem; margin-right: .35rem; }
}
.hours { display: block; width: 100%; max-width: 34rem; margin-top: 1rem; }
.hours text { font-size: 8px; fill: var(--soft); } .hours .on { fill: var(--brand); } .hours .off { fill: var(--sunk); stroke: var(--line); stroke-width: .5; }
@media (max-width: 34rem) { .hours text { font-size: 12px; } .state { white-space: normal; } }
.pages { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: center; margin: 0 0 1rem; max-width: none; }

dl.facts { display: grid; grid-template-columns: minmax(8rem, auto) 1fr; gap: .5rem 1.5rem; }
dl.facts dt { color: var(--soft); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
@media (max-width: 34rem) { dl.facts { grid-template-columns: 1fr; gap: 0; } dl.facts dd { margin-bottom: .6rem; } }

.empty { text-align: center; padding: 2.25rem 1.25rem; border: 1px dashed var(--line); border-radius: .75rem; color: var(--soft); margin: 0 0 1.25rem; }
.empty h2 { margin: 0 0 .3rem; color: var(--ink); }
.empty p { margin-left: auto; margin-right: auto; }

pre { background: var(--sunk); border: 1px solid var(--line); border-radius: .6rem; padding: .85rem 1.05rem; margin: 0 0 1rem; white-space: pre-wrap; line-height: 1.5; }
pre code { background: none; padding: 0; font-size: 1em; }
.code { position: relative; margin: 0 0 1rem; }
.code pre { margin: 0; }
.code.copies pre { padding-right: 5.5rem; }
button.copy { position: absolute; top: .45rem; right: .45rem; min-height: 2rem; padding: .15rem .7rem; font-size: .85rem; background: var(--card); color: var(--ink); border: 1px solid var(--line); }
@media (max-width: 34rem) { .code.copies pre { padding-right: 1.05rem; padding-bottom: 3.1rem; } button.copy { top: auto; bottom: .55rem; } }
button.copy:hover { border-color: var(--edge); }

ol.steps { list-style: none; padding: 0; counter-reset: step; }
ol.steps > li { position: relative; counter-increment: step; padding: 0 0 1.2rem 2.9rem; }
ol.steps > li::before { content: counter(step); position: absolute; left: 0; top: -.1rem; width: 1.9rem; height: 1.9rem; border-radius: 50%; background: var(--brand-wash); color: var(--brand-strong); font-weight: 700; display: grid; place-items: center; font-variant-numeric: tabular-nums; }
ol.steps > li:not(:last-child)::after { content: ""; position: absolute; left: .92rem; top: 2.1rem; bottom: .35rem; width: 1px; background: var(--line); }
ol.steps > li > :last-child { margin-bottom: 0; }
ol.steps .code, ol.steps .hint { margin-top: .55rem; }
ol.steps h3 { margin: 0 0 .15rem; font-size: 1.02rem; }`;

const FORMS = `
form { max-width: 42rem; }
.field { margin-bottom: 1.3rem; }
label { display: block; font-weight: 620; margin-bottom: .15rem; padding: 0; }
.optional { font-weight: 400; color: var(--soft); font-size: .9rem; }
.hint { display: block; color: var(--soft); font-size: .93rem; margin-bottom: .4rem; }
input, textarea { width: 100%; min-height: 2.75rem; padding: .5rem .8rem; font: inherit; color: var(--ink); background: var(--card); border: 1px solid var(--edge); }
input:hover, textarea:hover { border-color: var(--ink); }
.field.wrong input { border: 2px solid var(--bad); }
.wrong-text { color: var(--bad); font-weight: 600; display: block; margin-bottom: .35rem; }
.button, button { display: inline-flex; align-items: center; justify-content: center; min-height: 2.75rem; padding: .5rem 1.25rem; font: inherit; font-weight: 620; line-height: 1.25; cursor: pointer; text-decoration: none; background: var(--brand); color: var(--brand-ink); border: 1px solid var(--brand); }
.button:hover, button:hover { background: var(--brand-strong); border-color: var(--brand-strong); }
button.plain, .button.plain { background: transparent; color: var(--link); border-color: var(--line); }
button.plain:hover, .button.plain:hover { background: var(--sunk); border-color: var(--edge); }
button.danger { background: transparent; color: var(--bad); border-color: var(--bad); }
button.danger:hover { background: var(--bad-wash); }
.logout button { min-height: 2.1rem; padding: .2rem .8rem; font-size: .9rem; }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; }
.actions form { margin: 0; }
.after { margin-top: 1.5rem; }
/* Where there is little beside them they are as wide as tables and lines to copy. */
@media (max-width: 50rem) { .narrow, .note, form { max-width: none; } }
.filter { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; margin: 0 0 1.25rem; max-width: none; }
.filter .field { margin: 0; flex: 1 1 12rem; }
@media (prefers-reduced-motion: no-preference) { a, button, input { transition: background-color .12s, border-color .12s, color .12s; } }
@media (forced-colors: active) { .button, button { border: 2px solid ButtonText; } .state::before { forced-color-adjust: none; } }
@media print { body > header nav, .logout, .skip, button.copy { display: none; } }`;

export const STYLE = [COLOURS, GROUND, FRAME, PARTS, FORMS].join('\n');

/** Another one for another style sheet, so that browsers may keep each. */
export const STYLE_VERSION = hash('sha256', STYLE).slice(0, 12);
