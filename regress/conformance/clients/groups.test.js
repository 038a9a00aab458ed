// A private group (NIP-29) with real clients in it: one joins by invite, reads, is
// removed and receives nothing further, while another one keeps reading. Each client
// is the victim once. Both authenticate (NIP-42) through their own APIs.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { hasAuthenticated, Raw, RecordingWebSocket, sockets } from './socket.js'
import NDK, { NDKEvent, NDKPrivateKeySigner, NDKRelayAuthPolicies } from '@nostr-dev-kit/ndk'
import { Relay as Client, useWebSocketImplementation } from 'nostr-tools/relay'
import { finalizeEvent, getPublicKey } from 'nostr-tools/pure'
import { newKey, newTopic, note, now } from './events.js'
import { eventually, Relay } from './relay.js'

useWebSocketImplementation(RecordingWebSocket)

/** A member of the group on nostr-tools. */
class WithNostrTools {
  key = newKey()

  async connect(url) {
    this.client = await Client.connect(url)
    await eventually('a challenge', () => this.client.challenge)
    await this.client.auth(async (template) => finalizeEvent(template, this.key))
    this.socket = sockets.at(-1)
  }

  /** Resolves when the event was accepted, rejects with what the relay said. */
  publish(kind, tags, content = '') {
    return this.client.publish(finalizeEvent({ kind, created_at: now(), tags, content }, this.key))
  }

  subscribe(filter) {
    const got = { events: [] }
    got.closed = new Promise((done) => (got.onclose = done))
    got.eosed = new Promise((done) => {
      got.sub = this.client.subscribe([filter], {
        eoseTimeout: 60_000, // nostr-tools makes up an EOSE of its own
        onevent: (e) => got.events.push(e.content),
        oneose: done,
        onclose: got.onclose,
      })
    })
    return got
  }

  close() {
    this.client.close()
  }
}

/** A member of the group on NDK. */
class WithNDK {
  key = newKey()

  async connect(url) {
    this.ndk = new NDK({
      explicitRelayUrls: [url],
      signer: new NDKPrivateKeySigner(Buffer.from(this.key).toString('hex')),
      enableOutboxModel: false,
      autoConnectUserRelays: false,
      initialValidationRatio: 1,
      lowestValidationRatio: 1,
    })
    this.ndk.relayAuthDefaultPolicy = NDKRelayAuthPolicies.signIn({ ndk: this.ndk })
    const before = sockets.length
    await this.ndk.connect(5000)
    this.socket = await eventually('NDK has authenticated', () => sockets.slice(before).find(hasAuthenticated))
  }

  async publish(kind, tags, content = '') {
    const e = new NDKEvent(this.ndk, { kind, created_at: now(), tags, content })
    try {
      await e.publish(undefined, 10_000)
    } catch (err) {
      throw new Error([...err.errors.values()].map(String).join())
    }
  }

  subscribe(filter) {
    const got = { events: [] }
    got.eosed = new Promise((done) => {
      got.sub = this.ndk.subscribe(
        filter,
        { closeOnEose: false, groupable: false },
        { onEvent: (e) => got.events.push(e.content), onEose: done },
      )
    })
    got.closed = new Promise((done) => got.sub.on('closed', (_, reason) => done(reason)))
    return got
  }

  close() {
    for (const r of this.ndk.pool.relays.values()) r.disconnect()
  }
}

describe('a private group', () => {
  const admin = newKey()
  let relay, raw

  before(async () => {
    relay = await Relay.start()
    raw = await Raw.open(relay.url)
  })
  after(async () => {
    raw?.close()
    await relay?.stop()
  })

  /** What the admin does in a group. */
  const moderate = async (group, kind, tags = [], content = '') => {
    const e = finalizeEvent({ kind, created_at: now(), tags: [['h', group], ...tags], content }, admin)
    const ok = await raw.publish(e)
    assert.equal(ok[2], true, ok[3])
  }

  /** Waits until the client has received all that was passed on before. */
  const passed = async (member) => {
    const topic = newTopic()
    const fence = member.subscribe({ kinds: [1], '#t': [topic] })
    await fence.eosed
    await raw.publish(note(newKey(), topic))
    await eventually('the last event', () => fence.events.length)
  }

  /** Events of the group that the client's socket has received. */
  const framesOf = (member, group) =>
    member.socket.received.filter((f) => f[0] === 'EVENT' && f[2].tags.some((t) => t[0] === 'h' && t[1] === group))

  for (const [name, Victim, Witness] of [
    ['nostr-tools', WithNostrTools, WithNDK],
    ['NDK', WithNDK, WithNostrTools],
  ]) {
    it(`cuts off a removed member on ${name}, and nobody else`, async () => {
      const group = newTopic()
      const filter = { kinds: [9], '#h': [group] }
      await moderate(group, 9007, [['private'], ['closed'], ['restricted']])
      await moderate(group, 9009, [['code', 'welcome']])
      await moderate(group, 9, [], 'before')

      const [victim, witness] = [new Victim(), new Witness()]
      await victim.connect(relay.url)
      await witness.connect(relay.url)

      const early = victim.subscribe(filter)
      assert.match(await early.closed, /restricted: /, 'a key alone opens nothing')
      await assert.rejects(victim.publish(9021, [['h', group], ['code', 'guess']]), /restricted: /)
      const subs = new Map()
      for (const member of [victim, witness]) {
        await member.publish(9021, [['h', group], ['code', 'welcome']])
        const got = member.subscribe(filter)
        await got.eosed
        assert.deepEqual(got.events, ['before'])
        subs.set(member, got)
      }
      await victim.publish(9, [['h', group]], 'hello')
      for (const got of subs.values()) await eventually('a message of the group', () => got.events.includes('hello'))

      await moderate(group, 9001, [['p', getPublicKey(victim.key)]])
      assert.match(await subs.get(victim).closed, /restricted: /, 'the client is told why')
      const seen = framesOf(victim, group).length
      assert.equal(seen, 2, 'what it was shown as a member')
      await moderate(group, 9, [], 'after')
      await passed(victim)
      await passed(witness)
      assert.equal(framesOf(victim, group).length, seen, 'nothing further')
      assert.deepEqual(subs.get(victim).events, ['before', 'hello'])
      assert.deepEqual(subs.get(witness).events, ['before', 'hello', 'after'])

      const again = victim.subscribe(filter)
      assert.match(await again.closed, /restricted: /)
      assert.deepEqual(again.events, [])
      await assert.rejects(victim.publish(9, [['h', group]], 'let me in'), /restricted: /)
      await witness.publish(9, [['h', group]], 'still here')
      await eventually('a message of the group', () => subs.get(witness).events.includes('still here'))
      assert.equal(framesOf(victim, group).length, seen)
      victim.close()
      witness.close()
    })
  }
})
