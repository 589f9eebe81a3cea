// Reads [function, ...arguments] from standard input, calls that function of the console and prints its results as JSON.

import { text } from "node:stream/consumers";

import * as access from "../../api/console/access.js";
import * as chains from "../../api/console/chains.js";
import * as retractions from "../../api/console/retraction_words.js";
import * as sentences from "../../api/console/sentences.js";

const known = { ...access, ...chains, ...retractions, ...sentences };
const calls = JSON.parse(await text(process.stdin));
process.stdout.write(JSON.stringify(calls.map(([name, ...given]) => known[name](...given))));
