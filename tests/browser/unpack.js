"use strict";
// Puts the Chromium that the package carries, and the libraries it needs, where the tests start it from.
const { execFileSync } = require("node:child_process");
const { createReadStream, createWriteStream, mkdirSync, renameSync, rmSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const { pipeline } = require("node:stream/promises");
const { createBrotliDecompress } = require("node:zlib");

const PACKED = join(__dirname, "node_modules", "@sparticuz", "chromium", "bin");
const PLACE = join(__dirname, "node_modules", ".chromium");
// Those of the package name the places of another platform; without a font Chromium ends at the first form control.
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(PLACE, "fonts")}</dir>
  <cachedir>${join(PLACE, "font-cache")}</cachedir>
</fontconfig>
`;

async function main() {
  const fresh = `${PLACE}.new`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  const unpacked = (name, mode) =>
    pipeline(
      createReadStream(join(PACKED, `${name}.br`)),
      createBrotliDecompress(),
      createWriteStream(join(fresh, name), { mode }),
    );
  await unpacked("chromium", 0o755);
  for (const name of ["al2023.tar", "fonts.tar"]) {
    await unpacked(name);
    execFileSync("tar", ["-xf", name], { cwd: fresh });
    rmSync(join(fresh, name));
  }
  writeFileSync(join(fresh, "fonts.conf"), FONTS);
  rmSync(PLACE, { recursive: true, force: true });
  renameSync(fresh, PLACE);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
