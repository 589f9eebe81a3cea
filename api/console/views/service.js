// The service: latency of this process, waiting work, status of the dependencies.

import { get, Refusal } from "../api.js";
import { announce, badge, checkbox, el, button, notice, table } from "../dom.js";
import { refusal } from "../dialog.js";
import { chart } from "../charts.js";
import { count, duration, milliseconds, percent, plural, shortDuration, time, utc } from "../format.js";

const EVERY = 15_000;
const MOST_SAMPLES = 240;

export const service = {
  id: "service",
  title: "Service",
  about: "Latency, errors and pending work.",
  needsSubject: false,
  render,
};

const clock = (text) => text.slice(11, 16);
const seconds = (text) => text.slice(11, 19);
const tone = (status) => (status >= 500 ? "bad" : status >= 400 ? "warn" : "");
const rate = (part, whole) => (whole ? part / whole : null);

async function render({ signal }) {
  const samples = [];
  const body = el("div", { class: "body" });
  const trouble = el("div", {});
  const told = el("p", { class: "muted" });
  const { box, node } = checkbox("Refresh every 15 seconds", { checked: true });
  let timer = null;
  const look = async () => {
    clearTimeout(timer);
    try {
      const [statistics, ready] = await Promise.all([get("/v1/statistics", { signal }), readiness(signal)]);
      samples.push({ at: statistics.requests.until, backlog: statistics.backlog });
      samples.splice(0, samples.length - MOST_SAMPLES);
      trouble.replaceChildren();
      told.textContent = `Requests: this process alone, since ${utc(statistics.requests.since)}. Backlog: the whole service. Read ${utc(statistics.requests.until)}.`;
      keepOpen(body, () => body.replaceChildren(...panels(statistics, samples, ready)));
    } catch (error) {
      if (error.name === "AbortError") return;
      trouble.replaceChildren(refusal(error));
    }
    if (box.checked && !signal.aborted) timer = setTimeout(look, EVERY);
  };
  box.addEventListener("change", () => (box.checked ? look() : clearTimeout(timer)));
  signal.addEventListener("abort", () => clearTimeout(timer));
  await look();
  const again = button("Refresh", async () => {
    await look();
    announce("Statistics refreshed.");
  });
  return [el("div", { class: "controls" }, again, node), told, trouble, body];
}

/** Keep opened parts open, and the focus, when the numbers are refreshed. */
function keepOpen(body, redraw) {
  const open = [...body.querySelectorAll("details")].map((details) => details.open);
  const focused = [...body.querySelectorAll("summary")].indexOf(document.activeElement);
  redraw();
  body.querySelectorAll("details").forEach((details, index) => (details.open = open[index] ?? details.open));
  if (focused >= 0) body.querySelectorAll("summary")[focused]?.focus({ preventScroll: true });
}

async function readiness(signal) {
  try {
    return (await get("/health/ready", { signal })).checks;
  } catch (error) {
    if (error instanceof Refusal && error.details.checks) return error.details.checks;
    if (error instanceof Refusal) return null; // a gateway may keep it to itself
    throw error;
  }
}

function panels({ requests, backlog }, samples, ready) {
  const { by_minute: minutes, operations } = requests;
  const labels = minutes.map(({ minute }) => clock(minute));
  const of = (name) => minutes.map((point) => point[name]);
  const total = of("requests").reduce((sum, value) => sum + value, 0);
  const [writes, stale, failures] = ["writes", "stale_writes", "failures"].map((name) =>
    of(name).reduce((sum, value) => sum + value, 0),
  );
  const ages = (read) => samples.map((sample) => read(sample.backlog).oldest_age_seconds);
  const jobs = Object.entries(backlog.jobs);
  return [
    el("div", { class: "grid" }, health(ready), waiting(backlog, jobs)),
    el(
      "div",
      { class: "grid three" },
      chart({
        title: "Latency",
        summary: `${plural(total, "request")} in the last ${plural(minutes.length, "minute")}, by minute; percentiles are at most a tenth too high.`,
        labels,
        series: [
          { name: "median", values: of("p50_ms"), mark: "one" },
          { name: "95th percentile", values: of("p95_ms"), mark: "two" },
          { name: "99th percentile", values: of("p99_ms"), mark: "three" },
        ],
        format: milliseconds,
      }),
      chart({
        title: "Refused and failed",
        summary: `${count(stale)} of ${plural(writes, "write")} met a newer version (412)${writes ? `, ${percent(stale / writes)}` : ""}; ${plural(failures, "answer")} of 500 and above.`,
        labels,
        series: [
          {
            name: "412 of writes",
            values: minutes.map((point) => rate(point.stale_writes, point.writes)),
            mark: "one",
          },
          {
            name: "5xx of requests",
            values: minutes.map((point) => rate(point.failures, point.requests)),
            mark: "three",
          },
        ],
        format: percent,
      }),
      chart({
        title: "Backlog age",
        summary: `The oldest unfinished work at each refresh of this page: ${plural(samples.length, "sample")}.`,
        labels: samples.map(({ at }) => seconds(at)),
        series: [
          { name: "replays", values: ages(({ jobs: all }) => all.replay), mark: "one" },
          { name: "conflicts", values: ages(({ jobs: all }) => all.conflict), mark: "two" },
          { name: "events to index", values: ages(({ events_to_index: events }) => events), mark: "three" },
        ],
        format: duration,
        tick: shortDuration,
      }),
    ),
    el(
      "section",
      { class: "panel", "aria-label": "Operations" },
      table(
        "By operation",
        ["Operation", "Requests", "Median", "95th", "99th", "Longest", "Statuses"],
        operations.map((row) => [
          row.operation,
          count(row.requests),
          ...["p50_ms", "p95_ms", "p99_ms", "longest_ms"].map((name) => milliseconds(row[name])),
          Object.entries(row.statuses).map(([status, number]) => [
            badge(`${status}: ${count(number)}`, tone(Number(status))),
            " ",
          ]),
        ]),
        { numeric: [1, 2, 3, 4, 5] },
      ),
    ),
  ];
}

function health(ready) {
  const rows = Object.entries(ready ?? {}).map(([name, state]) => [
    name,
    badge(state, state === "ok" ? "good" : "bad"),
  ]);
  return el(
    "section",
    { class: "panel", "aria-label": "Dependencies" },
    rows.length
      ? table("Dependencies", ["What", "State"], rows)
      : notice("", "The state of the dependencies is not available (/health/ready)."),
  );
}

function waiting(backlog, jobs) {
  const rows = [...jobs, ["events to index", backlog.events_to_index]].map(([name, one]) => [
    name,
    count(one.waiting),
    one.oldest_at ? time(one.oldest_at) : "–",
    one.waiting ? duration(one.oldest_age_seconds) : "–",
  ]);
  return el(
    "section",
    { class: "panel", "aria-label": "Backlog" },
    table("Unfinished work", ["Kind", "Waiting", "Oldest", "Age"], rows, { numeric: [1] }),
    backlog.complete ? null : notice("warn", "The counts are incomplete."),
  );
}
