// @ts-check
// History to a task, in order, from what is recorded about it: turns, evidence, reviews, questions, what went back.

import { duration, firstLine } from "./format.js";

/** @typedef {import("./state.js").Row} Row */
/** @typedef {{at: string, iteration: number, rank: number, text: string}} Happening */

/** What happens when a turn of a kind begins. @type {Record<string, string>} */
export const TURNS = { spawn: "started", resume: "resumed", recovery: "resumed after a stop", reminder: "reminded to end its turn" };

/** The order of events of one iteration within one second: records have no finer times. */
const RANK = { work: 0, asked: 1, check: 2, review: 3, verdict: 4, merge: 5, back: 6, end: 7 };

/**
 * @param {Row} page one task's page
 * @returns {Happening[]} oldest first
 */
export function historyOf(page) {
  const all = [
    ...(page.sessions ?? []).flatMap(turnsOf),
    ...(page.evidence ?? []).map(shown),
    ...(page.reviews ?? []).map(judged),
    ...(page.feedback ?? []).map(sentBack),
    ...(page.questions ?? []).flatMap((/** @type {Row} */ question) => asked(question, page)),
    ...ended(page),
  ];
  return all
    .filter((each) => each.at)
    .sort((one, other) => one.at.localeCompare(other.at) || one.iteration - other.iteration || one.rank - other.rank);
}

/** @param {Row} session @returns {Happening[]} */
function turnsOf(session) {
  const who = `${session.role} on ${session.executor}`;
  return session.turns.flatMap((/** @type {Row} */ turn) => {
    const kind = TURNS[turn.kind] ?? turn.kind;
    const { iteration } = turn;
    const rank = turn.kind === "review" ? RANK.review : RANK.work;
    const begun = { at: turn.started_at, iteration, rank, text: `${who}: ${kind}, iteration ${iteration}` };
    const reason = turn.reason ? `: ${firstLine(turn.reason)}` : "";
    const text = `${who}: ${turn.outcome} after ${duration(turn.seconds)}${reason}`;
    return [begun, { at: turn.ended_at ?? "", iteration, rank, text }];
  });
}

/** @param {Row} piece @returns {Happening} */
function shown(piece) {
  const rank = piece.kind === "merge" ? RANK.merge : RANK.check;
  const check = { merge: "check of the merged work", final: "final check" }[piece.kind] ?? "check";
  return { at: piece.at, iteration: piece.iteration, rank, text: `${check} ${piece.passed ? "passed" : "failed"}: ${piece.command}` };
}

/** @param {Row} review @returns {Happening} */
function judged(review) {
  const text = `${review.verdict} by ${review.by}, iteration ${review.iteration}`;
  return { at: review.at, iteration: review.iteration, rank: RANK.verdict, text };
}

/** @param {Row} feedback @returns {Happening} */
function sentBack(feedback) {
  const text = `sent back by ${feedback.by}: ${firstLine(feedback.text)}`;
  return { at: feedback.at, iteration: Number(feedback.iteration), rank: RANK.back, text };
}

/** @param {Row} question @param {Row} page @returns {Happening[]} */
function asked(question, page) {
  const turns = (page.sessions ?? []).flatMap((/** @type {Row} */ session) => session.turns);
  const before = turns.filter((/** @type {Row} */ turn) => turn.started_at <= (question.asked_at ?? ""));
  const iteration = Math.max(0, ...before.map((/** @type {Row} */ turn) => turn.iteration));
  const answer = `answered by ${question.answered_by}: ${firstLine(question.answer)}`;
  return [
    { at: question.asked_at ?? "", iteration, rank: RANK.asked, text: `asked: ${firstLine(question.text)}` },
    { at: question.answered_at ?? "", iteration, rank: RANK.back, text: answer },
  ];
}

/** @param {Row} page @returns {Happening[]} */
function ended(page) {
  if (!page.approval) return [];
  const text = `completed, approved by ${page.approval.by}`;
  return [{ at: page.approval.at, iteration: page.approval.iteration ?? Infinity, rank: RANK.end, text }];
}
