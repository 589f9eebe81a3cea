// What waits for somebody else than its proposer: looked at, tried, approved or rejected by an ordinary PATCH.

import { call, documentUrl, idempotencyKeys, now } from "../api.js";
import { announce, badge, button, checkbox, el, facts, field, notice, put, select } from "../dom.js";
import { ask, refusal } from "../dialog.js";
import { code, path, plural, scalar, time } from "../format.js";
import { differences, inline, tree } from "../json_view.js";
import { neededConfidence, verifiedValue } from "../profiles.js";
import { claims } from "../session.js";
import { loadDocuments, nameOf } from "../subject.js";

const REASONS = { live_update: "Memory.Write", admin_migration: "Memory.Admin" };

export const confirmations = {
  id: "confirmations",
  title: "Confirmations",
  about: "Proposals that were not sure enough. Whoever proposed one cannot approve it.",
  needsSubject: true,
  render,
};

async function render({ subject, signal, reload }) {
  const { documents } = await loadDocuments(subject, signal);
  const waiting = documents.flatMap((entry) => entry.pending.map((proposal) => ({ entry, ...proposal })));
  if (!waiting.length) return el("p", { class: "notice" }, "Nothing waits for a confirmation.");
  waiting.sort((one, other) => (scalar(one.item.proposed_at) < scalar(other.item.proposed_at) ? -1 : 1));
  const done = (text) => {
    reload();
    announce(text, true);
  };
  return [
    el("p", { class: "muted" }, `${plural(waiting.length, "proposal")}, the oldest first.`),
    el(
      "ol",
      { class: "feed", role: "list" },
      waiting.map((proposal) => card(subject, proposal, done)),
    ),
  ];
}

function card(subject, proposal, done) {
  const { entry, item, profile, binding, section } = proposal;
  const own = item.proposed_by === claims().principal;
  const needed = neededConfidence(proposal);
  return el(
    "li",
    { class: "panel proposal" },
    el("h2", {}, scalar(item.text ?? "A proposal without words")),
    el(
      "p",
      { class: "by" },
      "Proposed by ",
      el("strong", {}, scalar(item.proposed_by)),
      " ",
      time(item.proposed_at),
      " ",
      badge(item.confidence === null ? "no confidence" : `confidence ${scalar(item.confidence)}`, "warn"),
      needed ? ` needs ${needed}` : null,
    ),
    own ? notice("warn", "You proposed it: the API will refuse your approval, and you can only withdraw it.") : null,
    facts([
      ["Document", nameOf(entry.listed)],
      ["Section", code(section)],
      ["Rules", `${profile.profile_id} / ${binding.binding_id}`],
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
      el("summary", {}, "Evidence"),
      item.evidence
        ? el("div", { class: "tree" }, tree(item.evidence))
        : el("p", { class: "muted" }, "None was given."),
    ),
    el(
      "div",
      { class: "actions" },
      button("Approve …", () => approve(subject, proposal, done), { kind: "primary" }),
      button(own ? "Withdraw …" : "Reject …", () => reject(subject, proposal, done)),
    ),
  );
}

/** Out of the waiting section; the test holds it to this very proposal, as If-Match does. */
function takeOut({ item, index, section }) {
  const place = `/content${section}/${index}`;
  const test = item.id === undefined ? [] : [{ op: "test", path: `${place}/id`, value: item.id }];
  return [...test, { op: "remove", path: place }];
}

function reasonField() {
  const { roles } = claims();
  const first =
    roles.includes(REASONS.live_update) || !roles.includes(REASONS.admin_migration) ? "live_update" : "admin_migration";
  const control = select(
    Object.keys(REASONS).map((reason) => [reason, reason]),
    first,
  );
  const hint = Object.entries(REASONS).map(([reason, role]) => `${reason} takes ${role}`);
  return { control, node: field("Recorded as", control, { hint: `${hint.join(", ")}.` }) };
}

function sender(subject, { entry, profile, binding }) {
  const keyOf = idempotencyKeys();
  return (members, dryRun) => {
    const body = { profile_id: profile.profile_id, binding_id: binding.binding_id, ...members };
    const headers = { "If-Match": entry.etag, "Idempotency-Key": keyOf([body, dryRun]) };
    return call("PATCH", documentUrl(subject, entry.listed.namespace, entry.listed.path), {
      body,
      headers,
      exact: true,
      query: { dry_run: dryRun || null },
    });
  };
}

async function approve(subject, proposal, done) {
  const { entry, item } = proposal;
  const given = item.evidence && typeof item.evidence === "object" ? item.evidence : {};
  const messages = Array.isArray(given.message_ids) ? given.message_ids.map(scalar).join(", ") : "";
  const confidence = el("input", { type: "number", min: 0, max: 1, step: "any", value: 1, required: true });
  const conversation = el("input", { type: "text", maxlength: 256, value: scalar(given.conversation_id ?? "") });
  const messageIds = el("input", { type: "text", maxlength: 2000, value: messages });
  const reference = el("input", { type: "text", maxlength: 256 });
  const { box, node } = checkbox("Write it as verified now, with this confidence and evidence", { checked: true });
  const reason = reasonField();
  const preview = el("div", { class: "preview", "aria-live": "polite" });
  const send = sender(subject, proposal);
  const at = new Date(now()).toISOString();
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
    const sure = { confidence: Number(confidence.value), ...(Object.keys(evidence).length ? { evidence } : {}) };
    const target = { ...item.target };
    if (box.checked && "value" in target)
      target.value = verifiedValue(proposal, { confidence: sure.confidence, evidence, at });
    return { ops: [...takeOut(proposal), target], reason: reason.control.value, ...sure };
  };
  const look = async () => {
    try {
      const { body } = await send(request(), true);
      put(
        preview,
        body.redirected?.length ? notice("warn", "With this confidence it would wait again.") : null,
        differences(entry.document.content, body.document.content, "What would change"),
      );
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
        field("How sure it is, 0 to 1", confidence, {
          hint: neededConfidence(proposal) ? `At least ${neededConfidence(proposal)}, or it waits again.` : null,
        }),
        reason.node,
        field("Conversation it relies on", conversation),
        field("Messages, by comma", messageIds),
        field("Your reference", reference, { hint: "A case, a call; kept in the evidence." }),
      ),
      node,
      el("h3", {}, "What would change"),
      preview,
    ],
    verb: "Approve",
    more: [button("Try again without writing", look)],
    act: () => send(request(), false),
  });
  look();
  const answer = await shown;
  if (answer)
    done(
      answer.body.redirected?.length
        ? "It waits again: the confidence was too low."
        : `Approved: change ${answer.body.sequence} of ${nameOf(entry.listed)}.`,
    );
}

async function reject(subject, proposal, done) {
  const { entry, item } = proposal;
  const reason = reasonField();
  const send = sender(subject, proposal);
  const answer = await ask("Reject the proposal", {
    body: [
      el("p", { class: "quoted" }, scalar(item.text ?? "")),
      el("p", {}, "It is taken out, and nothing is written in its place. The history keeps it."),
    ],
    fields: [reason.node],
    verb: "Reject",
    tone: "danger",
    act: () => send({ ops: takeOut(proposal), reason: reason.control.value }, false),
  });
  if (answer) done(`Rejected: change ${answer.body.sequence} of ${nameOf(entry.listed)}.`);
}
