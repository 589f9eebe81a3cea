// Legal holds, retention and erasure of a user.

import { call, get, idempotencyKeys, tenantUrl, userUrl } from "../api.js";
import { announce, badge, button, el, facts, field, notice, put, table } from "../dom.js";
import { ask, refusal, typed } from "../dialog.js";
import { code, count, plural, time, utc } from "../format.js";
import { tree } from "../json_view.js";

const COLUMNS = ["removed", "on_hold", "blocked", "deferred", "retained"];
const LOOK_AGAIN = 2000;

export const governance = {
  id: "governance",
  title: "Governance",
  about: "Legal holds, retention and erasure.",
  needsSubject: true,
  render,
};

function render(context) {
  const { subject } = context;
  return [
    hold(
      context,
      "user",
      `${userUrl(subject)}/legal-hold`,
      "While on hold, nothing of this user is deleted, whatever the retention rules say.",
    ),
    hold(
      context,
      "tenant",
      `${tenantUrl(subject.tenant)}/legal-hold`,
      "While on hold, nothing of any current or future user of the tenant is deleted.",
    ),
    retention(context),
    erasure(context),
  ];
}

const section = (title, ...children) =>
  el("section", { class: "panel", "aria-label": title }, el("h2", { tabindex: "-1" }, title), ...children);

function hold({ signal, load }, covers, url, told) {
  const title = `Legal hold on the ${covers}`;
  const body = el("div", {});
  // The API lists the tenant's hold for each of its users, too; it is lifted on the tenant.
  const own = (status) => status.holds.some((one) => one.covers === covers);
  const show = () => load(body, async () => parts(await get(url, { signal })));
  const reasonField = () => el("input", { type: "text", maxlength: 512, required: true });
  const change = async (placing) => {
    const reason = reasonField();
    const answer = await ask(placing ? `Place: ${title.toLowerCase()}` : `Lift: ${title.toLowerCase()}`, {
      body: [
        el(
          "p",
          {},
          placing ? told : "Expired data can be deleted again. The hold stays on record.",
        ),
      ],
      fields: [field("Reason (stored on record)", reason, { wide: true })],
      verb: placing ? "Place the hold" : "Lift the hold",
      tone: placing ? "primary" : "danger",
      act: () =>
        placing
          ? call("PUT", url, { body: { reason: reason.value } })
          : call("DELETE", url, { query: { reason: reason.value } }),
    });
    if (!answer) return;
    body.replaceChildren(...parts(answer.body));
    announce(answer.body.held ? "Legal hold placed." : "Legal hold lifted.", true);
  };
  const parts = (status) =>
    [
      el("p", {}, status.held ? badge("held", "warn") : badge("not held")),
      status.holds.length
        ? el(
            "ul",
            { class: "plain" },
            status.holds.map((one) =>
              el(
                "li",
                {},
                badge(one.covers),
                " ",
                one.reason,
                el("span", { class: "muted" }, ` by ${one.actor} `),
                time(one.since),
              ),
            ),
          )
        : null,
      el(
        "div",
        { class: "actions" },
        button(own(status) ? "Another reason …" : "Place …", () => change(true)),
        own(status) ? button("Lift …", () => change(false)) : null,
      ),
      status.changes.length
        ? el(
            "details",
            { class: "raw" },
            el("summary", {}, plural(status.changes.length, "change")),
            table(
              "History of this hold",
              ["When", "What", "Who", "Reason"],
              status.changes.map((one) => [time(one.at), one.action, one.actor, one.reason]),
            ),
          )
        : null,
    ].filter(Boolean);
  queueMicrotask(show);
  return section(title, body);
}

function retention({ subject, signal, load }) {
  const body = el("div", { "aria-live": "polite" });
  const url = `${userUrl(subject)}/retention:apply`;
  const preview = () =>
    load(body, async () => counted((await call("POST", url, { body: { dry_run: true }, signal })).body));
  const apply = async () => {
    const answer = await ask("Apply retention now", {
      body: [el("p", {}, "Data past its retention period is deleted permanently. This also happens automatically every night.")],
      fields: [typed(subject.user, `Type the user's id, ${subject.user}`)],
      verb: "Delete expired data",
      tone: "danger",
      act: () => call("POST", url, { body: {} }),
    });
    if (answer) body.replaceChildren(...counted(answer.body));
  };
  return section(
    "Retention",
    el("p", { class: "muted" }, "Data past the retention periods of the profiles and the organisation."),
    el("div", { class: "actions" }, button("Preview", preview), button("Apply …", apply)),
    body,
  );
}

function counted(told) {
  const rows = Object.entries(told.counts).map(([kind, tally]) => [kind, ...COLUMNS.map((name) => count(tally[name]))]);
  const verb = told.dry_run ? "would be removed" : "removed";
  return [
    told.on_hold ? notice("warn", "A legal hold covers the user: nothing is deleted.") : null,
    table(
      `As of ${utc(told.as_of)}: ${told.dry_run ? "to be deleted" : "deleted"}`,
      ["Kind", verb, ...COLUMNS.slice(1).map((name) => name.replace("_", " "))],
      rows,
      { numeric: [1, 2, 3, 4, 5] },
    ),
    told.unreadable ? notice("bad", `${plural(told.unreadable, "thing")} cannot be read and is left as it is.`) : null,
  ].filter(Boolean);
}

function erasure({ subject, signal }) {
  const url = userUrl(subject);
  const id = el("input", { type: "text", autocomplete: "off", spellcheck: "false", required: true, maxlength: 128 });
  const result = el("div", { role: "group", "aria-label": "The erasure" });
  let following = new AbortController();
  signal.addEventListener("abort", () => following.abort(), { once: true });
  const look = (erasureId, told = null) => {
    // Only one erasure is followed: a new lookup replaces the one before.
    following.abort();
    following = new AbortController();
    id.value = erasureId;
    watch(`${url}/erasures/${encodeURIComponent(erasureId)}`, result, following.signal, told);
  };
  const erase = async () => {
    // One key while the dialog is open: pressing twice requests one erasure.
    const headers = { "Idempotency-Key": idempotencyKeys()(url) };
    const answer = await ask("Erase the memory of this user", {
      body: [
        el(
          "p",
          {},
          "Every document, conversation, event, job and audit record of the user is deleted permanently. This cannot be undone.",
        ),
      ],
      fields: [typed(subject.user, `Type the user's id, ${subject.user}`)],
      verb: "Erase everything",
      tone: "danger",
      act: () => call("DELETE", `${url}/memory`, { headers }).catch(already),
    });
    if (!answer || signal.aborted) return;
    if (answer.runs) announce("An erasure is already running; showing its status.", true);
    look(answer.runs ?? answer.body.erasure_id, answer.body);
  };
  return section(
    "Erasure",
    el("p", { class: "muted" }, "Delete everything stored about a user. This takes about 15 minutes and leaves a signed receipt without content."),
    el("div", { class: "actions" }, button("Erase the user's memory …", erase, { kind: "danger" })),
    el(
      "form",
      { class: "controls", on: { submit: (event) => (event.preventDefault(), look(id.value.trim())) } },
      field("Erasure id", id),
      el("div", { class: "field end" }, button("Look up", null, { type: "submit" })),
    ),
    result,
  );
}

/** The running erasure of the user, if a request is refused because of it. */
function already(error) {
  const runs = error.code === "ERASURE_RUNNING" ? error.details.erasure_id : null;
  if (!runs) throw error;
  return { runs };
}

/** Show an erasure and refresh it while it runs. Only changes are rendered and announced. */
async function watch(url, result, signal, told = null) {
  let shown = null;
  let status = null;
  const show = (what, nodes) => {
    if (JSON.stringify(what) !== shown) put(result, ...nodes());
    shown = JSON.stringify(what);
  };
  while (!signal.aborted) {
    try {
      told ??= await get(url, { signal });
      show(told, () => standing(told));
      if (told.status !== status) announce(`The erasure is ${told.status}.`);
      status = told.status;
      if (status !== "running") return;
    } catch (error) {
      if (signal.aborted) return;
      show([error.status, error.code], () => [refusal(error)]);
      // The next refresh may succeed.
      if (![0, 502, 503, 504].includes(error.status)) return;
      status = null;
    }
    told = null;
    await pause(LOOK_AGAIN, signal);
  }
}

function standing(told) {
  const tones = { complete: "good", partial: "warn", running: "info" };
  return [
    facts([
      ["Erasure", code(told.erasure_id)],
      ["Status", badge(told.status, tones[told.status] ?? "")],
      ["Accepted", time(told.accepted_at)],
      ["Earliest completion", told.settled_at ? time(told.settled_at) : null],
      ["Removed", count(Object.values(told.removed).reduce((sum, number) => sum + number, 0))],
      ["Failing", Object.entries(told.failing).map(([store, why]) => `${store}: ${why}`).join(", ") || null],
    ]),
    told.status === "partial"
      ? notice("warn", "Some data remains: the receipt lists it with the reason. Erase again when no hold covers it.")
      : null,
    told.receipt ? el("div", { class: "tree" }, tree(told.receipt, "receipt")) : null,
  ];
}

/** Wait, or until `signal` is aborted. */
const pause = (milliseconds, signal) =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done);
  });
