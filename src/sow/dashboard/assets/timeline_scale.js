// The time axis: seconds to pixels, with long gaps in which nothing was alive folded to a narrow break.

const BREAK_WIDTH = 36;
const FOLD_SHARE = 0.08;
const FOLD_SECONDS = 20;
const TICK_ROOM = 88;
const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;
const STEPS = [
  1, 2, 5, 10, 15, 30,
  MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR,
  DAY, 2 * DAY, 7 * DAY, 30 * DAY, 365 * DAY,
];

/** The end of the axis: of a live run it steps ahead of the clock, so that bars grow and nothing slides. */
export function horizon(from, to, live, earlier = null) {
  if (!live) return Math.max(to, from + 1);
  if (earlier && earlier >= to) return earlier;
  return from + Math.max((to - from) * 1.3, 30);
}

/** A scale over [from, to] that is `width` pixels wide; `gaps` are moments in which no call of sow was alive. */
export function scaleOf(from, to, gaps, width) {
  const pieces = piecesOf(from, to, gaps);
  const folded = pieces.filter((piece) => piece.folded).length;
  const seconds = pieces.reduce((sum, piece) => sum + (piece.folded ? 0 : piece.to - piece.from), 0);
  const room = Math.max(width - folded * BREAK_WIDTH, 1);
  let x = 0;
  for (const piece of pieces) {
    piece.x = x;
    piece.width = piece.folded ? BREAK_WIDTH : (room * (piece.to - piece.from)) / Math.max(seconds, 0.001);
    x += piece.width;
  }
  return new Scale(pieces, width, seconds / room);
}

function piecesOf(from, to, gaps) {
  const inside = gaps
    .map((gap) => ({ from: Math.max(gap.from, from), to: Math.min(gap.to ?? to, to) }))
    .filter((gap) => gap.to > gap.from)
    .sort((a, b) => a.from - b.from);
  const idle = inside.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  const least = Math.max((to - from - idle) * FOLD_SHARE, FOLD_SECONDS);
  const pieces = [];
  let at = from;
  for (const gap of inside) {
    if (gap.to - gap.from < least || gap.from < at) continue;
    if (gap.from > at) pieces.push({ from: at, to: gap.from, folded: false });
    pieces.push({ ...gap, folded: true });
    at = gap.to;
  }
  if (to > at) pieces.push({ from: at, to, folded: false });
  return pieces;
}

class Scale {
  constructor(pieces, width, perPixel) {
    this.pieces = pieces;
    this.width = width;
    this.perPixel = perPixel;
  }

  /** Pixels from the left for a moment; what is outside is put on the edge. */
  x(at) {
    const piece = this.pieces.find((each) => at <= each.to) ?? this.pieces.at(-1);
    const share = (at - piece.from) / Math.max(piece.to - piece.from, 0.001);
    return piece.x + Math.min(Math.max(share, 0), 1) * piece.width;
  }

  /** The moment at a place, the opposite of x. */
  at(x) {
    const piece = this.pieces.find((each) => x <= each.x + each.width) ?? this.pieces.at(-1);
    const share = Math.min(Math.max((x - piece.x) / Math.max(piece.width, 0.001), 0), 1);
    return piece.from + share * (piece.to - piece.from);
  }

  /** Where time is folded. */
  get breaks() {
    return this.pieces.filter((piece) => piece.folded);
  }

  /** Round moments with room for a label each: [{at, x, step}]. */
  ticks() {
    const step = STEPS.find((each) => each / this.perPixel >= TICK_ROOM) ?? STEPS.at(-1);
    const found = [];
    for (const piece of this.pieces) {
      if (piece.folded) continue;
      const shift = step >= HOUR ? new Date(piece.from * 1000).getTimezoneOffset() * MINUTE : 0;
      for (let at = Math.ceil((piece.from - shift) / step) * step + shift; at <= piece.to; at += step) {
        const x = this.x(at);
        if (x <= this.width - TICK_ROOM * 0.7) found.push({ at, x, step });
      }
    }
    return found.filter((tick, index) => index === 0 || tick.x - found[index - 1].x >= TICK_ROOM / 2);
  }
}
