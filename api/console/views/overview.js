// What waits for a person, across the users of a tenant, and the users.

import { all, Refusal, tenantUrl } from "../api.js";
import { announce, button, el, notice, put, uniqueId } from "../dom.js";
import { count, plural, time } from "../format.js";
import { incomplete } from "../subject.js";
import { tenantOf, usersOf } from "../subject_bar.js";

const MOST = 200;
const PAGE = 50;
const PAUSE = 200;

/** The kinds of waiting work: the name of the figure, what a row says of one and of several, and the view to open. */
const KINDS = {
  pending: {
    name: "To confirm",
    says: ["proposal waits for a confirmation", "proposals wait for a confirmation"],
    view: "confirmations",
  },
  question: {
    name: "To decide",
    says: ["question waits for a decision of the tenant", "questions wait for a decision of the tenant"],
    view: "decisions",
  },
  conflict: { name: "Conflicts", says: ["conflict is open", "conflicts are open"], view: "conflicts" },
  failed_replay: { name: "Failed replays", says: ["replay has failed", "replays have failed"], view: "replays" },
  erasure: { name: "Open erasures", says: ["erasure is running", "erasures are running"], view: "user" },
  dead_letter: {
    name: "Dead letters",
    says: ["job cannot be read", "jobs cannot be read"],
    view: "replays",
  },
  retraction: {
    name: "Retractions",
    says: ["retraction is planned or has failed", "retractions are planned or have failed"],
    view: "retractions",
  },
};
const PREVENTED = "A legal hold has prevented the erasure: request it again.";

export const overview = {
  id: "overview",
  title: "Overview",
  about: "What waits for a person in this tenant, and whose memory is stored.",
  needsSubject: false,
  render,
};

function render({ subject, signal, open, load }) {
  const tenant = tenantOf(subject);
  if (!tenant) return notice("", "Enter a tenant to see what waits in it.");
  const go = (view, user) => open(view, { tenant, user });
  const [waiting, users] = [el("div", { class: "body" }), el("div", { class: "body" })];
  load(waiting, async () =>
    waitingPart(tenant, await all(`${tenantUrl(tenant)}/waiting`, "waiting", { signal, most: MOST }), go),
  );
  load(users, () => usersPart(tenant, signal, go));
  return [waiting, users];
}

function waitingPart(tenant, { rows, complete }, go) {
  const sum = (kind) => rows.filter((row) => row.kind === kind).reduce((total, row) => total + row.count, 0);
  const figures = Object.entries(KINDS).map(([kind, { name }]) => {
    const number = sum(kind);
    return el(
      "div",
      { class: number ? "figure some" : "figure" },
      el("dt", {}, name),
      el("dd", {}, count(number), complete ? null : "+"),
    );
  });
  return [
    el("dl", { class: "figure-row", "aria-label": "What waits" }, figures),
    rows.length
      ? el(
          "section",
          { class: "panel", "aria-label": "Waiting" },
          el("h2", {}, "Waiting"),
          el("ul", { class: "rows", role: "list" }, rows.map((row) => waitingRow(row, go))),
          incomplete(complete, rows.length),
        )
      : el(
          "div",
          { class: "notice good" },
          el("strong", {}, "Nothing is waiting. "),
          `Tenant ${tenant} has no pending items, open conflicts, failed replays, unfinished erasures, dead letters or retractions to apply.`,
        ),
  ].filter(Boolean);
}

function waitingRow({ kind, user_id: user, count: number, complete, since, status }, go) {
  const { says, view } = KINDS[kind] ?? { says: [kind], view: "user" };
  const said = status === "partial" ? PREVENTED : `${complete === false ? "At least " : ""}${plural(number, ...says)}`;
  return el(
    "li",
    { class: "row-line" },
    button(user, () => go(view, user), { kind: "link", class: "link strong" }),
    el("span", {}, said),
    el("span", { class: "muted" }, since ? ["since ", time(since)] : ""),
  );
}

/** The users by id, with a search by the beginning of the id. */
async function usersPart(tenant, signal, go) {
  const input = el("input", { id: uniqueId("prefix"), type: "search", autocomplete: "off", spellcheck: "false", autocapitalize: "none", maxlength: 128 });
  const list = el("ul", { class: "users", role: "list", "aria-label": "Users" });
  const trouble = el("p", { class: "muted", hidden: true });
  const foot = el("div", { class: "actions", hidden: true });
  let asked = 0;
  let timer = null;
  const link = ({ user_id: id }) => el("li", {}, button(id, () => go("user", id), { kind: "link" }));
  const more = async (cursor) => {
    const number = ++asked;
    const prefix = input.value.trim();
    try {
      const page = await usersOf(tenant, prefix, { limit: PAGE, cursor, signal });
      if (number !== asked) return;
      if (cursor) list.append(...page.users.map(link));
      else put(list, ...page.users.map(link));
      const shown = list.children.length;
      trouble.textContent = shown ? "" : prefix ? `No user id begins with “${prefix}”. Ids are case-sensitive.` : "No memory is stored in this tenant yet.";
      trouble.hidden = shown > 0;
      foot.hidden = !page.next_cursor;
      put(foot, page.next_cursor ? button("Show more", () => more(page.next_cursor)) : null);
      if (prefix) announce(shown ? `${plural(shown, "user")}${page.next_cursor ? " and more" : ""}.` : trouble.textContent);
    } catch (error) {
      if (number !== asked || error.name === "AbortError") return;
      put(list);
      foot.hidden = true;
      trouble.hidden = false;
      trouble.textContent = error instanceof Refusal ? error.message : "The page failed.";
    }
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => more(null), PAUSE);
  });
  await more(null);
  return el(
    "section",
    { class: "panel", "aria-label": "All users" },
    el("div", { class: "bar-line" }, el("h2", {}, "Users"), el("div", { class: "inline-field" }, el("label", { for: input.id }, "Id begins with"), input)),
    list,
    trouble,
    foot,
  );
}
