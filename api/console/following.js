// Something that a worker does, shown and refreshed until it ends.

import { get } from "./api.js";
import { announce, put } from "./dom.js";
import { refusal } from "./dialog.js";

const LOOK_AGAIN = 2000;
const PASSING = [0, 502, 503, 504];

/**
 * Show what `url` returns in `place`, as the nodes that `parts` makes of it, and refresh it while its status is one of
 * `running`. Only changes are rendered; a new status is announced by the sentence of `says`. `known`: the first answer.
 */
export async function follow(url, place, signal, { known = null, exact = false, parts, running, says }) {
  let shown = null;
  let status = null;
  let answer = known;
  const show = (what, nodes) => {
    if (JSON.stringify(what) !== shown) put(place, ...nodes());
    shown = JSON.stringify(what);
  };
  while (!signal.aborted) {
    try {
      answer ??= await get(url, { signal, exact });
      if (signal.aborted) return;
      const found = answer;
      show(found, () => parts(found));
      if (found.status !== status) announce(says(found));
      status = found.status;
      if (!running.includes(status)) return;
    } catch (error) {
      if (signal.aborted) return;
      show([error.status, error.code], () => [refusal(error)]);
      // The next refresh may succeed.
      if (!PASSING.includes(error.status)) return;
      status = null;
    }
    answer = null;
    await pause(LOOK_AGAIN, signal);
  }
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
