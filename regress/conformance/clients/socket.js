// What Node 20 lacks: a WebSocket for the clients. This one keeps a record of
// every frame, so that a test sees what the client does not tell.
import { WebSocket } from 'ws'

export const sockets = [] // every socket that was opened, the oldest first

export class RecordingWebSocket extends WebSocket {
  constructor(...args) {
    super(...args)
    this.received = []
    this.sent = []
    this.on('message', (data) => this.received.push(JSON.parse(data.toString())))
    sockets.push(this)
  }

  send(data, ...rest) {
    this.sent.push(JSON.parse(data.toString()))
    return super.send(data, ...rest)
  }
}

globalThis.WebSocket = RecordingWebSocket

/** The frames received of a subscription, over all sockets. */
export function framesOf(id) {
  return sockets.flatMap((s) => s.received).filter((f) => ['EVENT', 'EOSE', 'CLOSED'].includes(f[0]) && f[1] === id)
}

/** The ids of the subscriptions that a filter with this topic was sent under. */
export function idsOf(topic) {
  const reqs = sockets.flatMap((s) => s.sent).filter((m) => m[0] === 'REQ' && m.slice(2).some((f) => f['#t']?.includes(topic)))
  return [...new Set(reqs.map((m) => m[1]))]
}

/** Whether an AUTH sent on a socket was accepted. */
export function hasAuthenticated(s) {
  return s.sent.some((m) => m[0] === 'AUTH' && s.received.some((f) => f[0] === 'OK' && f[1] === m[1].id && f[2]))
}

/** Whether an AUTH sent to the relay at url was accepted. */
export function authenticated(url) {
  return sockets.filter((s) => s.url === url).some(hasAuthenticated)
}

/** A bare connection, for what a client cannot say. */
export class Raw {
  static async open(url) {
    const raw = new Raw()
    raw.socket = new RecordingWebSocket(url)
    await new Promise((done, failed) => raw.socket.once('open', done).once('error', failed))
    return raw
  }

  /** Sends a message and resolves with the first frame that wanted accepts. */
  ask(message, wanted) {
    return new Promise((done, failed) => {
      const timer = setTimeout(() => failed(new Error(`no answer to ${JSON.stringify(message)}`)), 15_000)
      const listen = (data) => {
        const frame = JSON.parse(data.toString())
        if (!wanted(frame)) return
        clearTimeout(timer)
        this.socket.off('message', listen)
        done(frame)
      }
      this.socket.on('message', listen)
      this.socket.send(JSON.stringify(message))
    })
  }

  publish(event) {
    return this.ask(['EVENT', event], (f) => f[0] === 'OK' && f[1] === event.id)
  }

  count(filter) {
    return this.ask(['COUNT', 'count', filter], (f) => f[0] === 'COUNT' || f[0] === 'CLOSED')
  }

  close() {
    this.socket.terminate()
  }
}
