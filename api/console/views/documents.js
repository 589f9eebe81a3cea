// A user's documents: schema, size and limit, freshness, version, and the content of one of them.

import { may } from "../access.js";
import { all, userUrl } from "../api.js";
import { READS_BLAME, whyOf } from "../blame_view.js";
import { statements } from "../chain_view.js";
import { histories } from "../chains.js";
import { badge, breakable, button, el, facts, hidden, put, table } from "../dom.js";
import { code, count, percent, plural, relative, time } from "../format.js";
import { treeAndText } from "../json_view.js";
import { period } from "../sentences.js";
import { claims } from "../session.js";
import { bar } from "../shares.js";
import { incomplete, loadDocuments, nameOf } from "../subject.js";

const MOST = 1000;
const SHOWN_AT_ONCE = 3; // with so few documents the content of all is shown

export const documents = {
  id: "documents",
  title: "Documents",
  about: "Everything stored in this user's documents.",
  needsSubject: true,
  render,
};

async function render(context) {
  const { subject, signal, options } = context;
  const { documents: found, complete } = await loadDocuments(subject, signal);
  if (!found.length) return el("p", { class: "notice" }, "No documents for this user. Check the spelling of the user id; ids are case-sensitive.");
  const details = el("div", { class: "body" });
  const panels = new Map();
  const show = (entry) => {
    const panel = el("section", { class: "panel", "aria-label": nameOf(entry.listed) });
    showDetail(panel, entry, context);
    panels.set(entry, panel);
    return panel;
  };
  const choose = (entry) => {
    if (!panels.has(entry)) {
      panels.clear();
      put(details, show(entry));
    }
    const panel = panels.get(entry);
    panel.querySelector("h2").focus();
    panel.scrollIntoView({ block: "nearest" });
  };
  if (found.length <= SHOWN_AT_ONCE) put(details, ...found.map(show));
  const rows = found.map((entry) => [
    [
      button(nameOf(entry.listed), () => choose(entry), { kind: "link" }),
      el("div", { class: "muted" }, breakable(entry.document.schema_id), " ", entry.document.schema_version),
    ],
    budget(entry),
    freshness(entry),
    entry.pending.length
      ? badge(plural(entry.pending.length, "proposal"), "warn")
      : el("span", { class: "muted" }, "none"),
    time(entry.listed.updated_at),
    [el("div", {}, count(entry.listed.sequence)), code(entry.etag)],
  ]);
  const columns = ["Document, schema", "Size / limit", "Freshness", "Pending", "Updated", "Version, ETag"];
  const asked = found.find(({ listed }) => nameOf(listed) === options.document);
  if (asked) queueMicrotask(() => choose(asked));
  return [
    incomplete(complete, found.length),
    el("div", { class: "panel" }, table(plural(found.length, "document"), columns, rows)),
    details,
  ].filter(Boolean);
}

/** The share of the smallest limit that the content uses; the list counts its size as the limit does. */
function budget({ listed, rules }) {
  if (!rules.length) return [count(listed.size), " characters ", badge("bound by no profile", "warn")];
  const { binding, profile } = rules.toSorted((one, other) => one.binding.max_chars - other.binding.max_chars)[0];
  const share = listed.size / binding.max_chars;
  const tone = share > 1 ? "bad" : share > profile.upkeep_fill ? "warn" : "";
  return [
    el(
      "span",
      { class: "figures" },
      el("span", { class: "keep" }, `${count(listed.size)} of ${count(binding.max_chars)}`),
      el("strong", {}, percent(share)),
      tone ? badge(share > 1 ? "over" : "full", tone) : null,
    ),
    bar(listed.size, binding.max_chars, tone),
  ];
}

function freshness({ fresh }) {
  if (fresh === null) return el("span", { class: "muted" }, "no rule");
  const told = [];
  if (fresh.expired) told.push(badge(`${count(fresh.expired)} expired`, "bad"), " ");
  if (fresh.stale) told.push(badge(`${count(fresh.stale)} stale`, "warn"), " ");
  if (!told.length) told.push(badge("fresh", "good"), " ");
  if (fresh.next !== null) told.push(el("span", { class: "muted" }, `next ${relative(fresh.next)}`));
  else if (!fresh.dated) told.push(el("span", { class: "muted" }, "nothing dated"));
  return told;
}

const hasStatements = ({ profile, binding }) =>
  (profile.upkeep_rules[binding.binding_id] ?? []).some(({ statements: rule }) => rule);

/** The statements of a document that were replaced, each below the one that holds now. */
function replaced({ subject, signal, load }, { namespace, path }) {
  const body = el("div", { class: "body" });
  load(body, async () => {
    const query = { state: "all" };
    const { rows, complete } = await all(`${userUrl(subject)}/entries`, "entries", { signal, most: MOST, query });
    const { held, past } = histories(rows.filter((row) => row.namespace === namespace && row.path === path));
    const changed = held.filter(({ earlier }) => earlier.length);
    return [
      changed.length || past.length ? null : el("p", { class: "muted" }, "No statement was replaced."),
      el(
        "ul",
        { class: "rows", role: "list" },
        changed.map(({ entry, earlier }) =>
          el("li", {}, el("p", {}, `${entry.text} `, el("span", { class: "muted" }, period(entry))), statements(earlier)),
        ),
      ),
      past.length ? [el("p", { class: "muted" }, "These hold no longer:"), statements(past)] : null,
      incomplete(complete, rows.length),
    ]
      .flat()
      .filter(Boolean);
  });
  return [el("h3", {}, "What held before ", hidden(`in ${namespace}/${path}`)), body];
}

function showDetail(panel, { listed, etag, document: found, rules }, context) {
  const { open } = context;
  const name = nameOf(listed);
  const bound = rules.map(({ profile, binding }) => `${profile.profile_id} / ${binding.binding_id}`).join(", ");
  put(
    panel,
    el(
      "div",
      { class: "bar-line" },
      el("h2", { tabindex: "-1" }, name),
      el(
        "div",
        { class: "actions" },
        button("History", () => open("history", { document: name })),
        button("Confirmations", () => open("confirmations")),
      ),
    ),
    facts([
      ["Document id", code(found.doc_id)],
      ["Schema", `${found.schema_id} ${found.schema_version}`],
      ["Binding", bound || "no profile"],
      ["Created", time(found.created_at)],
      ["Updated", time(found.updated_at)],
      ["Updated by", found.updated_by],
      ["Version", count(listed.sequence)],
      ["ETag", code(etag)],
    ]),
    rules.some(hasStatements) ? replaced(context, listed) : null,
    el("h3", {}, "Content ", hidden(`of ${name}`)),
    treeAndText(found.content, `Content of ${name}`, may(claims().roles, READS_BLAME) ? whyOf(context, listed) : undefined),
  );
}
