// @ts-check
// The actions on a task, a question or a run: label, command line, input, and the body of the request.

/**
 * @typedef {object} Act
 * @property {string} name  the server's name of it
 * @property {string} word  on the button that opens it
 * @property {string} [go]  on the button that does it, when that is another word
 * @property {string} ask  the question before it is done; empty: it needs none beyond its text
 * @property {string} line  the command line that does the same
 * @property {string} [text]  the label of a text that it needs
 * @property {boolean} [optional]  whether that text may be empty
 * @property {boolean} [always]  whether the text may answer later questions
 * @property {string} [look]  classes of the button that opens it
 * @property {string} [goLook]  classes of the button that does it
 * @property {(text: string, always: boolean) => object} body
 * @property {string} done  the message afterwards
 */

/** A value as one word of a shell. @param {string | number} word @returns {string} */
function quoted(word) {
  return /^[\w.@%+:,/-]+$/.test(String(word)) ? String(word) : `'${String(word).replaceAll("'", "'\\''")}'`;
}

/** @param {string} id @param {readonly string[]} waive @returns {Record<string, Act>} */
function ofTask(id, waive) {
  const task = quoted(id);
  const waived = waive.map((command) => ` --waive ${quoted(command)}`).join("");
  const without = waive.length ? ` These checks fail and will not run again: ${waive.join("; ")}.` : "";
  const isAgent = !/^\d+$/.test(id);
  const again = isAgent
    ? `sow workflow set status working --agent ${task}`
    : `sow task set ${task} status in_progress`;
  return {
    approve: {
      name: "approve",
      word: "Accept",
      look: "primary",
      ask: `Accept the work on ${id} as it is?${without}`,
      text: "Why",
      optional: true,
      line: `sow approve ${task}${waived} --reason "…"`,
      body: (text) => ({ task: id, reason: text, waive }),
      done: `The work on ${id} is accepted.`,
    },
    "send-back": {
      name: "send-back",
      word: "Send back",
      ask: "",
      text: "What to change",
      line: `sow feedback add ${task} "…" && sow task set ${task} status in_progress`,
      body: (text) => ({ task: id, text }),
      done: `${id} goes back to its worker with your feedback.`,
    },
    retry: {
      name: "retry",
      word: "Try again",
      look: "primary",
      ask: `Start another iteration of ${id}?`,
      line: again,
      body: () => ({ task: id }),
      done: `${id} gets another iteration.`,
    },
    abandon: {
      name: "abandon",
      word: "Abandon task",
      look: "quiet",
      goLook: "danger",
      ask: `Abandon ${id}? Its work is kept, with your reason.`,
      text: "Why",
      line: `sow task abandon ${task} --reason "…"`,
      body: (text) => ({ task: id, reason: text }),
      done: `${id} is abandoned.`,
    },
  };
}

/**
 * The answer to a question by its number (or its task's id, when it has none).
 * @param {string | number} question
 * @param {boolean} always whether it may be saved
 * @returns {Act}
 */
export function answerTo(question, always) {
  return {
    name: "answer",
    word: "Answer",
    go: "Send the answer",
    look: "primary",
    ask: "",
    text: "Your answer",
    always,
    line: `sow answer ${quoted(question)} "…"`,
    body: (text, stands) => ({ question: String(question), text, ...(stands ? { always: true } : {}) }),
    done: "Answered.",
  };
}

/** @param {string | number} question @param {string} phase @param {boolean} yes @returns {Act} */
export function phaseAct(question, phase, yes) {
  const text = yes ? "yes" : "no";
  return {
    name: "answer",
    word: yes ? "Yes, add it" : "No",
    look: yes ? "primary" : "",
    ask: "",
    line: `sow answer ${quoted(question)} ${text}`,
    body: () => ({ question: String(question), text }),
    done: `Phase ${phase} is ${yes ? "approved" : "rejected"}.`,
  };
}

/** @returns {Act} */
export function approveWorkflow() {
  return {
    name: "approve-workflow",
    word: "Approve the design",
    look: "primary",
    ask: "Approve this design, so that the workflow can run?",
    line: "sow workflow approve",
    body: () => ({}),
    done: "The design is approved.",
  };
}

/** @param {string} run @returns {Act} */
export function stopRun(run) {
  return {
    name: "stop",
    word: "Stop the run",
    look: "quiet",
    goLook: "danger",
    ask: "Stop the run? Agents end their turn. The same command continues the run later.",
    line: "sow runs stop",
    body: () => ({ run }),
    done: "The run is stopping.",
  };
}

/**
 * Those of a task's acts that the server says make sense now.
 * @param {string} id
 * @param {readonly string[]} names
 * @param {{number?: string | number | null} | null} [question]
 * @param {boolean} [stands] whether an answer may be saved
 * @param {readonly string[]} [waive] the failed checks that an acceptance waives
 * @returns {Act[]}
 */
export function taskActs(id, names, question, stands = true, waive = []) {
  const known = ofTask(id, waive);
  const acts = names.map((name) => (name === "answer" ? answerTo(question?.number ?? id, stands) : known[name]));
  return acts.filter(Boolean);
}

/**
 * Whether an answer may be saved: a worker's question comes from a note, and what the run itself asks
 * (a review that stays RED, a check that fails) is decided anew each time.
 * @param {import("./state.js").Row | null | undefined} row the row of the task that asks
 * @returns {boolean}
 */
export function mayStand(row) {
  return !row || row.open_notes > 0;
}
