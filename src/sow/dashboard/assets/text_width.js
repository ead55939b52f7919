// Words cut to the room that they have: SVG does not do that by itself.

const canvas = document.createElement("canvas").getContext("2d");
const known = new Map();

/** A text as it is, or cut with an ellipsis so that it is at most `room` pixels wide in this font. */
export function fitted(text, room, font) {
  const key = `${font}\n${room}\n${text}`;
  if (!known.has(key)) {
    if (known.size > 5000) known.clear();
    known.set(key, cut(text, room, font));
  }
  return known.get(key);
}

/** A text in at most so many lines, which break between words; only the last is cut. */
export function inLines(text, most, room, font) {
  canvas.font = font;
  const lines = [];
  let words = text.split(" ");
  while (words.length && lines.length < most) {
    let count = 1;
    while (count < words.length && canvas.measureText(words.slice(0, count + 1).join(" ")).width <= room) count += 1;
    if (lines.length === most - 1) count = words.length;
    lines.push(fitted(words.slice(0, count).join(" "), room, font));
    words = words.slice(count);
  }
  return lines;
}

function cut(text, room, font) {
  canvas.font = font;
  if (canvas.measureText(text).width <= room) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const half = Math.ceil((low + high) / 2);
    if (canvas.measureText(`${text.slice(0, half)}…`).width <= room) low = half;
    else high = half - 1;
  }
  return `${text.slice(0, low).trimEnd()}…`;
}
