// @ts-check
// The only door to the server: requests, acts and the live feed. Nothing here knows what a page shows.

import { setClock } from "./format.js";

const SILENCE = 30_000; // the server's heart beats every 10 s; three missed beats are a lost connection
const LONGEST_PAUSE = 10_000;

/** An error of the server, with its hint. */
export class ApiError extends Error {
  /**
   * @param {number} status 0 when the server was not reached
   * @param {string} message
   * @param {string} hint
   */
  constructor(status, message, hint) {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}

/** @type {(() => void) | null} */
let signedOut = null;

/** Say what happens when the server does not know this browser (any more). @param {() => void} handler */
export function onSignedOut(handler) {
  signedOut = handler;
}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
async function request(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") throw error;
    throw new ApiError(0, "the server does not respond", "check that `sow ui` still runs");
  }
  setClock(response.headers.get("Date"));
  if (response.ok) return response;
  const told = await response.json().catch(() => ({}));
  const error = new ApiError(response.status, told.error ?? `the server responded with status ${response.status}`, told.hint ?? "");
  if (response.status === 401 && path !== "/api/session") signedOut?.();
  throw error;
}

/**
 * Fetches the document at an address.
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, signal) {
  return (await request(path, { signal, headers: { Accept: "application/json" } })).json();
}

/**
 * @param {string} path
 * @param {object} body
 * @returns {Promise<Response>}
 */
function post(path, body) {
  const headers = { "Content-Type": "application/json", "X-Sow": "1" };
  return request(path, { method: "POST", headers, body: JSON.stringify(body) });
}

/** Exchange the one-time token of an address for a cookie. @param {string} token @returns {Promise<void>} */
export async function signIn(token) {
  await post("/api/session", { token });
}

/**
 * Run a command on the server, as `answer`, `approve`, `retry`.
 * @param {string} name
 * @param {object} body
 * @returns {Promise<{ok: boolean, text?: string}>}
 */
export async function act(name, body) {
  return (await post(`/api/acts/${encodeURIComponent(name)}`, body)).json();
}

/**
 * @typedef {object} FeedHandlers
 * @property {(event: string, data: any, id: string) => void} event
 * @property {(live: boolean) => void} connection
 */

/** The live feed: one connection that reconnects by itself and continues after the last event. */
export class Feed {
  /** @param {FeedHandlers} handlers */
  constructor(handlers) {
    this.handlers = handlers;
    this.cursor = "";
    this.failures = 0;
    /** @type {AbortController | null} */
    this.connection = null;
    /** @type {any} */
    this.timer = null;
  }

  /** Continue from a place in the feed; an open connection is kept. @param {string} cursor */
  start(cursor) {
    if (cursor) this.cursor = cursor;
    if (!this.connection) void this.read();
  }

  /** End the connection; start() opens it again at the same place. */
  stop() {
    clearTimeout(this.timer);
    this.connection?.abort();
    this.connection = null;
  }

  /** Read until the connection ends, then come back after a pause that grows. */
  async read() {
    const connection = new AbortController();
    this.connection = connection;
    try {
      await this.follow(connection);
    } catch (error) {
      if (this.connection !== connection) return;
      if (error instanceof ApiError && error.status === 401) return this.stop();
    }
    if (this.connection !== connection) return;
    connection.abort();
    this.handlers.connection(false);
    const pause = Math.min(LONGEST_PAUSE, 400 * 2 ** this.failures);
    this.failures += 1;
    this.timer = setTimeout(() => void this.read(), pause);
  }

  /** @param {AbortController} connection */
  async follow(connection) {
    const after = this.cursor ? `?after=${encodeURIComponent(this.cursor)}` : "";
    const response = await request(`/api/feed${after}`, {
      signal: connection.signal,
      headers: { Accept: "text/event-stream" },
    });
    const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
    const decoder = new TextDecoder();
    let rest = "";
    this.failures = 0;
    this.handlers.connection(true);
    for (;;) {
      const watch = setTimeout(() => connection.abort(), SILENCE);
      const { done, value } = await reader.read().finally(() => clearTimeout(watch));
      if (done) return;
      const blocks = (rest + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      for (const block of blocks) this.take(block);
    }
  }

  /** One event of the stream. @param {string} block */
  take(block) {
    let event = "message";
    const data = [];
    for (const line of block.split(/\r?\n/)) {
      if (line.startsWith("event:")) event = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
      else if (line.startsWith("id:")) this.cursor = line.slice(3).trim();
    }
    if (data.length) this.handlers.event(event, JSON.parse(data.join("\n")), this.cursor);
  }
}
