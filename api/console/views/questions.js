// A question: the open entry and what contradicts it, side by side with what each rests on, and the answers.

import { button, el } from "../dom.js";
import { isObject } from "../exact.js";
import { code, scalar } from "../format.js";
import { tree } from "../json_view.js";
import { citedMessages } from "../messages.js";
import { capital, citation, day, quote } from "../sentences.js";
import { confirm, origin } from "./confirming.js";

/** Whether a pending item contradicts an entry, so that it has several answers. */
export const isQuestion = (item) => item.contradicts !== undefined;

/** What was proposed, in the order of the choices. */
export const proposals = (item) => [item, ...(Array.isArray(item.alternatives) ? item.alternatives : [])];

const evidenceOf = ({ evidence }) => {
  if (!isObject(evidence)) return [];
  const { also, ...own } = evidence;
  return [own, ...(Array.isArray(also) ? also : [])];
};

const words = (entry) => quote(scalar(entry.text ?? entry.value ?? ""));

function rests(subject, evidence, signal) {
  if (!evidence.length) return el("p", { class: "muted" }, "No evidence.");
  return el(
    "ul",
    { class: "sources", role: "list" },
    evidence.map((one) =>
      el(
        "li",
        {},
        capital(citation(one) ?? "no conversation"),
        typeof one.at === "string" ? `, ${day(one.at)}` : null,
        one.confirmed_by ? `, confirmed by ${scalar(one.confirmed_by)}` : null,
        citation(one) ? [" ", citedMessages(subject, one, signal)] : null,
      ),
    ),
  );
}

/** Both sides with their evidence. `existing`: null if the entry is not open any more. */
export function sides(subject, item, existing, signal) {
  return el(
    "div",
    { class: "sides" },
    el(
      "div",
      { class: "side", role: "group", "aria-label": "What is there" },
      el("h3", {}, "What is there"),
      existing
        ? [
            el("p", { class: "claim" }, words(existing.entry)),
            el("p", { class: "muted" }, "At ", code(existing.pointer)),
            rests(subject, existing.evidence, signal),
            el("details", { class: "raw" }, el("summary", {}, "Entry"), el("div", { class: "tree" }, tree(existing.entry, "entry"))),
          ]
        : el("p", { class: "muted" }, "The entry is not open any more: take a proposal, or reject."),
    ),
    proposals(item).map((one, place) =>
      el(
        "div",
        { class: "side", role: "group", "aria-label": `Proposal ${place + 1}` },
        el("h3", {}, proposals(item).length > 1 ? `Proposal ${place + 1}` : "Proposal"),
        el("p", { class: "claim" }, words(one)),
        el("p", { class: "muted" }, origin(one), "."),
        rests(subject, evidenceOf(isObject(one.target?.value) ? one.target.value : one), signal),
      ),
    ),
  );
}

/** The buttons that answer a question. `decide` awaits an answer and reports it. */
export function answers(subject, row, existing, needed, { decide, signal }) {
  const offered = proposals(row.item);
  const take = (answer) => () => decide(confirm(subject, row, needed, signal, answer));
  const named = (text, place) => (offered.length > 1 ? `${text} ${place + 1} …` : `${text} …`);
  return [
    offered.map((_, place) =>
      button(named("Take proposal", place), take({ take: "proposed", choice: place + 1 }), { kind: place ? null : "primary" }),
    ),
    existing ? button("Keep what is there …", take({ take: "existing" })) : null,
    existing
      ? offered.map((_, place) => button(named("Both, with proposal", place), take({ take: "both", choice: place + 1 })))
      : null,
  ];
}
