// Line charts as SVG, drawn to the available width. Every line has its own dashes and markers; a table has the same values.

import { el, put, svg, table, uniqueId } from "./dom.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [56, 12, 10, 22];
const HEIGHT = 190;
const TICKS = 4;

/** A round number at or above `value`, and its share between two ticks. */
function ceiling(value) {
  const rough = (value || 1) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999_999) * power;
  return { step, top: step * TICKS };
}

function points(values, x, y) {
  const runs = [];
  let run = [];
  values.forEach((value, index) => {
    if (value === null) {
      if (run.length) runs.push(run);
      run = [];
    } else {
      run.push([x(index), y(value)]);
    }
  });
  if (run.length) runs.push(run);
  return runs;
}

function draw(width, { labels, series, tick, title, description }) {
  const known = series.flatMap(({ values }) => values).filter((value) => value !== null);
  const { step, top } = ceiling(Math.max(0, ...known));
  const inner = width - LEFT - RIGHT;
  const x = (index) => LEFT + (labels.length < 2 ? inner / 2 : (inner * index) / (labels.length - 1));
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
  const [name, descriptionId] = [uniqueId("chart"), uniqueId("chart")];
  const grid = Array.from({ length: TICKS + 1 }, (_, index) => [
    svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(step * index), y2: y(step * index) }),
    svg("text", { class: "tick", x: LEFT - 6, y: y(step * index) + 4, "text-anchor": "end" }, tick(step * index)),
  ]);
  const shown = Math.max(1, Math.ceil(labels.length / Math.max(2, Math.floor(inner / 90))));
  const times = labels.map((label, index) => {
    if (index % shown || (index && x(labels.length - 1) - x(index) < 40)) return null;
    return svg("text", { class: "tick", x: x(index), y: HEIGHT - 6, "text-anchor": index ? "middle" : "start" }, label);
  });
  const lines = series.map(({ values, mark }) =>
    points(values, x, y).map((run) => [
      run.length > 1
        ? svg("polyline", {
            class: `line ${mark}`,
            points: run.map((point) => point.map((n) => n.toFixed(1)).join()).join(" "),
          })
        : null,
      // A single minute between two empty ones is a dot instead of a line.
      (run.length === 1 ? run : [run.at(-1)]).map(([cx, cy]) => svg("circle", { class: `dot ${mark}`, cx, cy, r: 3 })),
    ]),
  );
  return svg(
    "svg",
    {
      class: "chart",
      role: "img",
      width,
      height: HEIGHT,
      viewBox: `0 0 ${width} ${HEIGHT}`,
      "aria-labelledby": name,
      "aria-describedby": descriptionId,
    },
    svg("title", { id: name }, title),
    svg("desc", { id: descriptionId }, description),
    grid.flat(),
    times,
    lines.flat(3),
  );
}

/**
 * A chart: `labels` of the x axis, `series` of {name, values, mark} (a value may be null; mark is one, two or three),
 * `format` for values, `tick` for those on the y axis, `summary` as text.
 */
export function chart({ title, summary, labels, series, format, tick = format }) {
  const known = series.some(({ values }) => values.some((value) => value !== null));
  const stage = el("div", { class: "stage" });
  const legend = el(
    "ul",
    { class: "legend", role: "list" },
    series.map(({ name, mark }) =>
      el(
        "li",
        {},
        svg(
          "svg",
          { width: 26, height: 10, "aria-hidden": "true" },
          svg("line", { class: `line ${mark}`, x1: 1, x2: 25, y1: 5, y2: 5 }),
        ),
        name,
      ),
    ),
  );
  const rows = labels.map((label, index) => [
    label,
    ...series.map(({ values }) => (values[index] === null ? "–" : format(values[index]))),
  ]);
  const columns = ["Time (UTC)", ...series.map(({ name }) => name)];
  const numbers = el(
    "details",
    {
      class: "raw",
      on: {
        toggle: () =>
          numbers.open &&
          numbers.children.length < 2 &&
          numbers.append(
            table(
              title,
              columns,
              rows.filter((row) => row.slice(1).some((cell) => cell !== "–")),
              { numeric: series.map((_, index) => index + 1) },
            ),
          ),
      },
    },
    el("summary", {}, "As a table"),
  );
  if (known) {
    let drawn = 0;
    // The observer reports the width once the stage is laid out, and when it changes.
    new ResizeObserver(([{ contentRect }]) => {
      const width = Math.floor(contentRect.width);
      if (width > LEFT + RIGHT && width !== drawn) {
        drawn = width;
        put(stage, draw(width, { labels, series, tick, title, description: summary }));
      }
    }).observe(stage);
  } else {
    stage.append(el("p", { class: "muted" }, "No data yet."));
  }
  return el(
    "figure",
    { class: "panel" },
    el("figcaption", {}, el("h2", {}, title), el("p", { class: "muted" }, summary)),
    stage,
    known ? legend : null,
    known ? numbers : null,
  );
}
