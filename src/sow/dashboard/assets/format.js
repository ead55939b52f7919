// @ts-check
// How facts are worded: times, money, numbers, statuses. Pure, apart from the clock of the server.

/** Seconds by which the server's clock is ahead of this browser's. */
let ahead = 0;

/**
 * Learn the server's clock from an answer of it, so that a page opened through a tunnel counts right.
 * @param {string | null} date the Date header of an answer
 */
export function setClock(date) {
  const seconds = date ? Date.parse(date) / 1000 : NaN;
  if (!Number.isFinite(seconds)) return;
  const difference = seconds - Date.now() / 1000;
  if (Math.abs(difference - ahead) > 2) ahead = Math.abs(difference) > 2 ? difference : 0;
}

/** Now in epoch seconds by the server's clock. @returns {number} */
export function now() {
  return Date.now() / 1000 + ahead;
}

/**
 * Epoch seconds of a moment that is given in seconds or as an ISO text; NaN for anything else.
 * @param {number | string | null | undefined} moment
 * @returns {number}
 */
export function seconds(moment) {
  if (typeof moment === "number") return moment;
  return moment ? Date.parse(moment) / 1000 : NaN;
}

/**
 * "0.4s", "8s", "4m 05s", "2h 10m", "3d 4h".
 * @param {number | null | undefined} length in seconds
 * @returns {string}
 */
export function duration(length) {
  if (length === null || length === undefined || !Number.isFinite(length)) return "–";
  if (length > 0 && length < 1) return `${Math.max(0.1, length).toFixed(1)}s`;
  const whole = Math.max(0, Math.round(length));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)}h ${two(Math.floor((whole % 3600) / 60))}m`;
  return `${Math.floor(whole / 86400)}d ${Math.floor((whole % 86400) / 3600)}h`;
}

/** @param {number} value */
function two(value) {
  return String(value).padStart(2, "0");
}

/**
 * How long since a moment, ticking by itself when the element carries it as data-since.
 * @param {number | string | null | undefined} moment
 * @returns {string}
 */
export function since(moment) {
  return duration(Math.floor(now() - seconds(moment)));
}

/**
 * "just now", "4 min ago", "3 h ago", then the day.
 * @param {number | string | null | undefined} moment
 * @returns {string}
 */
export function ago(moment) {
  const past = now() - seconds(moment);
  if (!Number.isFinite(past)) return "";
  if (past < 45) return "just now";
  if (past < 3600) return `${Math.max(1, Math.round(past / 60))} min ago`;
  if (past < 86400) return `${Math.round(past / 3600)} h ago`;
  return day(moment);
}

/** "18:12:04" of a moment, in the time of the person. @param {number | string | null | undefined} moment @returns {string} */
export function clock(moment) {
  const at = new Date(seconds(moment) * 1000);
  return Number.isNaN(at.getTime()) ? "–" : `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** "15 Nov 2026, 18:12" of a moment. @param {number | string | null | undefined} moment @returns {string} */
export function day(moment) {
  const at = new Date(seconds(moment) * 1000);
  if (Number.isNaN(at.getTime())) return "–";
  const month = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ")[at.getMonth()];
  return `${at.getDate()} ${month} ${at.getFullYear()}, ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** "$0.0042", "$0.48", as in a terminal; an unknown cost is "–". @param {number | null | undefined} usd @returns {string} */
export function money(usd) {
  if (usd === null || usd === undefined) return "–";
  if (usd > 0 && usd < 0.0001) return "less than $0.0001";
  if (usd > 0 && usd < 0.1) return `$${usd.toFixed(4)}`;
  return `$${usd.toFixed(2).replace(/\B(?=(\d{3})+(?!\d))/g, ",")}`;
}

/** "45m", "1h 30m" of an estimate, which nobody makes to the second. @param {number | null | undefined} minutes @returns {string} */
export function estimate(minutes) {
  if (!minutes) return "–";
  if (minutes < 60) return `${Math.round(minutes)}m`;
  return Math.round(minutes) % 60
    ? `${Math.floor(minutes / 60)}h ${Math.round(minutes) % 60}m`
    : `${Math.round(minutes / 60)}h`;
}

/** "950", "12.3k", "4.1M". @param {number | null | undefined} value @returns {string} */
export function count(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1000) return String(value);
  if (value < 999_950) return `${(value / 1000).toFixed(1).replace(".0", "")}k`;
  return `${(value / 1_000_000).toFixed(1).replace(".0", "")}M`;
}

/** "512 B", "12 KB", "3.4 MB". @param {number} value @returns {string} */
export function bytes(value) {
  if (value < 1024) return `${value} B`;
  if (value < 1024 * 1024) return `${Math.round(value / 1024)} KB`;
  return `${(value / 1024 / 1024).toFixed(1)} MB`;
}

/**
 * "1 task", "3 tasks".
 * @param {number} value
 * @param {string} noun
 * @param {string} [many]
 * @returns {string}
 */
export function plural(value, noun, many = `${noun}s`) {
  return `${value} ${value === 1 ? noun : many}`;
}

/** The first line of a text that says something. @param {string | null | undefined} text @returns {string} */
export function firstLine(text) {
  return (
    (text ?? "")
      .split("\n")
      .find((line) => line.trim())
      ?.trim() ?? ""
  );
}

/** A sentence as it begins a line. @param {string | null | undefined} text @returns {string} */
export function capital(text) {
  return text ? text.charAt(0).toUpperCase() + text.slice(1) : "";
}

/** Escapes a value for the address of a page or a request. @param {string | number} part @returns {string} */
export function part(part) {
  return encodeURIComponent(String(part));
}
