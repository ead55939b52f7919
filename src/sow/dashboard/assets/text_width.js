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
