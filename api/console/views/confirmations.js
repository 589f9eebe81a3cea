// Pending items, each with what it rests on; another principal than the proposer confirms them.

import { all, userUrl } from "../api.js";
import { announce, button, el, facts, notice } from "../dom.js";
import { code, path, plural, scalar } from "../format.js";
import { inline, tree } from "../json_view.js";
import { loadProfiles, neededConfidence } from "../profiles.js";
import { quote } from "../sentences.js";
import { claims } from "../session.js";
import { incomplete, nameOf } from "../subject.js";
import { confirm, origin, reject, source } from "./confirming.js";
import { answers, isQuestion, sides } from "./questions.js";

const DECIDES = { user: "The user decides.", tenant: "An administrator of the tenant decides." };

export const confirmations = {
  id: "confirmations",
  title: "Confirmations",
  about: "Proposed changes below the confidence threshold. A proposal must be confirmed by someone other than its proposer.",
  needsSubject: true,
  render,
};

async function render({ subject, signal, reload }) {
  const [{ rows, complete }, profiles] = await Promise.all([
    all(`${userUrl(subject)}/pending`, "pending", { signal, exact: true }),
    loadProfiles(signal),
  ]);
  if (!rows.length) return el("p", { class: "notice" }, "Nothing to confirm.");
  rows.sort((one, other) => (scalar(one.item.proposed_at) < scalar(other.item.proposed_at) ? -1 : 1));
  const decide = async (work) => {
    const text = await work;
    if (!text) return;
    reload();
    announce(text, true);
  };
  return [
    el("p", { class: "muted" }, `${plural(rows.length, "proposal")}, the oldest first.`),
    incomplete(complete, rows.length),
    el(
      "ol",
      { class: "feed", role: "list" },
      rows.map((row) => card(subject, row, neededConfidence(profiles, row.item), { decide, signal })),
    ),
  ];
}

/** What is proposed, or the question about it. */
function claim(item) {
  const text = typeof item.text === "string" ? quote(item.text) : "(no text)";
  const asked = typeof item.question === "string" ? item.question : text;
  return [el("h2", { class: "claim" }, asked), DECIDES[item.decides] ? el("p", {}, DECIDES[item.decides]) : null];
}

function card(subject, row, needed, { decide, signal }) {
  const { item } = row;
  const also = Array.isArray(item.also_proposed_by) ? item.also_proposed_by : [];
  const own = [item.proposed_by, item.on_behalf_of, ...also].includes(claims().principal);
  return el(
    "li",
    { class: "panel proposal" },
    claim(item),
    isQuestion(item)
      ? sides(subject, item, row.existing, signal)
      : [el("p", {}, origin(item), needed ? `; ${needed} is needed` : null, "."), source(subject, item, signal)],
    own
      ? notice("warn", "You proposed this. You can withdraw it; you can confirm it only if the profile allows it.")
      : null,
    el(
      "details",
      { class: "raw" },
      el("summary", {}, "Details"),
      facts([
        ["Document", nameOf(row)],
        ["Pending at", code(row.pointer)],
        ["Rules", `${scalar(item.profile_id)} / ${scalar(item.binding_id)}`],
        ["Proposal", item.id === undefined ? null : code(scalar(item.id))],
      ]),
      el(
        "p",
        { class: "target" },
        el("span", { class: "verb" }, scalar(item.target.op)),
        " ",
        path(item.target.path),
        item.target.from === undefined ? null : [" from ", path(item.target.from)],
      ),
      "value" in item.target ? el("div", { class: "new" }, inline(item.target.value)) : null,
      el("div", { class: "tree" }, tree(item.base, "base of the proposal")),
      item.evidence
        ? el("div", { class: "tree" }, tree(item.evidence, "evidence"))
        : el("p", { class: "muted" }, "No evidence."),
    ),
    el(
      "div",
      { class: "actions" },
      isQuestion(item)
        ? answers(subject, row, row.existing, needed, { decide, signal })
        : button("Confirm …", () => decide(confirm(subject, row, needed, signal)), { kind: "primary" }),
      button(own ? "Withdraw …" : "Reject …", () => decide(reject(subject, row))),
    ),
  );
}
