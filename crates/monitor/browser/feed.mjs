// Processes of `tickwire` on loopback, and a feed: a simulated exchange, a multicaster whose lines lose packets, and a handler with a monitor.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PATIENCE_MS = 30_000;

/** Waits until `poll` returns something. */
export async function until(what, poll, patience = PATIENCE_MS) {
  const end = Date.now() + patience;
  for (;;) {
    const found = await poll();
    if (found) return found;
    if (Date.now() > end) throw new Error(`not in ${patience} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Options of two lines whose addresses no other process uses. */
export async function lines() {
  const [high, low] = [(process.pid >> 8) & 255, process.pid & 254];
  return `-a 239.251.${high}.${low} -p ${await freePort()} --line-b`;
}

/** The packets of a file of `tickwire generate`, which writes a four-byte big-endian length before each packet. */
export function packetsOf(path, count) {
  const bytes = readFileSync(path);
  const packets = [];
  for (let at = 0; packets.length < count && at < bytes.length; ) {
    const len = bytes.readUInt32BE(at);
    packets.push(bytes.subarray(at + 4, at + 4 + len));
    at += 4 + len;
  }
  return packets;
}

/** Processes of one program, with a directory of their own. `close` ends all processes and removes the directory. */
export class Processes {
  constructor(program) {
    this.program = program;
    this.directory = mkdtempSync(join(tmpdir(), "tickwire-monitor-"));
    this.processes = [];
    this.directories = [this.directory];
  }

  /** Makes `close` remove a further directory. */
  remove(directory) {
    this.directories.push(directory);
  }

  file(name) {
    return join(this.directory, name);
  }

  run(line) {
    execFileSync(this.program, line.split(" "), { stdio: ["ignore", "ignore", "inherit"] });
  }

  start(line) {
    const child = spawn(this.program, line.split(" "), { stdio: ["ignore", "pipe", "pipe"] });
    child.text = "";
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding("utf8");
      output.on("data", (text) => (child.text += text));
    }
    this.processes.push(child);
    return child;
  }

  /** Waits until a process says where its monitor is, and returns that address. */
  monitorOf(child) {
    return until("the monitor's address", () => child.text.match(/https?:\/\/[^\s/]+/)?.[0]);
  }

  async end(child) {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  }

  async close() {
    // Interrupted first, not killed: a killed process does not end its own children.
    for (const child of this.processes) child.kill("SIGINT");
    const isOver = ({ exitCode, signalCode }) => exitCode !== null || signalCode !== null;
    await until("all processes to end", () => this.processes.every(isOver), 5_000).catch(() => {});
    for (const child of this.processes) await this.end(child);
    for (const directory of this.directories) rmSync(directory, { recursive: true, force: true });
  }
}

export class Feed extends Processes {
  /** Makes the files of a feed of so many messages, and chooses its groups. */
  async generate(messages) {
    this.lines = await lines();
    this.run(
      `generate cme -n ${messages} --framing cme --snapshot-every 20 -o ${this.file("f.bin")} --snapshots ${this.file("s.bin")} --write-templates ${this.file("t.xml")}`,
    );
  }

  async begin() {
    await this.generate(120_000);
    await this.receive();
    await this.send();
  }

  async receive() {
    this.port ??= await freePort();
    this.handler = this.start(
      `receive -t ${this.file("t.xml")} --framing cme ${this.lines} --snapshots --heartbeat-interval 1s --past-done --hold 5ms --monitor ${this.port} --quiet`,
    );
    this.address = await this.monitorOf(this.handler);
  }

  send(loss = "3,2") {
    this.sender = this.start(
      `multicast -f ${this.file("f.bin")} --snapshots ${this.file("s.bin")} ${this.lines} --rate 1000 --loss ${loss} --duplicate 1 --reorder 1 --json -`,
    );
  }

  async get(path) {
    const response = await fetch(this.address + path);
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return path === "/metrics" ? response.text() : response.json();
  }

  state() {
    return this.get("/api/v1/state");
  }
}
