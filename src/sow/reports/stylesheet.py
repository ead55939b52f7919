"""Holds the style sheet of a run's report, for light, dark, narrow and printed pages."""

from __future__ import annotations

STYLE = """
:root {
  --paper: #f7f7f5; --surface: #ffffff; --sunken: #efefec; --line: #e3e3de; --ink: #1b1d1f; --soft: #4c5157;
  --faint: #63686f;
  --accent: #2b59c3; --good: #22703f; --good-soft: #e5f4ea; --bad: #b3261e; --bad-soft: #fceae8; --warn: #8a5300;
  --warn-soft: #fdf1dc; --calm: #5d6269; --calm-soft: #ededea; --busy: #2b59c3; --busy-soft: #e8eefb;
  --work: #4a7bea; --review: #9a6be0; --check: #16899c; --merge: #3da566; --limit: #e8a63a; --wait: #9aa0a6;
  --red: #dc5047;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #111315; --surface: #191c1f; --sunken: #0c0e0f; --line: #2a2e33; --ink: #e8eaec; --soft: #b0b6bd;
    --faint: #8f969e;
    --accent: #8fb1ff; --good: #74cf95; --good-soft: #15301f; --bad: #ff9a90; --bad-soft: #3d1d1a; --warn: #f0b45c;
    --warn-soft: #38290f; --calm: #9aa1a9; --calm-soft: #262a2e; --busy: #8fb1ff; --busy-soft: #1c2740;
    --work: #6f9bff; --review: #a985ea; --check: #5fc9da; --merge: #4fb377; --limit: #e0a347; --wait: #5a6169;
    --red: #ee766b;
  }
}
* { box-sizing: border-box; margin: 0; }
html { color-scheme: light dark; -webkit-text-size-adjust: 100%; }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 var(--sans); font-variant-numeric: tabular-nums; }
header, main, footer { max-width: 1080px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 40px; padding-bottom: 8px; }
.eyebrow { color: var(--faint); font-size: 13px; letter-spacing: 0.02em; }
h1 { font-size: 30px; line-height: 1.2; letter-spacing: -0.015em; margin: 6px 0 12px; overflow-wrap: anywhere; }
h2 { font-size: 16px; letter-spacing: -0.005em; margin-bottom: 12px; }
.lead { font-size: 17px; color: var(--soft); display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center; }
.about { color: var(--faint); font-size: 13px; margin-top: 10px; overflow-wrap: anywhere; }
section { margin-top: 28px; }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; }
.badge { display: inline-flex; align-items: center; gap: 5px; border-radius: 999px; padding: 1px 9px;
  font-size: 12.5px;
  font-weight: 600; white-space: nowrap; line-height: 1.6; }
.lead .badge { font-size: 14px; padding: 3px 12px; }
.good { color: var(--good); background: var(--good-soft); }
.bad-word { color: var(--bad); background: var(--bad-soft); }
.warn { color: var(--warn); background: var(--warn-soft); }
.calm { color: var(--calm); background: var(--calm-soft); }
.busy { color: var(--busy); background: var(--busy-soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(220px, 1fr)); gap: 12px; margin-top: 20px; }
.tile { padding: 14px 16px; }
.tile dt { color: var(--faint); font-size: 12.5px; }
.tile dd.figure { font-size: 24px; font-weight: 650; letter-spacing: -0.015em; line-height: 1.3; }
.tile dd.more { color: var(--soft); font-size: 12.5px; }
.share { display: block; width: 100%; height: 8px; border-radius: 4px; margin-top: 20px; }
.share .completed { fill: var(--merge); } .share .failed { fill: var(--red); } .share .waiting { fill: var(--limit); }
.share .blocked { fill: var(--wait); } .share .running { fill: var(--work); }
.share .pending, .share .unknown, .share .abandoned { fill: var(--calm-soft); }
.scroll { overflow-x: auto; -webkit-overflow-scrolling: touch; }
.chart { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; padding: 12px 16px; }
.chart .scroll > svg { display: block; width: 100%; min-width: 680px; height: auto; font-family: var(--sans); }
.tick { stroke: var(--line); stroke-dasharray: 2 3; } .rule { stroke: var(--line); stroke-opacity: 0.6; }
.time { fill: var(--faint); font-size: 11px; } .name { fill: var(--ink); font-size: 12.5px; }
.number { fill: var(--faint); font-size: 11.5px; }
.bar.work { fill: var(--work); } .bar.check { fill: var(--check); } .bar.review { fill: var(--review); }
.bar.merge { fill: var(--merge); } .bar.wait, .band.wait { fill: url(#wait-stripes); }
.bar.limit, .band.limit { fill: url(#limit-stripes); } .band { opacity: 0.55; } .gap { fill: url(#gap-stripes); }
.bar.bad { stroke: var(--red); stroke-width: 2; }
.wait-ground { fill: var(--calm-soft); } .wait-stripe { stroke: var(--wait); stroke-width: 4; }
.limit-ground { fill: var(--warn-soft); } .limit-stripe { stroke: var(--limit); stroke-width: 4; }
.gap-ground { fill: var(--sunken); } .gap-stripe { stroke: var(--line); stroke-width: 4; }
.mark { stroke: var(--surface); stroke-width: 1.5; }
.mark.question { fill: var(--limit); } .mark.answered, .mark.recovered { fill: var(--merge); }
.mark.sent_back, .mark.conflict, .mark.budget { fill: var(--red); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 18px; padding: 10px 0 2px; color: var(--soft);
  font-size: 12.5px; }
.legend li { display: inline-flex; align-items: center; gap: 6px; }
figcaption p { color: var(--faint); font-size: 12.5px; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th { text-align: left; color: var(--faint); font-weight: 500; font-size: 12.5px; white-space: nowrap; }
th, td { padding: 9px 12px; border-bottom: 1px solid var(--line); vertical-align: top; }
th:first-child, td:first-child { padding-left: 16px; } th:last-child, td:last-child { padding-right: 16px; }
tbody tr:last-child td { border-bottom: 0; }
.n { text-align: right; white-space: nowrap; }
.quiet { color: var(--faint); }
small { color: var(--faint); font-size: 12.5px; }
td.task { min-width: 180px; } td.task strong { font-weight: 600; overflow-wrap: anywhere; }
td .why { white-space: pre-line; color: var(--soft); font-size: 12.5px; overflow-wrap: anywhere; max-width: 60ch; }
.verdicts { display: inline-flex; flex-wrap: wrap; gap: 4px; }
.meter { display: block; width: 100%; min-width: 60px; height: 6px; margin-top: 7px; }
.meter .ground { fill: var(--calm-soft); } .meter .full { fill: var(--work); }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); gap: 16px; }
.talk { list-style: none; padding: 0; } .talk li { padding: 14px 16px; border-bottom: 1px solid var(--line); }
.talk li:last-child { border-bottom: 0; } .asked { font-weight: 600; white-space: pre-line; overflow-wrap: anywhere; }
.answer { white-space: pre-line; overflow-wrap: anywhere; border-left: 3px solid var(--merge); padding-left: 10px;
  margin: 6px 0; }
.open { border-left-color: var(--limit); color: var(--soft); }
.plain { padding: 12px 16px 12px 34px; color: var(--soft); overflow-wrap: anywhere; }
.steps { padding: 14px 16px 14px 38px; } .steps li { padding: 4px 0; overflow-wrap: anywhere; }
code { font: 12.5px/1.6 var(--mono); background: var(--sunken); border-radius: 5px; padding: 2px 7px;
  overflow-wrap: anywhere; }
.steps code { display: inline-block; margin-top: 3px; }
footer { color: var(--faint); font-size: 12.5px; padding-top: 28px; padding-bottom: 40px; }
@media (max-width: 640px) {
  header, main, footer { padding-left: 14px; padding-right: 14px; }
  header { padding-top: 24px; } h1 { font-size: 24px; } .tiles { grid-template-columns: repeat(2, 1fr); gap: 8px; }
  th, td { padding: 8px; }
  .tile { padding: 10px 12px; } .tile dd.figure { font-size: 20px; }
  .tasks thead { display: none; } .tasks tr { display: block; padding: 10px 0; border-bottom: 1px solid var(--line); }
  .tasks tbody tr:last-child { border-bottom: 0; }
  .tasks td { display: flex; justify-content: space-between; gap: 12px; border: 0; padding: 2px 14px;
    text-align: right; }
  .tasks td.task { display: block; text-align: left; padding-bottom: 4px; }
  .tasks td::before { content: attr(data-label); color: var(--faint); } .tasks td.task::before { content: none; }
}
@media print {
  :root { --paper: #ffffff; }
  body { zoom: 0.72; }
  header, main, footer { max-width: none; padding-left: 0; padding-right: 0; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  .card, .chart { break-inside: avoid; }
  section.long .card { break-inside: auto; }
  tr, .talk li { break-inside: avoid; }
  thead { display: table-header-group; } .scroll { overflow: visible; } .chart .scroll > svg { min-width: 0; }
}
"""
