// Replays of conversations, each with the outcomes of its proposals.

import { all, call, get, userUrl } from "../api.js";
import { announce, badge, button, el, facts, field, notice, select } from "../dom.js";
import { refusal } from "../dialog.js";
import { code, count, plural, time } from "../format.js";
import { summary } from "../outcomes.js";
import { takeBack } from "../take_back.js";
import { incomplete } from "../subject.js";
import { extractionLog } from "./extraction.js";

const MOST = 500;
const STATUSES = ["queued", "running", "succeeded", "partial", "failed", "retracted"];
const FINISHED = new Set(["succeeded", "partial", "failed", "retracted"]);
const TONES = { succeeded: "good", partial: "warn", failed: "bad" };

export const replays = {
  id: "replays",
  title: "Replays",
  about: "What was extracted from each conversation.",
  needsSubject: true,
  render,
};

async function render({ subject, signal, options, open, load }) {
  const { rows, complete } = await all(`${userUrl(subject)}/replays`, "replays", { signal, most: MOST });
  rows.sort((one, other) => (one.created_at < other.created_at ? 1 : -1));
  const picker = select(
    [
      ["", "all"],
      ...STATUSES.map((status) => [status, `${status} (${rows.filter((row) => row.status === status).length})`]),
    ],
    "",
  );
  const id = el("input", { type: "text", autocomplete: "off", spellcheck: "false", value: options.replay ?? "" });
  const holder = el("ol", { class: "feed", role: "list" });
  const told = el("p", { class: "muted" });
  const show = () => {
    const wanted = rows.filter(
      (row) =>
        (!picker.value || row.status === picker.value) && (!id.value.trim() || row.replay_id.includes(id.value.trim())),
    );
    holder.replaceChildren(...wanted.map((row) => card(subject, row, { signal, open, load })));
    told.textContent = wanted.length
      ? `${plural(wanted.length, "replay")}, the newest first.`
      : "No matching replays.";
    announce(told.textContent);
  };
  picker.addEventListener("change", show);
  id.addEventListener("input", show);
  show();
  return [
    incomplete(complete, rows.length),
    el("div", { class: "controls" }, field("Status", picker), field("Id contains", id)),
    told,
    holder,
  ].filter(Boolean);
}

function card(subject, replay, context) {
  const holder = el("li", { class: "panel", tabindex: "-1" });
  holder.append(...parts(subject, replay, context, holder));
  return holder;
}

function parts(subject, replay, context, holder) {
  const url = `${userUrl(subject)}/replays/${encodeURIComponent(replay.replay_id)}`;
  const trouble = el("div", {});
  const settle = (row, text) => {
    holder.replaceChildren(...parts(subject, row, context, holder));
    holder.focus();
    announce(text, true);
  };
  const attempt = (work) => async () => {
    try {
      await work();
    } catch (error) {
      trouble.replaceChildren(refusal(error));
    }
  };
  const refresh = attempt(async () => settle(await get(url), "Replay refreshed."));
  const retry = attempt(async () => settle((await call("POST", `${url}:retry`)).body, "Replay queued."));
  return [
    el(
      "div",
      { class: "bar-line" },
      el("h2", {}, "Conversation ", code(replay.conversation_id)),
      badge(replay.status, TONES[replay.status] ?? "info"),
    ),
    el("p", {}, summary(replay)),
    el("p", { class: "by" }, "Submitted by ", el("strong", {}, replay.service_id), " ", time(replay.created_at)),
    replay.reason ? notice("warn", replay.reason) : null,
    FINISHED.has(replay.status) ? log(subject, replay, context) : null,
    record(replay),
    trouble,
    el(
      "div",
      { class: "actions" },
      button("Refresh", refresh),
      replay.status === "failed" ? button("Retry", retry, { kind: "primary" }) : null,
      takeBack({ kind: "conversation", conversation_id: replay.conversation_id }, context.open),
    ),
  ].filter(Boolean);
}

/** The log, loaded when it is opened. */
function log(subject, replay, { signal, open, load }) {
  const place = el("div", { class: "stack" });
  const node = el("details", { class: "raw" }, el("summary", {}, "Log of the extraction"), place);
  node.addEventListener("toggle", () => {
    if (node.open && !place.hasChildNodes()) load(place, () => extractionLog(subject, replay, { signal, open }));
  });
  return node;
}

const record = (replay) =>
  el(
    "details",
    { class: "raw" },
    el("summary", {}, "Record"),
    facts([
      ["Replay", code(replay.replay_id)],
      ["Snapshot", code(replay.snapshot_id)],
      ["Profile", replay.profile_id],
      ["Last step", time(replay.updated_at)],
      ["Starts", count(replay.attempts)],
      ["Event", replay.event_id ? code(replay.event_id) : "none"],
    ]),
  );
