// Events that the tests make without the client under test.
import { randomBytes } from 'node:crypto'
import { finalizeEvent, generateSecretKey } from 'nostr-tools/pure'

export const newTopic = () => randomBytes(8).toString('hex')

export const newKey = () => generateSecretKey()

export const now = () => Math.floor(Date.now() / 1000)

/** A finished event on a topic. */
export function note(key, topic, more = {}) {
  const { tags = [], ...rest } = more
  return finalizeEvent({ kind: 1, created_at: now(), content: newTopic(), ...rest, tags: [['t', topic], ...tags] }, key)
}

/** The same event with a signature of another one. */
export function badlySigned(key, topic) {
  return { ...note(key, topic), sig: note(key, topic).sig }
}
