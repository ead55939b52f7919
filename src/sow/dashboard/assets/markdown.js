// @ts-check
// Markdown made readable: headings, lists, code, emphasis and links to the web. Anything else stays the text that it is.

import { h } from "./dom.js";

const MOST = 200_000; // characters of one text that are dressed; what is beyond stays plain
const LONG = 10_000; // characters of one line that nobody wrote by hand
const INLINE =
  /(`{1,3})([^`]{1,2000})\1|\*\*([^*\s](?:[^*]*[^*\s])?)\*\*|\*([^*\s](?:[^*]*[^*\s])?)\*|\[([^\]\n]{1,500})\]\(([^()\s]{1,2000})\)|(https?:\/\/[^\s<>()"'`]{1,2000})/g;

/**
 * @param {string | null | undefined} text
 * @returns {Node[]}
 */
export function markdown(text) {
  const whole = String(text ?? "").replaceAll("\r\n", "\n");
  const blocks = parse(whole.slice(0, MOST).split("\n"));
  return whole.length > MOST ? [...blocks, h("pre", null, whole.slice(MOST))] : blocks;
}

/** @param {string[]} lines @returns {Node[]} */
function parse(lines) {
  const made = [];
  let at = 0;
  while (at < lines.length) {
    const [node, next] = block(lines, at);
    if (node) made.push(node);
    at = next;
  }
  return made;
}

/** One block that begins at a line, and where the next begins. @param {string[]} lines @param {number} at @returns {[Node | null, number]} */
function block(lines, at) {
  const line = lines[at];
  if (!line.trim()) return [null, at + 1];
  const fence = /^\s*(```+|~~~+)\s*([\w+-]*)/.exec(line);
  if (fence) return code(lines, at, fence[1]);
  const heading = /^(#{1,6})\s+(.*)$/.exec(line);
  if (heading) return [h(`h${Math.min(6, heading[1].length + 2)}`, null, inline(heading[2])), at + 1];
  if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) return [h("hr"), at + 1];
  if (item(line)) return items(lines, at);
  if (/^\s*>/.test(line)) return quote(lines, at);
  return paragraph(lines, at);
}

/** @param {string[]} lines @param {number} at @param {string} fence @returns {[Node, number]} */
function code(lines, at, fence) {
  let end = at + 1;
  while (end < lines.length && !lines[end].trim().startsWith(fence)) end += 1;
  return [h("pre", { tabindex: "0" }, h("code", null, lines.slice(at + 1, end).join("\n"))), end + 1];
}

/** @param {string} line */
function item(line) {
  return /^(\s*)([-*+]|\d{1,4}[.)])\s+(.*)$/.exec(line);
}

/** A list; lines that are indented below an item belong to it. @param {string[]} lines @param {number} at @returns {[Node, number]} */
function items(lines, at) {
  const first = /** @type {RegExpExecArray} */ (item(lines[at]));
  const indent = first[1].length;
  const made = [];
  while (at < lines.length) {
    const found = item(lines[at]);
    if (!found || found[1].length !== indent) break;
    let end = at + 1;
    while (end < lines.length && belongs(lines, end, indent)) end += 1;
    const below = lines
      .slice(at + 1, end)
      .map((line) => line.slice(Math.min(indent + 2, line.length - line.trimStart().length)));
    made.push(entry(found[3], below));
    at = end;
  }
  return [h(/\d/.test(first[2]) ? "ol" : "ul", null, made), at];
}

/** @param {string[]} lines @param {number} at @param {number} indent */
function belongs(lines, at, indent) {
  const line = lines[at];
  if (!line.trim()) return at + 1 < lines.length && /^\s/.test(lines[at + 1]) && lines[at + 1].search(/\S/) > indent;
  return line.search(/\S/) > indent;
}

/** @param {string} text @param {string[]} below */
function entry(text, below) {
  const box = /^\[([ xX])\]\s+(.*)$/.exec(text);
  const mark = box ? h("span", { class: "task-box" }, box[1] === " " ? "☐ " : "☑ ") : null;
  return h("li", null, mark, inline(box ? box[2] : text), below.length ? parse(below) : null);
}

/** @param {string[]} lines @param {number} at @returns {[Node, number]} */
function quote(lines, at) {
  let end = at;
  while (end < lines.length && /^\s*>/.test(lines[end])) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(/^\s*>\s?/, "").replace(/^(\s*>)+/, ""));
  return [h("blockquote", null, parse(inner)), end];
}

/** @param {string[]} lines @param {number} at @returns {[Node, number]} */
function paragraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !/^(#{1,6}\s|\s*(```|~~~|>))/.test(lines[end]) && !item(lines[end]))
    end += 1;
  const parts = lines.slice(at, end).flatMap((line, index) => (index ? [h("br"), inline(line)] : [inline(line)]));
  return [h("p", null, parts), end];
}

/** @param {string} text @returns {import("./dom.js").Child[]} */
function inline(text) {
  if (text.length > LONG) return [text];
  const parts = [];
  let last = 0;
  for (const found of text.matchAll(INLINE)) {
    parts.push(text.slice(last, found.index), dressed(found));
    last = found.index + found[0].length;
  }
  return [...parts, text.slice(last)];
}

/** @param {RegExpMatchArray} found */
function dressed(found) {
  const [all, , code, strong, soft, label, target, bare] = found;
  if (code !== undefined) return h("code", null, code);
  if (strong !== undefined) return h("strong", null, strong);
  if (soft !== undefined) return h("em", null, soft);
  if (bare !== undefined) return link(bare, bare) ?? all;
  return link(label, target) ?? all;
}

/** A link to the web, with its target in sight; any other is no link. @param {string} label @param {string} target */
function link(label, target) {
  if (!/^https?:\/\//i.test(target)) return null;
  const shown = label === target ? label : `${label} (${target})`;
  return h("a", { href: target, rel: "noreferrer noopener", target: "_blank" }, shown);
}
