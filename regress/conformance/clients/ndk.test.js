import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { authenticated, framesOf, idsOf, Raw } from './socket.js'
import NDK, { NDKEvent, NDKPrivateKeySigner, NDKRelayAuthPolicies, NDKRelaySet } from '@nostr-dev-kit/ndk'
import { badlySigned, newKey, newTopic, note, now } from './events.js'
import { eventually, Relay } from './relay.js'

const hex = (bytes) => Buffer.from(bytes).toString('hex')

// NDK picks the ids of subscriptions itself and never uses one again, so that
// replacement under the same id cannot be tried with it.
describe('NDK', () => {
  const key = newKey()
  let relay, ndk, raw

  const connect = async (url, signIn = false) => {
    const n = new NDK({
      explicitRelayUrls: [url],
      signer: new NDKPrivateKeySigner(hex(key)),
      enableOutboxModel: false,
      autoConnectUserRelays: false,
      initialValidationRatio: 1,
      lowestValidationRatio: 1,
    })
    if (signIn) n.relayAuthDefaultPolicy = NDKRelayAuthPolicies.signIn({ ndk: n })
    await n.connect(5000)
    await eventually('NDK has connected', () => n.pool.connectedRelays().length === 1)
    return n
  }

  const disconnect = (n) => {
    for (const r of n.pool.relays.values()) r.disconnect()
  }

  before(async () => {
    relay = await Relay.start()
    ndk = await connect(relay.url)
    raw = await Raw.open(relay.url)
  })
  after(async () => {
    if (ndk) disconnect(ndk)
    raw?.close()
    await relay?.stop()
  })

  const draft = (topic, more = {}, n = ndk) => {
    const { tags = [], ...rest } = more
    return new NDKEvent(n, { kind: 1, content: newTopic(), created_at: now(), ...rest, tags: [['t', topic], ...tags] })
  }

  /** A subscription that remembers; eosed resolves at EOSE. */
  const subscribe = (filter, options = {}, n = ndk) => {
    const got = { events: [], eoses: 0 }
    got.eosed = new Promise((done) => {
      got.sub = n.subscribe(
        filter,
        { closeOnEose: false, groupable: false, ...options },
        {
          onEvent: (e) => got.events.push(e.id),
          onEose: () => {
            got.eoses++
            done()
          },
        },
      )
    })
    got.closed = new Promise((done) => got.sub.on('closed', (_, reason) => done(reason)))
    return got
  }

  const passed = async () => {
    const topic = newTopic()
    const fence = subscribe({ '#t': [topic] })
    await fence.eosed
    await raw.publish(note(key, topic))
    await eventually('the last event', () => fence.events.length)
    fence.sub.stop()
  }

  it('publishes and reads back', async () => {
    const e = draft(newTopic(), { content: '"quotes", \\ and \u2028 \u{1d11e}' })
    const to = await e.publish()
    assert.equal(to.size, 1)
    const got = await ndk.fetchEvent({ ids: [e.id] })
    assert.deepEqual(got.rawEvent(), e.rawEvent())
  })

  it('receives stored events, one EOSE, then live ones', async () => {
    const topic = newTopic()
    const stored = [note(key, topic), note(key, topic, { created_at: now() - 5 })]
    for (const e of stored) await raw.publish(e)
    const got = subscribe({ '#t': [topic] })
    await got.eosed
    assert.deepEqual(got.events, stored.map((e) => e.id))
    const live = note(key, topic)
    await raw.publish(live)
    await passed()
    assert.deepEqual(got.events, [...stored, live].map((e) => e.id))
    assert.equal(got.eoses, 1)
    got.sub.stop()
  })

  it('receives nothing after close', async () => {
    const topic = newTopic()
    const got = subscribe({ '#t': [topic] })
    await got.eosed
    got.sub.stop()
    await passed()
    const [id] = idsOf(topic)
    const seen = framesOf(id).length
    assert.equal(seen, 1, 'EOSE only')
    await raw.publish(note(key, topic))
    await passed()
    assert.equal(framesOf(id).length, seen)
    assert.equal(got.events.length, 0)
  })

  it('counts', async () => {
    const topic = newTopic()
    for (let i = 0; i < 3; i++) await raw.publish(note(key, topic))
    const result = await ndk.count({ '#t': [topic] })
    assert.equal(result.count, 3)
  })

  it('is told why an event is refused', async () => {
    const set = NDKRelaySet.fromRelayUrls([relay.url], ndk)
    const bad = new NDKEvent(ndk, badlySigned(key, newTopic()))
    await assert.rejects(set.publish(bad), (err) => /invalid: /.test([...err.errors.values()].map(String).join()))
    const e = draft(newTopic())
    await e.publish()
    assert.equal((await set.publish(e)).size, 1, 'a duplicate is accepted')
    assert.match((await raw.publish(e.rawEvent()))[3], /^duplicate: /)
  })

  it('replaces a replaceable event', async () => {
    const topic = newTopic()
    for (const [i, content] of ['first', 'second'].entries()) {
      await draft(topic, { kind: 30078, content, created_at: now() + i, tags: [['d', topic]] }).publish()
    }
    const got = await ndk.fetchEvents({ '#t': [topic] })
    assert.deepEqual([...got].map((e) => e.content), ['second'])
  })

  it('publishes a protected event once it has authenticated', async () => {
    const e = draft(newTopic(), { tags: [['-']] })
    await assert.rejects(e.publish(undefined, 3000))
    const author = await connect(relay.url, true)
    await eventually('NDK has authenticated', () => authenticated(relay.url))
    const again = draft(newTopic(), { tags: [['-']] }, author)
    assert.equal((await again.publish()).size, 1)
    disconnect(author)
  })

  it('authenticates by itself where the relay demands it', async () => {
    const strict = await Relay.start({ AUTH_REQUIRE: 'all' })
    const n = await connect(strict.url, true)
    await eventually('NDK has authenticated', () => authenticated(strict.url))
    const topic = newTopic()
    const e = draft(topic, {}, n)
    await e.publish()
    const got = await n.fetchEvents({ '#t': [topic] })
    assert.deepEqual([...got].map((x) => x.id), [e.id])
    disconnect(n)
    await strict.stop()
  })

  it('comes back after the relay was killed', async () => {
    // Without a policy for AUTH, NDK waits for one after the challenge and does
    // not connect again.
    const robust = await connect(relay.url, true)
    const topic = newTopic()
    const e = note(key, topic, { created_at: now() - 5 })
    await raw.publish(e)
    const got = subscribe({ '#t': [topic] }, {}, robust)
    await got.eosed
    await relay.kill()
    await relay.restart()
    raw = await Raw.open(relay.url)
    const live = note(key, topic)
    await raw.publish(live)
    await eventually('the event published after the crash', () => got.events.includes(live.id))
    assert.equal(got.events[0], e.id, 'what was acknowledged before the crash')
    disconnect(robust)
  })
})
