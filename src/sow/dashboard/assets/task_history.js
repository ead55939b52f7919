// @ts-check
// History to a task, in order, from what is recorded about it: turns, evidence, reviews, questions, what went back.

import { duration, firstLine } from "./format.js";

/** @typedef {import("./state.js").Row} Row */
/** @typedef {{at: string, rank: number, text: string}} Happening */

/** What happens when a turn of a kind begins. @type {Record<string, string>} */
export const TURNS = { spawn: "started", resume: "resumed", recovery: "resumed after a stop", reminder: "reminded to end its turn" };

/** The order of events within one second: records have no finer times. */
const RANK = { over: 0, asked: 1, check: 2, review: 3, reviewed: 4, verdict: 5, merge: 6, back: 7, work: 8, end: 9 };

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
    ...(page.questions ?? []).flatMap(asked),
    ...ended(page),
  ];
  return all.filter((each) => each.at).sort((one, other) => one.at.localeCompare(other.at) || one.rank - other.rank);
}

/** @param {Row} session @returns {Happening[]} */
function turnsOf(session) {
  const who = `${session.role} on ${session.executor}`;
  return session.turns.flatMap((/** @type {Row} */ turn) => {
    const kind = TURNS[turn.kind] ?? turn.kind;
    const judges = turn.kind === "review";
    const begun = {
      at: turn.started_at,
      rank: judges ? RANK.review : RANK.work,
      text: `${who}: ${kind}, iteration ${turn.iteration}`,
    };
    const within = turn.ended_at === turn.started_at;
    const reason = turn.reason ? `: ${firstLine(turn.reason)}` : "";
    const text = `${who}: ${turn.outcome} after ${duration(turn.seconds)}${reason}`;
    const over = { at: turn.ended_at ?? "", rank: judges ? RANK.reviewed : within ? RANK.work : RANK.over, text };
    return [begun, over];
  });
}

/** @param {Row} piece @returns {Happening} */
function shown(piece) {
  const rank = piece.kind === "merge" ? RANK.merge : RANK.check;
  const check = { merge: "check of the merged work", final: "final check" }[piece.kind] ?? "check";
  return { at: piece.at, rank, text: `${check} ${piece.passed ? "passed" : "failed"}: ${piece.command}` };
}

/** @param {Row} review @returns {Happening} */
function judged(review) {
  return { at: review.at, rank: RANK.verdict, text: `${review.verdict} by ${review.by}, iteration ${review.iteration}` };
}

/** @param {Row} feedback @returns {Happening} */
function sentBack(feedback) {
  return { at: feedback.at, rank: RANK.back, text: `sent back by ${feedback.by}: ${firstLine(feedback.text)}` };
}

/** @param {Row} question @returns {Happening[]} */
function asked(question) {
  const answer = `answered by ${question.answered_by}: ${firstLine(question.answer)}`;
  return [
    { at: question.asked_at ?? "", rank: RANK.asked, text: `asked: ${firstLine(question.text)}` },
    { at: question.answered_at ?? "", rank: RANK.back, text: answer },
  ];
}

/** @param {Row} page @returns {Happening[]} */
function ended(page) {
  if (!page.approval) return [];
  return [{ at: page.approval.at, rank: RANK.end, text: `completed, approved by ${page.approval.by}` }];
}
