// Conflicts of replays: the base version, the proposal and the current version; retry or discard.

import { all, call, userUrl } from "../api.js";
import { announce, badge, button, el, facts, field, notice, select } from "../dom.js";
import { ask } from "../dialog.js";
import { code, count, path, plural, scalar, time } from "../format.js";
import { difference } from "../difference.js";
import { differences, inline, operations, tree } from "../json_view.js";
import { incomplete, nameOf } from "../subject.js";

const STATUSES = ["open", "resolved", "discarded"];
const TONES = { open: "warn", resolved: "good", discarded: "" };

export const conflicts = {
  id: "conflicts",
  title: "Conflicts",
  about: "Proposals of replays for documents that changed in the meantime.",
  needsSubject: true,
  render,
};

async function render({ subject, signal, options, open, load }) {
  const picker = select([...STATUSES.map((status) => [status, status]), ["", "all"]], options.status ?? "open");
  const holder = el("div", {});
  const show = () =>
    load(holder, async () => {
      const { rows, complete } = await all(`${userUrl(subject)}/conflicts`, "conflicts", {
        signal,
        exact: true,
        most: 200,
        query: { status: picker.value },
      });
      announce(`${plural(rows.length, "conflict")}.`);
      if (!rows.length)
        return el(
          "p",
          { class: "notice" },
          picker.value === "open" ? "No open conflicts." : "No conflicts with this status.",
        );
      return [
        incomplete(complete, rows.length),
        el(
          "ol",
          { class: "feed", role: "list" },
          rows.map((row) => card(subject, row, open)),
        ),
      ].filter(Boolean);
    });
  picker.addEventListener("change", show);
  queueMicrotask(show);
  return [el("div", { class: "controls" }, field("Status", picker)), holder];
}

function card(subject, conflict, open) {
  const holder = el("li", { class: "panel", tabindex: "-1" });
  holder.append(...parts(subject, conflict, open, holder));
  return holder;
}

function parts(subject, conflict, open, holder) {
  const url = `${userUrl(subject)}/conflicts/${encodeURIComponent(conflict.conflict_id)}`;
  const settle = (text, row) => {
    holder.replaceChildren(...parts(subject, row, open, holder));
    holder.focus();
    announce(text, true);
  };
  const retry = async () => {
    const answer = await ask("Retry the proposal", {
      body: [el("p", {}, "The proposal is rebased onto the newest version and applied under the profile's rules.")],
      verb: "Retry",
      act: () => call("POST", `${url}:retry`, { exact: true }),
    });
    if (answer) settle(`After the retry the conflict is ${answer.body.status}.`, answer.body);
  };
  const discard = async () => {
    const note = el("input", { type: "text", maxlength: 256 });
    const answer = await ask("Discard the proposal", {
      body: [el("p", {}, "The document keeps its current value. The conflict is closed and cannot be reopened.")],
      fields: [field("Reason (stored with the conflict)", note, { wide: true })],
      verb: "Discard",
      tone: "danger",
      act: () => call("POST", `${url}:discard`, { exact: true, ...(note.value ? { body: { note: note.value } } : {}) }),
    });
    if (answer) settle("The conflict is discarded.", answer.body);
  };
  return [
    el(
      "div",
      { class: "bar-line" },
      el("h2", {}, nameOf(conflict)),
      el("div", {}, badge(conflict.status, TONES[conflict.status] ?? ""), " ", badge(conflict.reason)),
    ),
    facts([
      ["Conflict", code(conflict.conflict_id)],
      ["Replay", button(conflict.replay_id, () => open("replays", { replay: conflict.replay_id }), { kind: "link" })],
      ["Rules", `${conflict.profile_id} / ${conflict.binding_id}`],
      ["Confidence", scalar(conflict.confidence)],
      ["Attempts", count(conflict.attempts)],
      ["Next attempt", conflict.next_attempt_at ? time(conflict.next_attempt_at) : "not scheduled"],
      ["Resolved by change", conflict.change_id ? code(conflict.change_id) : null],
    ]),
    ...versions(conflict),
    conflict.decisions?.length
      ? el(
          "ul",
          { class: "plain" },
          conflict.decisions.map((one) =>
            el("li", {}, `${one.asked} by ${one.by} `, time(one.at), one.note ? `: ${one.note}` : null),
          ),
        )
      : null,
    el(
      "details",
      { class: "raw" },
      el("summary", {}, "Evidence"),
      el("div", { class: "tree" }, tree(conflict.evidence)),
    ),
    conflict.status === "open"
      ? el("div", { class: "actions" }, button("Retry …", retry, { kind: "primary" }), button("Discard …", discard))
      : null,
  ].filter(Boolean);
}

function versions({ base, ours, theirs, diverged_at: divergedAt }) {
  if (ours === null)
    return [notice("warn", "The content cannot be decrypted: the key was destroyed or the data was altered.")];
  const parted =
    divergedAt?.path &&
    el(
      "div",
      { class: "notice warn" },
      el("strong", {}, "They differ at "),
      path(divergedAt.path),
      ` (${divergedAt.why})`,
      el(
        "div",
        { class: "pair" },
        el("div", {}, "Base: ", inline(divergedAt.base)),
        el("div", {}, "Theirs: ", inline(divergedAt.theirs)),
      ),
    );
  const version = (title, told, one) =>
    el(
      "section",
      { class: "column" },
      el("h3", {}, title),
      el("p", { class: "muted" }, told),
      one?.etag
        ? [el("p", {}, "ETag ", code(one.etag)), el("div", { class: "tree" }, tree(one.content))]
        : el("p", { class: "notice" }, "The document did not exist."),
    );
  const changed = difference(base?.content, theirs?.content).length;
  return [
    parted,
    el(
      "div",
      { class: "columns" },
      version("Base", "The version the proposal was made on.", base),
      el(
        "section",
        { class: "column" },
        el("h3", {}, "Ours"),
        el("p", { class: "muted" }, "The proposal."),
        operations(ours.ops, "Proposed operations"),
      ),
      version("Theirs", "The version at the last attempt.", theirs),
    ),
    el(
      "details",
      { class: "raw", open: changed <= 6 },
      el("summary", {}, "From base to theirs"),
      differences(base?.content, theirs?.content, "From base to theirs"),
    ),
  ].filter(Boolean);
}
