// @ts-check
// How the page is built and kept: elements from text only, and lists that change without losing focus or scroll.

/** @typedef {Node | string | number | null | undefined | false | readonly any[]} Child */
/** @typedef {Record<string, any>} Attributes */

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(
  (
    "svg g path rect circle ellipse line polyline polygon text tspan defs marker use clipPath " +
    "linearGradient stop pattern mask foreignObject desc"
  ).split(" "),
);
const PROPERTIES = new Set(["value", "checked", "selected", "indeterminate"]);
/** Attributes that the user changes. An update does not set them. */
const PERSONS = { DETAILS: new Set(["open"]), DIALOG: new Set(["open"]) };

/** @type {WeakMap<EventTarget, Record<string, (event: any) => void>>} */
const handlers = new WeakMap();
/** @type {WeakMap<Node, string>} */
const keys = new WeakMap();
/** @type {WeakMap<Element, Map<string, {item: any, node: Node}>>} */
const rows = new WeakMap();
/** Elements whose children are rendered or listed: each is shown itself, never made into another. @type {WeakSet<Node>} */
const homes = new WeakSet();

/** @param {Event} event */
function dispatch(event) {
  if (event.currentTarget) handlers.get(event.currentTarget)?.[event.type]?.(event);
}

/**
 * An element. Attributes: `class` (words, or a list with gaps), `key` (its identity within its parent), `style` (an object),
 * `onclick` and the like (functions); true is an empty attribute; null, undefined and false leave it out. SVG tags are known
 * by name; the few that HTML has too are written `svg:a`, `svg:title`, `svg:style`. A handler finds its element as
 * event.currentTarget: after an update the element that is shown may be an older one that took the handler over.
 * @param {string} tag
 * @param {Attributes | null} [attributes]
 * @param {...Child} children
 * @returns {any}
 */
export function h(tag, attributes, ...children) {
  const forced = tag.startsWith("svg:");
  const name = forced ? tag.slice(4) : tag;
  const made = forced || SVG_TAGS.has(name) ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) give(made, key, value);
  made.append(...nodes(children));
  return made;
}

/**
 * @param {Element} made
 * @param {string} name
 * @param {any} value
 */
function give(made, name, value) {
  if (name === "key") keys.set(made, String(value));
  else if (name.startsWith("on")) listen(made, name.slice(2), value);
  else if (value === null || value === undefined || value === false) return;
  else if (name === "class") made.setAttribute("class", words(value));
  else if (name === "style") for (const [key, each] of Object.entries(value)) restyle(made, key, each);
  else if (PROPERTIES.has(name)) /** @type {any} */ (made)[name] = value;
  else made.setAttribute(name, value === true ? "" : String(value));
}

/** @param {any} value */
function words(value) {
  return Array.isArray(value) ? value.filter(Boolean).join(" ") : String(value);
}

/**
 * @param {Element} made
 * @param {string} key
 * @param {any} value
 */
function restyle(made, key, value) {
  /** @type {HTMLElement} */ (made).style.setProperty(key, value === null || value === undefined ? "" : String(value));
}

/**
 * @param {Element} made
 * @param {string} type
 * @param {any} handler
 */
function listen(made, type, handler) {
  if (!handler) return;
  const known = handlers.get(made) ?? {};
  if (!known[type]) made.addEventListener(type, dispatch);
  handlers.set(made, { ...known, [type]: handler });
}

/**
 * Children as nodes: strings become text, nothing becomes nothing.
 * @param {Child[]} children
 * @returns {Node[]}
 */
function nodes(children) {
  const found = [];
  for (const child of children.flat(9)) {
    if (child === null || child === undefined || child === false) continue;
    found.push(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return found;
}

/**
 * Make the children of an element look like these, changing only what differs: focus, scroll, typed text and opened
 * details stay. An old element becomes a new one when both have the same tag, key and first class; a node that is there
 * already and is passed again is left alone with all that is in it.
 * @param {Element} parent
 * @param {...Child} children
 */
export function render(parent, ...children) {
  homes.add(parent);
  place(parent, matched(parent, nodes(children)));
}

/**
 * A list by key. A row whose item is the same object as before is not touched at all.
 * @template T
 * @param {Element} parent
 * @param {readonly T[]} items
 * @param {(item: T) => string | number} key
 * @param {(item: T) => Element} make
 */
export function list(parent, items, key, make) {
  homes.add(parent);
  const before = rows.get(parent) ?? new Map();
  const after = new Map();
  for (const item of items) {
    const name = String(key(item));
    const old = before.get(name);
    const node = old ? (old.item === item ? old.node : morph(old.node, make(item))) : make(item);
    after.set(name, { item, node });
  }
  rows.set(parent, after);
  place(
    parent,
    Array.from(after.values(), (row) => row.node),
  );
}

/**
 * @param {Element} parent
 * @param {Node[]} wanted
 * @returns {Node[]}
 */
function matched(parent, wanted) {
  const same = new Set(wanted);
  const old = Array.from(parent.childNodes).filter((node) => !same.has(node));
  const named = new Map(old.filter((node) => keys.has(node)).map((node) => [keys.get(node), node]));
  const plain = old.filter((node) => !keys.has(node));
  return wanted.map((node) => {
    if (node.parentNode === parent || homes.has(node)) return node;
    const key = keys.get(node);
    if (key !== undefined) return named.has(key) ? morph(/** @type {Node} */ (named.get(key)), node) : node;
    const at = plain.findIndex((each) => alike(each, node));
    if (at < 0) return node;
    return morph(plain.splice(0, at + 1)[at], node);
  });
}

/**
 * Turn an old node into a fresh one in place; where they are of different kinds the fresh one is returned.
 * @param {Node} old
 * @param {Node} fresh
 * @returns {Node}
 */
function morph(old, fresh) {
  if (old === fresh) return old;
  if (!alike(old, fresh) || homes.has(old)) return fresh;
  if (!(old instanceof Element) || !(fresh instanceof Element)) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return old;
  }
  attributes(old, fresh);
  adopt(old, fresh);
  place(old, matched(old, Array.from(fresh.childNodes)));
  return old;
}

/**
 * @param {Node} one
 * @param {Node} other
 */
function alike(one, other) {
  if (one.nodeName !== other.nodeName || keys.get(one) !== keys.get(other)) return false;
  if (!(one instanceof Element) || !(other instanceof Element)) return true;
  return one.classList.item(0) === other.classList.item(0);
}

/**
 * @param {Element} old
 * @param {Element} fresh
 */
function attributes(old, fresh) {
  const persons = /** @type {Record<string, Set<string>>} */ (PERSONS)[old.nodeName];
  for (const { name } of Array.from(old.attributes)) {
    if (!fresh.hasAttribute(name) && !persons?.has(name)) old.removeAttribute(name);
  }
  for (const { name, value } of Array.from(fresh.attributes)) {
    if (persons?.has(name)) continue;
    if (name === "style")
      /** @type {HTMLElement} */ (old).style.cssText = /** @type {HTMLElement} */ (fresh).style.cssText;
    else if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

/**
 * The old element gets the fresh one's handlers, which know the newest facts.
 * @param {Element} old
 * @param {Element} fresh
 */
function adopt(old, fresh) {
  const wanted = handlers.get(fresh);
  const known = handlers.get(old);
  if (!wanted && !known) return;
  for (const type of Object.keys(wanted ?? {})) if (!known?.[type]) old.addEventListener(type, dispatch);
  for (const type of Object.keys(known ?? {})) if (!wanted?.[type]) old.removeEventListener(type, dispatch);
  if (wanted) handlers.set(old, wanted);
  else handlers.delete(old);
}

/**
 * Exactly these children in this order, with as few moves as can be; the focus survives a move.
 * @param {Element} parent
 * @param {Node[]} wanted
 */
function place(parent, wanted) {
  const keep = new Set(wanted);
  for (const node of Array.from(parent.childNodes)) if (!keep.has(node)) node.remove();
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  let at = parent.firstChild;
  for (const node of wanted) {
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
  if (focused && focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true });
}

/**
 * Change a text only when it differs, so that a screen reader and a selection are not disturbed.
 * @param {Element} element
 * @param {string | number} value
 */
export function say(element, value) {
  if (element.textContent !== String(value)) element.textContent = String(value);
}
