// The dialogs that decide on a pending item: confirm it after its source was read, or reject it.

import { call, documentUrl, get, idempotencyKeys, userUrl } from "../api.js";
import { aim } from "../changes.js";
import { button, el, field, put, uniqueId } from "../dom.js";
import { ask, refusal } from "../dialog.js";
import { scalar } from "../format.js";
import { isObject } from "../exact.js";
import { differences } from "../json_view.js";
import { citedMessages, READING_IS_RECORDED } from "../messages.js";
import { capital, citation, day, quote } from "../sentences.js";
import { patched } from "../patch.js";
import { nameOf } from "../subject.js";

const SAID = 1;
const FOLLOWS = 0.8;

/** What is proposed, by whom, when and how sure; a fact of the card and the dialog. */
export function origin(item) {
  return [
    `${aim(item)}, proposed by `,
    el("strong", {}, scalar(item.proposed_by)),
    item.on_behalf_of ? [" for ", el("strong", {}, scalar(item.on_behalf_of))] : null,
    typeof item.proposed_at === "string" ? ` on ${day(item.proposed_at)}` : null,
    item.confidence === null ? " without a confidence" : ` with confidence ${scalar(item.confidence)}`,
  ];
}

/** What was said: the citation, and a button that shows the cited messages. `hint` says more about it. */
export function source(subject, item, signal, hint = null) {
  const cited = citation(item.evidence);
  if (!cited) return el("p", { class: "muted" }, "The proposal names no conversation.");
  return el(
    "div",
    { class: "source" },
    el("p", {}, `${capital(cited)}. `, hint ? el("span", { class: "hint" }, hint) : null),
    citedMessages(subject, item.evidence, signal),
  );
}

/** Send a decision on the current version: the API finds the target, or refuses. */
function sender(subject, { namespace, path, item }, verb) {
  const keyOf = idempotencyKeys();
  return (members, dryRun) => {
    const body = { namespace, path, ...members };
    return call("POST", `${userUrl(subject)}/pending/${encodeURIComponent(scalar(item.id))}:${verb}`, {
      body,
      headers: { "Idempotency-Key": keyOf([body, dryRun]) },
      exact: true,
      query: { dry_run: dryRun || null },
    });
  };
}

/** The reviewer's own confidence: nothing is chosen at first. */
function confidenceChoice(needed, changed) {
  const name = uniqueId("confidence");
  const number = el("input", { type: "number", min: 0, max: 1, step: "any", disabled: true, "aria-label": "Confidence (0 to 1)" });
  const choice = (value, label) => {
    const radio = el("input", { type: "radio", name, value, required: true, id: uniqueId("choice") });
    radio.addEventListener("change", () => {
      number.disabled = value !== "own";
      number.required = value === "own";
      if (value === "own") number.focus();
      else changed();
    });
    return { radio, node: el("div", { class: "check" }, radio, el("label", { for: radio.id }, label)) };
  };
  const short = (value) => (value < needed ? `${value}, below the ${needed} that is needed` : value);
  const choices = [
    choice(SAID, `The person said exactly this (${SAID})`),
    choice(FOLLOWS, `It follows from what the person said (${short(FOLLOWS)})`),
    choice("own", "Another number from 0 to 1:"),
  ];
  choices.at(-1).node.append(number);
  number.addEventListener("change", () => changed());
  const value = () => {
    const { radio } = choices.find((one) => one.radio.checked) ?? { radio: null };
    const text = radio?.value === "own" ? number.value : radio?.value;
    return text ? Number(text) : null;
  };
  const node = el(
    "fieldset",
    { class: "choices" },
    el("legend", {}, "How sure are you?", needed ? el("span", { class: "hint" }, ` At least ${needed} is needed.`) : null),
    choices.map((one) => one.node),
  );
  return { node, value };
}

/** The evidence of the confirmation, prefilled from the proposal's. */
function evidenceFields(item) {
  const given = isObject(item.evidence) ? item.evidence : {};
  const ids = Array.isArray(given.message_ids) ? given.message_ids.map(scalar).join(", ") : "";
  const conversation = el("input", { type: "text", maxlength: 256, value: scalar(given.conversation_id ?? "") });
  const messageIds = el("input", { type: "text", maxlength: 2000, value: ids });
  const reference = el("input", { type: "text", maxlength: 256 });
  const value = () => {
    const own = {
      conversation_id: conversation.value.trim(),
      message_ids: messageIds.value.split(",").map((id) => id.trim()).filter(Boolean),
      approval_reference: reference.value.trim(),
    };
    return { ...given, ...Object.fromEntries(Object.entries(own).filter(([, one]) => one.length)) };
  };
  const node = [
    field("Your reference", reference, { hint: "A case or a call; stored in the evidence." }),
    el(
      "details",
      { class: "raw", open: !given.conversation_id },
      el("summary", {}, "Evidence of the confirmation"),
      el(
        "div",
        { class: "controls" },
        field("Conversation id", conversation),
        field("Message ids (comma-separated)", messageIds),
      ),
    ),
  ];
  return { node, value };
}

/** The content with an empty pending section: what a confirmation changes there is said in words. */
const withoutPending = ({ document: { content } }, { pointer }) =>
  patched({ content }, [{ op: "replace", path: pointer.replace(/\/\d+$/, ""), value: [] }]).content;

/** What each answer to a question is called in the dialog. */
const ANSWERS = {
  proposed: { title: "Confirm this proposal", verb: "Confirm", leaves: "The proposal leaves the list of proposals." },
  existing: { title: "Keep what is there", verb: "Keep", leaves: "The proposal is dropped. The entry keeps your answer." },
  both: { title: "Keep both", verb: "Keep both", leaves: "The proposal is written beside the entry." },
};

/** Confirm a pending item; `answer` says what a question takes. Returns the text of what was done, undefined if cancelled. */
export async function confirm(subject, row, needed, signal, answer = {}) {
  const { item } = row;
  const proposal = answer.choice > 1 ? item.alternatives[answer.choice - 2] : item;
  const { title, verb, leaves } = ANSWERS[answer.take ?? "proposed"];
  const apart = el("input", { type: "text", maxlength: 300 });
  const send = sender(subject, row, "confirm");
  const preview = el("div", { class: "preview", "aria-live": "polite" });
  let asked = 0;
  const look = async () => {
    const number = ++asked;
    const shown = await changesOf().catch(refusal);
    if (number === asked) put(preview, ...[shown].flat());
  };
  const confidence = confidenceChoice(needed, look);
  apart.addEventListener("change", look);
  const evidence = evidenceFields(proposal);
  const request = () => {
    const members = evidence.value();
    const beside = answer.take === "both" && apart.value.trim() ? { apart: apart.value.trim() } : {};
    return { ...answer, ...beside, confidence: confidence.value(), ...(Object.keys(members).length ? { evidence: members } : {}) };
  };
  const changesOf = async () => {
    if (confidence.value() === null) return el("p", { class: "muted" }, "Choose a confidence to see the changes.");
    const before = await get(documentUrl(subject, row.namespace, row.path), { exact: true });
    const { body } = await send(request(), true);
    return [
      differences(withoutPending(before, row), withoutPending(body, row), "Changes"),
      el("p", { class: "muted" }, leaves),
    ];
  };
  look();
  const done = await ask(title, {
    body: [
      typeof item.question === "string" ? el("p", {}, item.question) : null,
      el("p", { class: "claim" }, quote(scalar(proposal.text ?? ""))),
      el("p", { class: "muted" }, origin(proposal), "."),
      source(subject, proposal, signal, READING_IS_RECORDED),
    ],
    fields: [
      answer.take === "both" ? field("What sets the proposal apart", apart, { hint: "Empty: its value." }) : null,
      confidence.node,
      ...evidence.node,
      el("h3", {}, "Changes"),
      preview,
    ],
    verb,
    more: [button("Preview", look)],
    act: () => send(request(), false),
  });
  return done && `Confirmed: change ${done.body.sequence} of ${nameOf(row)}.`;
}

/** Reject a pending item. Returns the text of what was done, undefined if cancelled. */
export async function reject(subject, row) {
  const note = el("input", { type: "text", maxlength: 256 });
  const send = sender(subject, row, "reject");
  const answer = await ask("Reject this proposal", {
    body: [
      el("p", { class: "claim" }, quote(scalar(row.item.text ?? ""))),
      el("p", {}, "The proposal is removed and nothing else changes. The history keeps it."),
    ],
    fields: [field("Why", note)],
    verb: "Reject",
    tone: "danger",
    act: () => send(note.value.trim() ? { note: note.value.trim() } : {}, false),
  });
  return answer && `Rejected: change ${answer.body.sequence} of ${nameOf(row)}.`;
}
