/**
 * Style of the operators' pages besides the sheet of all pages: sets as bars, graphs, and room for tables.
 */
import { hash } from 'node:crypto';

export const OPERATOR_STYLE = `
:root { --s0: #0d6f66; --s1: #3b7dc4; --s2: #c08a1e; --s3: #c2532f; --s4: #75509c; }
@media (prefers-color-scheme: dark) { :root { --s0: #4fbcae; --s1: #7fb2ec; --s2: #dfb04c; --s3: #ee8a6d; --s4: #b898e0; } }
.inner { max-width: 82rem; }
.fresh { color: var(--soft); font-size: .93rem; }
h1 + .fresh { margin-top: -.55rem; }
.two { display: grid; gap: 0 1.5rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); align-items: start; }
.two .note { max-width: none; }
.note li + li { margin-top: .3rem; }
.graphs { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 1.1rem; margin: 0 0 1.25rem; }
.graph { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: .75rem; box-shadow: var(--shadow); padding: 1rem 1.15rem .95rem; min-width: 0; }
.graph figcaption { font-weight: 650; margin-bottom: .5rem; }
.graph .plot { padding: 0 .5rem 0 4.3rem; }
.graph svg { display: block; overflow: visible; }
.plot > svg { width: 100%; height: 216px; }
.graph .grid, .graph .line { vector-effect: non-scaling-stroke; }
@media (min-width: 60rem) { .graph:first-child { grid-column: 1 / -1; } }
@media (max-width: 34rem) { .graph .odd { display: none; } }
.graph .grid { stroke: var(--line); stroke-width: 1; fill: none; }
.graph text { fill: var(--soft); font-size: 13px; font-variant-numeric: tabular-nums; }
.graph .none { font-size: 15px; }
.graph .line { fill: none; stroke-width: 2.25; stroke-linejoin: round; stroke-linecap: round; }
.graph .area { stroke: none; fill-opacity: .8; }
${[0, 1, 2, 3, 4].map(i => `.line.s${i} { stroke: var(--s${i}); } .area.s${i} { fill: var(--s${i}); } .swatch.s${i} { background: var(--s${i}); }`).join('\n')}
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: .6rem 0 0; font-size: .9rem; color: var(--soft); max-width: none; }
.legend b { color: var(--ink); font-weight: 620; font-variant-numeric: tabular-nums; }
.swatch { display: inline-block; width: .7rem; height: .7rem; border-radius: .2rem; margin-right: .45rem; }
.spans { margin: 0 -.7rem .9rem; }
td.time { font-variant-numeric: tabular-nums; }
@media (min-width: 40rem) { td.time { white-space: nowrap; } }
.sets { display: block; }
.sets .set { fill: var(--s0); } .sets .full { fill: var(--s1); } .sets .none { fill: var(--edge); } .sets .taking { fill: var(--s2); } .sets .held { fill: var(--bad); }
.swatch.set { background: var(--s0); } .swatch.full { background: var(--s1); } .swatch.none { background: var(--edge); } .swatch.taking { background: var(--s2); } .swatch.held { background: var(--bad); }
.bars-legend { margin: -.6rem 0 1.25rem; }
a.bad { color: var(--bad); font-weight: 620; }
td .fresh { font-size: .86rem; }
.zero { color: var(--soft); }
.filter { justify-content: flex-start; }
.filter .field { max-width: 26rem; }
.terms { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 11rem), 1fr)); gap: 0 1.25rem; align-items: end; }
.decide { max-width: none; }
details > summary { cursor: pointer; color: var(--link); font-weight: 600; padding: .35rem 0; }
.application { max-width: 52rem; }
.application h2 { overflow-wrap: anywhere; }
`;

/** Another one for another style sheet, so that browsers may keep each. */
export const OPERATOR_STYLE_VERSION = hash('sha256', OPERATOR_STYLE).slice(0, 12);
