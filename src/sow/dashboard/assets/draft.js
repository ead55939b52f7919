// @ts-check
// Text that somebody has begun to write is kept until it is sent, even when the page is closed.

const PREFIX = "sow-draft:";

/** @param {string} name @returns {string} */
export function draft(name) {
  try {
    return localStorage.getItem(PREFIX + name) ?? "";
  } catch {
    return "";
  }
}

/** Keep a text, or forget it when it is empty. @param {string} name @param {string} text */
export function keepDraft(name, text) {
  try {
    if (text) localStorage.setItem(PREFIX + name, text);
    else localStorage.removeItem(PREFIX + name);
  } catch {
    // A browser that keeps nothing loses the draft with the page, and nothing else.
  }
}
