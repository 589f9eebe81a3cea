// The questions that the tenant decides, across its users: both sides with their evidence, and the answers.

import { all, tenantUrl } from "../api.js";
import { announce, button, el, notice } from "../dom.js";
import { plural } from "../format.js";
import { loadProfiles, neededConfidence } from "../profiles.js";
import { incomplete, nameOf } from "../subject.js";
import { tenantOf } from "../subject_bar.js";
import { reject } from "./confirming.js";
import { answers, sides } from "./questions.js";

const MOST = 200;

export const decisions = {
  id: "decisions",
  title: "Decisions",
  about: "Questions that an administrator of the tenant decides: two statements contradict each other.",
  needsSubject: false,
  render,
};

async function render({ subject, signal, open, reload }) {
  const tenant = tenantOf(subject);
  if (!tenant) return notice("", "Enter a tenant to see what it decides.");
  const query = { decides: "tenant" };
  const [{ rows, complete }, profiles] = await Promise.all([
    all(`${tenantUrl(tenant)}/pending`, "pending", { signal, exact: true, most: MOST, query }),
    loadProfiles(signal),
  ]);
  if (!rows.length) return el("p", { class: "notice" }, "Nothing to decide.");
  const decide = async (work) => {
    const text = await work;
    if (!text) return;
    reload();
    announce(text, true);
  };
  return [
    el("p", { class: "muted" }, `${plural(rows.length, "question")}, by user.`),
    incomplete(complete, rows.length),
    el(
      "ol",
      { class: "feed", role: "list" },
      rows.map((row) => card({ tenant, user: row.user_id }, row, neededConfidence(profiles, row.item), { decide, open, signal })),
    ),
  ];
}

function card(subject, row, needed, { decide, open, signal }) {
  return el(
    "li",
    { class: "panel proposal" },
    el("h2", { class: "claim" }, row.item.question ?? "Which is right?"),
    el("p", {}, button(row.user_id, () => open("confirmations", subject), { kind: "link" }), `, ${nameOf(row)}`),
    sides(subject, row.item, row.existing, signal),
    el(
      "div",
      { class: "actions" },
      answers(subject, row, row.existing, needed, { decide, signal }),
      button("Reject …", () => decide(reject(subject, row))),
    ),
  );
}
