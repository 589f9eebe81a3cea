// Pending items: preview, confirm and reject them. The proposer cannot confirm.

import { all, call, documentUrl, get, idempotencyKeys, userUrl } from "../api.js";
import { announce, badge, button, el, facts, field, notice, put } from "../dom.js";
import { ask, refusal } from "../dialog.js";
import { code, path, plural, scalar, time } from "../format.js";
import { differences, inline, tree } from "../json_view.js";
import { loadProfiles, neededConfidence } from "../profiles.js";
import { claims } from "../session.js";
import { incomplete, nameOf } from "../subject.js";

export const confirmations = {
  id: "confirmations",
  title: "Confirmations",
  about: "Proposed changes below the confidence threshold. Neither the proposer nor the principal that submitted the conversation can approve one.",
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
  const done = (text) => {
    reload();
    announce(text, true);
  };
  return [
    el("p", { class: "muted" }, `${plural(rows.length, "proposal")}, the oldest first.`),
    incomplete(complete, rows.length),
    el(
      "ol",
      { class: "feed", role: "list" },
      rows.map((row) => card(subject, row, neededConfidence(profiles, row.item), done)),
    ),
  ];
}

function card(subject, row, needed, done) {
  const { item } = row;
  const own = [item.proposed_by, item.on_behalf_of].includes(claims().principal);
  return el(
    "li",
    { class: "panel proposal" },
    el("h2", {}, scalar(item.text ?? "(no text)")),
    el(
      "p",
      { class: "by" },
      "Proposed by ",
      el("strong", {}, scalar(item.proposed_by)),
      item.on_behalf_of === null ? null : [" on behalf of ", el("strong", {}, scalar(item.on_behalf_of))],
      " ",
      time(item.proposed_at),
      " ",
      badge(item.confidence === null ? "no confidence" : `confidence ${scalar(item.confidence)}`, "warn"),
      needed ? ` needs ${needed}` : null,
    ),
    own ? notice("warn", "You proposed this item. You can withdraw it; you can approve it only if the profile allows it.") : null,
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
    el(
      "details",
      { class: "raw" },
      el("summary", {}, "Base of the proposal"),
      el("div", { class: "tree" }, tree(item.base)),
    ),
    el(
      "details",
      { class: "raw" },
      el("summary", {}, "Evidence"),
      item.evidence
        ? el("div", { class: "tree" }, tree(item.evidence))
        : el("p", { class: "muted" }, "No evidence."),
    ),
    el(
      "div",
      { class: "actions" },
      button("Approve …", () => approve(subject, row, needed, done), { kind: "primary" }),
      button(own ? "Withdraw …" : "Reject …", () => reject(subject, row, done)),
    ),
  );
}

/** Send a decision on the current version: the API finds the target, or refuses. */
function sender(subject, { namespace, path: documentPath, item }, verb) {
  const keyOf = idempotencyKeys();
  return (members, dryRun) => {
    const body = { namespace, path: documentPath, ...members };
    return call("POST", `${userUrl(subject)}/pending/${encodeURIComponent(scalar(item.id))}:${verb}`, {
      body,
      headers: { "Idempotency-Key": keyOf([body, dryRun]) },
      exact: true,
      query: { dry_run: dryRun || null },
    });
  };
}

async function approve(subject, row, needed, done) {
  const { item } = row;
  const given = item.evidence && typeof item.evidence === "object" ? item.evidence : {};
  const messages = Array.isArray(given.message_ids) ? given.message_ids.map(scalar).join(", ") : "";
  const confidence = el("input", { type: "number", min: 0, max: 1, step: "any", value: 1, required: true });
  const conversation = el("input", { type: "text", maxlength: 256, value: scalar(given.conversation_id ?? "") });
  const messageIds = el("input", { type: "text", maxlength: 2000, value: messages });
  const reference = el("input", { type: "text", maxlength: 256 });
  const preview = el("div", { class: "preview", "aria-live": "polite" });
  const send = sender(subject, row, "confirm");
  const request = () => {
    const ids = messageIds.value
      .split(",")
      .map((id) => id.trim())
      .filter(Boolean);
    const own = Object.entries({
      conversation_id: conversation.value.trim(),
      message_ids: ids,
      approval_reference: reference.value.trim(),
    });
    const evidence = { ...given, ...Object.fromEntries(own.filter(([, value]) => value.length)) };
    return { confidence: Number(confidence.value), ...(Object.keys(evidence).length ? { evidence } : {}) };
  };
  const look = async () => {
    try {
      const before = await get(documentUrl(subject, row.namespace, row.path), { exact: true });
      const { body } = await send(request(), true);
      put(preview, differences(before.document.content, body.document.content, "Changes"));
    } catch (error) {
      put(preview, refusal(error));
    }
  };
  const shown = ask("Approve the proposal", {
    body: [el("p", { class: "quoted" }, scalar(item.text ?? ""))],
    fields: [
      el(
        "div",
        { class: "controls" },
        field("Confidence (0 to 1)", confidence, { hint: needed ? `At least ${needed}.` : null }),
        field("Conversation id", conversation),
        field("Message ids (comma-separated)", messageIds),
        field("Your reference", reference, { hint: "A case or a call; stored in the evidence." }),
      ),
      el("h3", {}, "Changes"),
      preview,
    ],
    verb: "Approve",
    more: [button("Preview", look)],
    act: () => send(request(), false),
  });
  look();
  const answer = await shown;
  if (answer) done(`Approved: change ${answer.body.sequence} of ${nameOf(row)}.`);
}

async function reject(subject, row, done) {
  const { item } = row;
  const note = el("input", { type: "text", maxlength: 256 });
  const send = sender(subject, row, "reject");
  const answer = await ask("Reject the proposal", {
    body: [
      el("p", { class: "quoted" }, scalar(item.text ?? "")),
      el("p", {}, "The item is removed and nothing else changes. The history keeps it."),
    ],
    fields: [field("Why", note)],
    verb: "Reject",
    tone: "danger",
    act: () => send(note.value.trim() ? { note: note.value.trim() } : {}, false),
  });
  if (answer) done(`Rejected: change ${answer.body.sequence} of ${nameOf(row)}.`);
}
