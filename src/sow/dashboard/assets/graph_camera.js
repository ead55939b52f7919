// Looking at a drawing that is larger than its window: pan and zoom by mouse, wheel, touch, keys and buttons.

const CLOSEST = 2;
const FARTHEST = 0.12;
const LARGEST_FIT = 1.2; // a small graph is not blown up
const STEP = 1.25;
const SLIP = 5; // px that a finger may move and still mean a click
const MARGIN = 24;

export class Camera {
  /** `content` is the group inside `svg` that is moved; `size()` tells the width and height of what is drawn. */
  constructor(svg, content, size) {
    Object.assign(this, { svg, content, size, moved: () => {}, x: 0, y: 0, zoom: 1, dragged: false, touched: false });
    this.pointers = new Map();
    svg.addEventListener("pointerdown", (event) => this.press(event));
    svg.addEventListener("pointermove", (event) => this.move(event));
    for (const type of ["pointerup", "pointercancel"]) svg.addEventListener(type, (event) => this.release(event));
    svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    svg.addEventListener("dragstart", (event) => event.preventDefault());
    svg.addEventListener("click", (event) => this.click(event), { capture: true });
  }

  get window() {
    return { width: this.svg.clientWidth || 1, height: this.svg.clientHeight || 1 };
  }

  /** All of it, as large as it fits; `least` is the smallest size that can still be read. */
  fit(least = FARTHEST, centre = null) {
    const { width, height } = this.window;
    const drawn = this.size();
    const fits = Math.min((width - 2 * MARGIN) / drawn.width, (height - 2 * MARGIN) / drawn.height, LARGEST_FIT);
    this.zoom = Math.max(fits, least, FARTHEST);
    const middle = centre && this.zoom > fits ? centre : { x: drawn.width / 2, y: drawn.height / 2 };
    this.x = width / 2 - middle.x * this.zoom;
    this.y = height / 2 - middle.y * this.zoom;
    this.touched = false;
    this.apply();
  }

  /** Zoom around a point of the window, else around its middle. */
  scale(factor, at = { x: this.window.width / 2, y: this.window.height / 2 }) {
    const zoom = Math.min(Math.max(this.zoom * factor, FARTHEST), CLOSEST);
    this.x = at.x - ((at.x - this.x) * zoom) / this.zoom;
    this.y = at.y - ((at.y - this.y) * zoom) / this.zoom;
    this.zoom = zoom;
    this.touched = true;
    this.apply();
  }

  nearer() {
    this.scale(STEP);
  }

  farther() {
    this.scale(1 / STEP);
  }

  /** Move by pixels; says whether there was anything left to see on that side. */
  pan(x, y) {
    const before = [this.x, this.y];
    this.x += x;
    this.y += y;
    this.touched = true;
    this.apply();
    return before[0] !== this.x || before[1] !== this.y;
  }

  /** Show a place of the drawing in the middle of the window. */
  centre(x, y) {
    const { width, height } = this.window;
    this.pan(width / 2 - x * this.zoom - this.x, height / 2 - y * this.zoom - this.y);
  }

  /** Bring a place into sight with the least movement. */
  reveal({ x, y, width, height }) {
    const { width: across, height: down } = this.window;
    const left = this.x + x * this.zoom;
    const top = this.y + y * this.zoom;
    const right = left + width * this.zoom;
    const bottom = top + height * this.zoom;
    const byX = left < MARGIN ? MARGIN - left : right > across - MARGIN ? across - MARGIN - right : 0;
    const byY = top < MARGIN ? MARGIN - top : bottom > down - MARGIN ? down - MARGIN - bottom : 0;
    if (byX || byY) this.pan(byX, byY);
  }

  apply() {
    const { width, height } = this.window;
    const drawn = this.size();
    this.x = held(this.x, drawn.width * this.zoom, width);
    this.y = held(this.y, drawn.height * this.zoom, height);
    this.content.setAttribute("transform", `translate(${this.x.toFixed(1)} ${this.y.toFixed(1)}) scale(${this.zoom.toFixed(4)})`);
    this.moved();
  }

  press(event) {
    if (event.button > 0) return;
    this.pointers.set(event.pointerId, at(event));
    if (this.pointers.size === 1) this.dragged = false;
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const point = at(event);
    if (!this.dragged && this.pointers.size === 1 && distance(before, point) < SLIP) return;
    if (!this.dragged) this.svg.setPointerCapture(event.pointerId);
    this.dragged = true;
    if (this.pointers.size === 2) this.pinch(event.pointerId, before, point);
    else this.pan(point.x - before.x, point.y - before.y);
    this.pointers.set(event.pointerId, point);
  }

  pinch(pointer, before, point) {
    const [, other] = [...this.pointers].find(([id]) => id !== pointer);
    const box = this.svg.getBoundingClientRect();
    const middle = { x: (point.x + other.x) / 2 - box.left, y: (point.y + other.y) / 2 - box.top };
    this.scale(distance(point, other) / Math.max(distance(before, other), 1), middle);
    this.pan((point.x - before.x) / 2, (point.y - before.y) / 2);
  }

  release(event) {
    this.pointers.delete(event.pointerId);
  }

  /** The end of a drag is no click on what is under the finger. */
  click(event) {
    if (!this.dragged) return;
    this.dragged = false;
    event.preventDefault();
    event.stopPropagation();
  }

  wheel(event) {
    const box = this.svg.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.scale(Math.exp(-event.deltaY / 200), { x: event.clientX - box.left, y: event.clientY - box.top });
      return;
    }
    const [x, y] = event.shiftKey ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
    if (this.pan(-x, -y)) event.preventDefault();
  }
}

function at(event) {
  return { x: event.clientX, y: event.clientY };
}

function distance(one, other) {
  return Math.hypot(one.x - other.x, one.y - other.y);
}

/** A drawing smaller than the window stays inside. A larger one leaves no side empty. */
function held(offset, drawn, window) {
  const room = window - drawn - 2 * MARGIN;
  if (room >= 0) return Math.round((window - drawn) / 2);
  return Math.min(Math.max(offset, window - drawn - MARGIN), MARGIN);
}
