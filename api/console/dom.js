// The only place that creates elements: text becomes text nodes, never markup.

const SVG = "http://www.w3.org/2000/svg";
const FORBIDDEN = /^(on|style$|srcdoc$|innerHTML$|outerHTML$)/i;

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    } else if (FORBIDDEN.test(name) || (name === "href" && !value.startsWith("#"))) {
      throw new TypeError(`the console sets no ${name}`);
    } else if (value === true) {
      node.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      node.setAttribute(name, String(value));
    }
  }
  node.append(...shown(children));
  return node;
}

const REORDERING = /[\u202a-\u202e\u2066-\u2069]/g;
/** A text in which the characters that reorder what surrounds them are escapes: they could make it look like another. */
export const ordered = (text) =>
  text.replace(REORDERING, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

const shown = (children) =>
  children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (typeof child === "string" ? ordered(child) : child));

/** Replace the children; null and false are skipped. */
export function put(node, ...children) {
  node.replaceChildren(...shown(children));
}

/** An element with attributes (`on` holds listeners) and children; strings are text, null and false are skipped. */
export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

let labels = 0;
/** An id that is unique on the page. */
export const uniqueId = (word) => `${word}-${++labels}`;

/** A labelled control: a label, the control, and an optional hint that describes it. */
export function field(label, control, { hint, wide } = {}) {
  control.id ||= uniqueId("field");
  const described = hint ? el("span", { class: "hint", id: uniqueId("hint") }, hint) : null;
  if (described) control.setAttribute("aria-describedby", described.id);
  return el(
    "div",
    { class: wide ? "field wide" : "field" },
    el("label", { for: control.id }, label),
    control,
    described,
  );
}

/** A checkbox followed by its label. */
export function checkbox(label, attributes) {
  const box = el("input", { type: "checkbox", id: uniqueId("box"), ...attributes });
  return { box, node: el("div", { class: "check" }, box, el("label", { for: box.id }, label)) };
}

/** A button; it is disabled while its action runs. */
export function button(label, action, { kind = "", type = "button", ...more } = {}) {
  const node = el("button", { type, class: kind, ...more }, kind === "link" ? breakable(label) : label);
  if (action) {
    node.addEventListener("click", async (event) => {
      if (node.getAttribute("aria-disabled") === "true") return;
      node.setAttribute("aria-disabled", "true");
      try {
        await action(event);
      } finally {
        node.removeAttribute("aria-disabled");
      }
    });
  }
  return node;
}

/** A select from [value, text] pairs. */
export function select(options, chosen, attributes) {
  return el(
    "select",
    attributes,
    options.map(([value, text]) => el("option", { value, selected: value === chosen }, text)),
  );
}

const LONGEST = 24;
/** A name or an id (or any value, as JSON) that may wrap after punctuation, and anywhere in a long part without any. */
export function breakable(text) {
  const parts =
    (typeof text === "string" ? text : JSON.stringify(text)).match(
      new RegExp(`[^/._\\-\\s]{1,${LONGEST}}[/._\\-]*\\s*|[/._\\-]+\\s*|\\s+`, "g"),
    ) ?? [];
  return parts.flatMap((part, index) => (index ? [el("wbr"), part] : [part]));
}

/** Text for screen readers. */
export const hidden = (text) => el("span", { class: "sr" }, text);

/** A badge: the text has the meaning, the colour repeats it. */
export const badge = (text, tone = "") => el("span", { class: `badge ${tone}` }, text);

/**
 * A table that stacks its cells on narrow screens. `columns`: names, `rows`: arrays of cells (nodes or text). The roles
 * are explicit because CSS changes the table's display there, which hides its roles from assistive technology.
 */
export function table(caption, columns, rows, { numeric = [] } = {}) {
  const kind = (index) => (numeric.includes(index) ? "number" : null);
  return el(
    "table",
    { role: "table", class: "cards" },
    el("caption", {}, caption),
    el(
      "thead",
      { role: "rowgroup" },
      el(
        "tr",
        { role: "row" },
        columns.map((name, index) => el("th", { scope: "col", role: "columnheader", class: kind(index) }, name)),
      ),
    ),
    el(
      "tbody",
      { role: "rowgroup" },
      rows.map((cells) =>
        el(
          "tr",
          { role: "row" },
          cells.map((cell, index) =>
            el(
              "td",
              { role: "cell", "data-label": columns[index], class: kind(index) },
              el("div", {}, typeof cell === "string" ? breakable(cell) : cell),
            ),
          ),
        ),
      ),
    ),
  );
}

/** Names and values. */
export function facts(pairs) {
  const told = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el(
    "dl",
    { class: "facts" },
    told.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
  );
}

/** A notice of a failure or a warning; alerts are read out at once. */
export function notice(tone, ...children) {
  return el("div", { class: `notice ${tone}`, role: tone === "bad" ? "alert" : null }, ...children);
}

const SHOWN_FOR = 8000;
let clearing;
/** Announce a text to screen readers without moving the focus; `seen`: show it for a while, too. */
export function announce(text, seen = false) {
  const status = document.getElementById("status");
  clearTimeout(clearing);
  status.classList.toggle("sr", !seen);
  status.textContent = ordered(text);
  if (seen) clearing = setTimeout(() => announce(""), SHOWN_FOR);
}
