// Retractions: a source of memory is planned to be taken back, applied, followed to its end, and undone.

import { may, missingRole } from "../access.js";
import { all, call, idempotencyKeys, userUrl } from "../api.js";
import { badge, button, el, facts, field, notice, put, select, table } from "../dom.js";
import { ask, refusal, typed } from "../dialog.js";
import { follow } from "../following.js";
import { code, plural, time } from "../format.js";
import { planParts } from "../retraction_plan.js";
import { choices, countWords, SOURCES, sourceWords } from "../retraction_words.js";
import { claims } from "../session.js";
import { incomplete } from "../subject.js";
import { TAKES_BACK } from "../take_back.js";

const MOST = 500;
const MAX_REASON = 1000;
const RUNNING = ["applying", "undoing"];
const TONES = { planned: "info", applying: "info", applied: "good", partial: "warn", failed: "bad", undoing: "info", undone: "" };

export const retractions = {
  id: "retractions",
  title: "Retractions",
  about: "Take back what memory learnt from a source: plan it, read the plan, apply it, and undo it.",
  needsSubject: true,
  render,
};

const urlOf = (subject, id) => `${userUrl(subject)}/retractions/${encodeURIComponent(id)}`;
const mayTakeBack = () => may(claims().roles, TAKES_BACK);

function render(context) {
  const { subject, signal, options } = context;
  const holder = el("div", { class: "body" });
  const detail = el("section", { class: "panel", "aria-label": "Plan", hidden: true });
  const refresh = () => context.load(holder, () => list(subject, signal, open));
  const open = opener(subject, detail, signal, refresh);
  queueMicrotask(refresh);
  return [
    mayTakeBack() ? form(subject, options.source, open) : notice("", missingRole(TAKES_BACK)),
    detail,
    el("section", { class: "panel", "aria-label": "All retractions" }, el("h2", {}, "Retractions"), holder),
  ];
}

/** The form that plans a retraction; `given` is the source that it begins with. */
function form(subject, given, open) {
  const key = idempotencyKeys();
  const kind = select(Object.entries(SOURCES).map(([name, { title }]) => [name, title]), given?.kind ?? "conversation");
  const reason = el("input", { type: "text", required: true, maxlength: MAX_REASON, autocomplete: "off" });
  const members = el("div", { class: "controls" });
  const trouble = el("div", {});
  let inputs = [];
  const fill = (source) => {
    inputs = SOURCES[kind.value].fields.map(([name, label, required, hint]) => {
      const [tag, attributes] = name === "message_ids" ? ["textarea", { rows: 2 }] : ["input", { type: "text", maxlength: 512 }];
      const input = el(tag, { ...attributes, required, autocomplete: "off", spellcheck: "false", autocapitalize: "none" });
      input.value = [source?.[name] ?? ""].flat().join("\n");
      return { name, input, node: field(label, input, { hint }) };
    });
    put(members, inputs.map(({ node }) => node));
  };
  const source = () => {
    const named = { kind: kind.value };
    for (const { name, input } of inputs) {
      const lines = input.value.split("\n").map((line) => line.trim()).filter(Boolean);
      if (lines.length) named[name] = name === "message_ids" ? lines : lines.join("");
    }
    return named;
  };
  const plan = async (event) => {
    event.preventDefault();
    if (submit.getAttribute("aria-disabled") === "true") return;
    submit.setAttribute("aria-disabled", "true");
    put(trouble);
    try {
      const body = { source: source(), reason: reason.value };
      const headers = { "Idempotency-Key": key(body) };
      open((await call("POST", `${userUrl(subject)}/retractions`, { body, headers, exact: true })).body, { refresh: true });
    } catch (error) {
      put(trouble, refusal(error));
    } finally {
      submit.removeAttribute("aria-disabled");
    }
  };
  const submit = button("Plan", null, { type: "submit", kind: "primary" });
  kind.addEventListener("change", () => fill());
  fill(given);
  return el(
    "section",
    { class: "panel", "aria-label": "Take a source back" },
    el("h2", {}, "Take a source back"),
    el("p", { class: "muted" }, "A plan changes nothing. You read it, and then apply it."),
    el(
      "form",
      { class: "body", on: { submit: plan } },
      el("div", { class: "controls" }, field("Source", kind)),
      members,
      field("Reason (stored with the retraction)", reason, { wide: true }),
      trouble,
      el("div", { class: "actions" }, submit),
    ),
  );
}

/** The retractions of the user, the newest first. */
async function list(subject, signal, open) {
  const { rows, complete } = await all(`${userUrl(subject)}/retractions`, "retractions", { signal, most: MOST });
  if (!rows.length) return el("p", { class: "muted" }, "No source was taken back.");
  rows.sort((one, other) => (one.created_at < other.created_at ? 1 : -1));
  const cells = rows.map((row) => [
    button(sourceWords(row.source), () => open(row), { kind: "link" }),
    badge(row.status, TONES[row.status] ?? ""),
    countWords(row.counts),
    row.reason,
    [el("div", {}, row.planned_by), time(row.created_at)],
  ]);
  return [
    incomplete(complete, rows.length),
    table(plural(rows.length, "retraction"), ["Source", "Status", "What it takes", "Reason", "Planned"], cells),
  ].filter(Boolean);
}

/** A function that shows a retraction and follows it; only the last one is followed. */
function opener(subject, panel, signal, refreshList) {
  let following = new AbortController();
  signal.addEventListener("abort", () => following.abort(), { once: true });
  return function open(row, { refresh = false } = {}) {
    following.abort();
    following = new AbortController();
    const heading = el("h2", { tabindex: "-1" }, `Retraction of ${sourceWords(row.source)}`);
    const body = el("div", { class: "body" });
    let status = refresh ? null : row.status;
    panel.hidden = false;
    put(panel, heading, body);
    heading.focus();
    follow(urlOf(subject, row.retraction_id), body, following.signal, {
      known: row.documents ? row : null,
      exact: true,
      running: RUNNING,
      says: (found) => `The retraction is ${found.status}.`,
      parts: (found) => {
        if (found.status !== status) refreshList();
        status = found.status;
        return parts(subject, found, (changed) => open(changed, { refresh: true }));
      },
    });
  };
}

function parts(subject, found, again) {
  return [
    el("p", {}, badge(found.status, TONES[found.status] ?? ""), " ", countWords(found.counts)),
    facts([
      ["Reason", found.reason],
      ["Planned by", [found.planned_by, " ", time(found.created_at)]],
      ["Applied by", found.applied_by],
      ["Undone by", found.undone_by],
      ["Last step", time(found.updated_at)],
      ["Retraction", code(found.retraction_id)],
    ]),
    found.failure ? notice("bad", "It failed with ", code(found.failure), ". Continue it when the cause is gone.") : null,
    found.status === "partial" ? notice("warn", "Some values stay. They are listed below as unresolved.") : null,
    mayTakeBack() ? actions(subject, found, again) : null,
    ...planParts(found),
  ].filter(Boolean);
}

function actions(subject, found, again) {
  const { apply, needsAnother, undo } = choices(found, claims().principal);
  const url = urlOf(subject, found.retraction_id);
  const begin = async (title, text, { verb, tone, path, headers, fields }) => {
    const answer = await ask(title, {
      body: [el("p", {}, text)],
      fields,
      verb,
      tone,
      act: () => call("POST", `${url}:${path}`, { headers }),
    });
    if (answer) again(answer.body);
  };
  const applying = () =>
    begin(
      "Apply the retraction",
      `Memory loses what it learnt from ${sourceWords(found.source)}, as the plan says, and accepts nothing more from it. You can undo the retraction.`,
      {
        verb: "Take the source back",
        tone: "danger",
        path: "apply",
        headers: { "If-Match": found.etag },
        fields: [typed(subject.user, `Type the user's id, ${subject.user}`)],
      },
    );
  const planned = found.status === "planned";
  const undoing = () =>
    begin(
      planned ? "Discard the plan" : "Undo the retraction",
      planned
        ? "Nothing was taken back. The plan can no longer be applied."
        : "What was taken back returns where no other write has changed it since, and the source is opened again.",
      { verb: planned ? "Discard the plan" : "Undo", tone: "primary", path: "undo" },
    );
  if (!apply && !undo) return null;
  return [
    needsAnother ? notice("warn", "You planned this. The profile asks that another principal applies it.") : null,
    el(
      "div",
      { class: "actions" },
      apply && !needsAnother ? button(planned ? "Apply …" : "Continue …", applying, { kind: "danger" }) : null,
      undo ? button(planned ? "Discard the plan …" : "Undo …", undoing) : null,
    ),
  ];
}
