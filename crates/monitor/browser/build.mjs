// node build.mjs [--check]: builds the page's script from its modules, or checks that the built one is up to date.
//
// The process embeds and serves the built script: one request in place of one for each module.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const page = new URL("../page/", import.meta.url);
const built = fileURLToPath(new URL("built/page.js", page));
const isCheck = process.argv[2] === "--check";

const { outputFiles } = await build({
  absWorkingDir: fileURLToPath(page),
  entryPoints: ["app.js"],
  outfile: built,
  bundle: true,
  format: "esm",
  charset: "utf8",
  banner: { js: "// Built from the modules in crates/monitor/page by `node crates/monitor/browser/build.mjs`. Do not edit." },
  write: !isCheck,
});
if (isCheck && outputFiles[0].text !== readFileSync(built, "utf8")) {
  console.error("crates/monitor/page/built/page.js is not built from the modules beside it: node crates/monitor/browser/build.mjs");
  process.exit(1);
}
console.log(isCheck ? "the built script of the page is up to date" : `built ${built}`);
