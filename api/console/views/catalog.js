// The profiles and schemas of the service.

import { get } from "../api.js";
import { badge, button, el, facts, table } from "../dom.js";
import { code, count, path, percent, plural } from "../format.js";
import { treeAndText } from "../json_view.js";
import { loadProfiles } from "../profiles.js";

export const catalog = {
  id: "catalog",
  title: "Profiles",
  about: "The profiles of this process: bindings, size limits and writable paths.",
  needsSubject: false,
  render,
};

async function render({ signal, load }) {
  const profiles = await loadProfiles(signal);
  if (!profiles.length) return el("p", { class: "notice" }, "Your token cannot see any profile.");
  const detail = el("section", { class: "panel", hidden: true });
  const showSchema = async (id, version) => {
    const heading = el("h2", { tabindex: "-1" }, `${id} ${version}`);
    const body = el("div", {});
    detail.hidden = false;
    detail.replaceChildren(heading, body);
    heading.focus();
    await load(body, async () => {
      const told = await get(`/v1/schemas/${encodeURIComponent(id)}/${encodeURIComponent(version)}`, { signal });
      return treeAndText(told.schema, `Schema ${id} ${version}`);
    });
  };
  return [...profiles.map((profile) => panel(profile, showSchema)), detail];
}

function panel(profile, showSchema) {
  const sections = (rules, binding) => [rules[binding.binding_id] ?? []].flat();
  const pointers = (rules, binding) => {
    const found = sections(rules, binding);
    return found.length ? found.map((pointer) => [code(pointer), " "]) : null;
  };
  const rows = profile.document_bindings.map((binding) => [
    binding.binding_id,
    path(`${binding.namespace}/${binding.path ?? binding.path_template}`),
    button(
      `${binding.schema_id} ${binding.schema_version}`,
      () => showSchema(binding.schema_id, binding.schema_version),
      { kind: "link" },
    ),
    count(binding.max_chars),
    binding.write_mode === "read_only"
      ? badge("read only")
      : (pointers(profile.writable_path_rules, binding) ?? badge("nothing")),
    pointers(profile.durable_sections, binding) ?? "–",
    pointers(profile.pending_sections, binding) ?? "–",
    plural(sections(profile.upkeep_rules, binding).length, "rule"),
  ]);
  const columns = ["Binding", "Documents", "Schema", "Budget", "Writable", "Durable", "Waiting", "Upkeep"];
  const rules = profile.confidence_rules;
  return el(
    "section",
    { class: "panel", "aria-label": `Profile ${profile.profile_id}` },
    el("h2", {}, profile.profile_id, " ", el("span", { class: "muted" }, profile.version)),
    facts([
      ["Extends", profile.extends ?? null],
      ["Durable facts require", `confidence ${rules.min_confidence_for_durable_fact}`],
      ["Replays apply from", `confidence ${rules.min_confidence_for_auto_apply}`],
      ["Trimming starts at", `${percent(profile.upkeep_fill)} of a limit`],
      ["For", profile.allowed_principals?.join(", ") ?? "every principal with the role"],
    ]),
    table(plural(rows.length, "binding"), columns, rows, { numeric: [3] }),
    treeDetails(profile),
  );
}

function treeDetails(profile) {
  const node = el("details", { class: "raw" }, el("summary", {}, "Full profile"));
  node.addEventListener("toggle", () => {
    if (node.open && node.children.length < 2) node.append(treeAndText(profile, `Profile ${profile.profile_id}`));
  });
  return node;
}
