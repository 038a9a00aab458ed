// The relay under test: a process of its own for each file of tests, so that it
// can be killed.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const binary = process.env.FENCEPOST_TEST_BINARY
if (!binary) throw new Error('FENCEPOST_TEST_BINARY must name a built fencepost; regress/conformance/run sets it')

const patience = 15_000 // milliseconds that anything may take that must come

/** Resolves when check returns something true, with that; rejects after a while. */
export async function eventually(what, check) {
  const end = Date.now() + patience
  for (;;) {
    const got = await check()
    if (got) return got
    if (Date.now() > end) throw new Error(`never: ${what}`)
    await new Promise((done) => setTimeout(done, 10))
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

export class Relay {
  /** Starts a relay; env holds FENCEPOST_ settings without that prefix. */
  static async start(env = {}) {
    const relay = new Relay()
    relay.data = mkdtempSync(join(tmpdir(), 'fencepost-clients-'))
    relay.port = await freePort()
    relay.url = `ws://127.0.0.1:${relay.port}/`
    relay.env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('FENCEPOST_')))
    for (const [name, value] of Object.entries(env)) relay.env[`FENCEPOST_${name}`] = value
    await relay.restart()
    return relay
  }

  /** Starts the process on the same port and data, and waits until it is ready. */
  async restart() {
    this.log = ''
    this.process = spawn(binary, ['serve', '--data', this.data, '--listen', `127.0.0.1:${this.port}`], { env: this.env })
    this.process.stderr.on('data', (chunk) => (this.log += chunk))
    this.process.stdout.on('data', (chunk) => (this.log += chunk))
    this.ended = new Promise((done) => this.process.on('exit', (code, signal) => done({ code, signal })))
    await eventually(`the relay is ready\n${this.log}`, async () => {
      if (this.process.exitCode !== null) throw new Error(`the relay ended\n${this.log}`)
      return fetch(`http://127.0.0.1:${this.port}/readyz`).then((r) => r.ok, () => false)
    })
  }

  /** Ends the process as a crash would. */
  async kill() {
    this.process.kill('SIGKILL')
    await this.ended
  }

  /** Ends the process in order. It must exit with 0. */
  async stop() {
    this.process.kill('SIGTERM')
    const { code } = await this.ended
    rmSync(this.data, { recursive: true })
    if (code !== 0) throw new Error(`the relay ended with ${code}\n${this.log}`)
  }
}
