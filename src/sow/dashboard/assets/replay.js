// The slider of a replay: a moment of a run, moved by hand or played; of a live run its right end is now.

import { h, render, say } from "./dom.js";
import { clock, duration } from "./format.js";
import { icon } from "./icons.js";
import { Moments } from "./moments.js";
import { scaleOf } from "./timeline_scale.js";

const PARTS = 1000;
const WHOLE = 20; // seconds that a whole run takes at single speed
const SPEEDS = [0.5, 1, 2, 4];

export class Replay {
  /** `moved` is called with the moment, or null where a live run is followed. */
  constructor(moved) {
    Object.assign(this, { moved, playing: false, speed: 1, place: PARTS, last: 0, frame: 0, facts: null });
    this.slider = h("input", { type: "range", class: "replay-slider", min: 0, max: PARTS, step: "any", value: PARTS, "aria-label": "Moment of the run", oninput: () => this.slide() });
    this.button = h("button", { type: "button", class: "button square", onclick: () => this.toggle() });
    this.words = h("output", { class: "replay-moment number" });
    this.pace = h("select", { class: "field replay-speed", "aria-label": "Speed of the replay", onchange: () => (this.speed = Number(this.pace.value)) }, SPEEDS.map((speed) => h("option", { value: speed, selected: speed === 1 }, `${speed}×`)));
    const step = (word, name, by) => h("button", { type: "button", class: "button square", "aria-label": name, title: name, onclick: () => this.step(by) }, icon(word));
    this.element = h("div", { class: "replay", role: "group", "aria-label": "Replay" }, step("left", "Previous change", -1), this.button, step("right", "Next change", 1), this.slider, this.words, this.pace);
    this.drawButton();
  }

  /** The facts of a timeline; called again while it grows. */
  show(facts, now) {
    const moment = this.facts ? this.moment : null;
    const following = this.isAtEnd;
    if (this.facts !== facts || this.changes !== facts.changes.length) this.moments = new Moments(facts.changes);
    this.changes = facts.changes.length;
    this.facts = facts;
    this.end = Math.max(facts.live ? now : facts.to, facts.from + 1);
    this.scale = scaleOf(facts.from, this.end, facts.gaps, PARTS);
    if (!following && moment !== null) this.place = this.scale.x(moment);
    this.draw();
  }

  get isAtEnd() {
    return this.place >= PARTS - 0.01;
  }

  get moment() {
    return this.isAtEnd ? this.end : this.scale.at(this.place);
  }

  slide() {
    this.pause();
    this.go(Number(this.slider.value));
  }

  /** Previous change or after the present moment. */
  step(direction) {
    this.pause();
    const at = this.moments.next(this.moment, direction);
    if (at !== null) this.go(this.scale.x(at));
    else this.go(direction > 0 ? PARTS : 0);
  }

  go(place) {
    this.place = Math.min(Math.max(place, 0), PARTS);
    this.draw();
    this.moved(this.facts.live && this.isAtEnd ? null : this.moment);
  }

  draw() {
    this.slider.value = this.place;
    const after = duration(this.moment - this.facts.from);
    const words = this.facts.live && this.isAtEnd ? `live, ${after}` : `${clock(this.moment)}, ${after} in`;
    say(this.words, words);
    this.slider.setAttribute("aria-valuetext", words);
    this.slider.style.setProperty("--done", `${(100 * this.place) / PARTS}%`);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.isAtEnd) this.go(0);
    this.playing = true;
    this.last = performance.now();
    this.frame = requestAnimationFrame((at) => this.advance(at));
    this.drawButton();
  }

  advance(at) {
    const seconds = Math.min(Math.max(at - this.last, 0) / 1000, 0.25);
    this.last = at;
    this.go(this.place + (PARTS * seconds * this.speed) / WHOLE);
    if (this.isAtEnd) this.pause();
    else if (this.playing) this.frame = requestAnimationFrame((next) => this.advance(next));
  }

  pause() {
    cancelAnimationFrame(this.frame);
    this.playing = false;
    this.drawButton();
  }

  drawButton() {
    this.button.setAttribute("aria-label", this.playing ? "Pause the replay" : "Play the run");
    render(this.button, icon(this.playing ? "pause" : "play"));
  }

  unmount() {
    cancelAnimationFrame(this.frame);
  }
}
