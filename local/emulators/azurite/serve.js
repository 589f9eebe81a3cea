"use strict";
// Azurite's blob service alone. It stops, its data written, on SIGTERM and also when its standard input ends: the
// parent holds the other end of that pipe, so Azurite outlives no parent, not even one that was killed.
// (Azurite's own entry waits on SIGTERM until the last client has closed its connection, which may be never.)
require("./speed");
if (process.argv.includes("--inMemoryPersistence")) {
  // Its collector of dead bytes looks at all blobs every ten minutes and answers no request meanwhile. In memory, the
  // bytes are gone with the process anyway.
  require("azurite/dist/src/blob/utils/constants").DEFAULT_GC_INTERVAL_MS = 2 ** 31 - 1;
}
require("./listing");
const { BlobServerFactory } = require("azurite/dist/src/blob/BlobServerFactory");

async function main() {
  const server = await new BlobServerFactory().createServer();
  let stopping = false;
  async function stop() {
    if (stopping) return;
    stopping = true;
    await server.close();
    process.exit(0);
  }
  process.on("SIGTERM", stop).on("SIGINT", stop);
  await server.start();
  console.log(`Azurite's blob service listens on ${server.getHttpServerAddress()}`);
  process.stdin.on("end", stop).resume();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
