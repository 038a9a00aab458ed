import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { framesOf, Raw, RecordingWebSocket } from './socket.js'
import { Relay as Client, useWebSocketImplementation } from 'nostr-tools/relay'
import { SimplePool, useWebSocketImplementation as usePoolImplementation } from 'nostr-tools/pool'
import { finalizeEvent, verifyEvent } from 'nostr-tools/pure'
import { badlySigned, newKey, newTopic, note, now } from './events.js'
import { eventually, Relay } from './relay.js'

useWebSocketImplementation(RecordingWebSocket)
usePoolImplementation(RecordingWebSocket)

/** A subscription that remembers; eosed resolves at EOSE, closed at its end. */
function subscribe(client, filters, params = {}) {
  const got = { events: [], eoses: 0 }
  got.closed = new Promise((done) => (got.onclose = done))
  got.eosed = new Promise((done) => {
    got.sub = client.subscribe(filters, {
      ...params,
      eoseTimeout: 60_000, // nostr-tools makes up an EOSE of its own
      onevent: (e) => got.events.push(e.id),
      oneose: () => {
        got.eoses++
        done()
      },
      onclose: got.onclose,
    })
  })
  return got
}

describe('nostr-tools', () => {
  const key = newKey()
  let relay, client, raw

  before(async () => {
    relay = await Relay.start()
    client = await Client.connect(relay.url)
    raw = await Raw.open(relay.url)
  })
  after(async () => {
    client?.close()
    raw?.close()
    await relay?.stop()
  })

  /** Waits until everything that was published has passed the client. */
  const passed = async () => {
    const topic = newTopic()
    const fence = subscribe(client, [{ '#t': [topic] }])
    await fence.eosed
    await raw.publish(note(key, topic))
    await eventually('the last event', () => fence.events.length)
    fence.sub.close()
  }

  it('publishes and reads back', async () => {
    const e = note(key, newTopic(), { content: '"quotes", \\ and \u2028 \u{1d11e}' })
    await client.publish(e)
    const got = await new Promise((done) => {
      const sub = client.subscribe([{ ids: [e.id] }], { onevent: done, oneose: () => sub.close() })
    })
    assert.deepEqual(JSON.parse(JSON.stringify(got)), JSON.parse(JSON.stringify(e)))
    assert.ok(verifyEvent({ ...got }))
  })

  it('receives stored events, one EOSE, then live ones', async () => {
    const topic = newTopic()
    const stored = [note(key, topic), note(key, topic, { created_at: now() - 5 })]
    for (const e of [...stored].reverse()) await client.publish(e)
    const got = subscribe(client, [{ '#t': [topic] }])
    await got.eosed
    assert.deepEqual(got.events, stored.map((e) => e.id))
    const live = note(key, topic)
    await raw.publish(live)
    await passed()
    assert.deepEqual(got.events, [...stored, live].map((e) => e.id))
    assert.equal(got.eoses, 1)
    got.sub.close()
  })

  it('replaces a subscription under the same id', async () => {
    const [before, after] = [newTopic(), newTopic()]
    await client.publish(note(key, before))
    const first = subscribe(client, [{ '#t': [before] }], { id: 'same' })
    await first.eosed
    const second = subscribe(client, [{ '#t': [after] }], { id: 'same' })
    await second.eosed
    const seen = framesOf('same').length
    await raw.publish(note(key, before))
    const wanted = note(key, after)
    await raw.publish(wanted)
    await passed()
    assert.deepEqual(framesOf('same').slice(seen).map((f) => f[2].id), [wanted.id])
    assert.deepEqual(second.events, [wanted.id])
    assert.equal(first.events.length, 1)
    second.sub.close()
  })

  it('receives nothing after close', async () => {
    const topic = newTopic()
    const got = subscribe(client, [{ '#t': [topic] }], { id: 'closed' })
    await got.eosed
    got.sub.close()
    await passed()
    const seen = framesOf('closed').length
    await raw.publish(note(key, topic))
    await passed()
    assert.equal(framesOf('closed').length, seen)
    assert.equal(got.events.length, 0)
  })

  it('counts', async () => {
    const topic = newTopic()
    for (let i = 0; i < 3; i++) await client.publish(note(key, topic))
    assert.equal(await client.count([{ '#t': [topic] }], {}), 3)
    assert.equal(await client.count([{ '#t': [newTopic()] }], {}), 0)
  })

  it('is told why an event is refused', async () => {
    await assert.rejects(client.publish(badlySigned(key, newTopic())), /^Error: invalid: /)
    const e = note(key, newTopic())
    await client.publish(e)
    assert.match(await client.publish(e), /^duplicate: /, 'a duplicate is accepted')
  })

  it('is told why a subscription is refused', async () => {
    const got = subscribe(client, [{ unknown: 1 }])
    assert.match(await got.closed, /unsupported: /)
  })

  it('publishes a protected event after AUTH only', async () => {
    const e = note(key, newTopic(), { tags: [['-']] })
    await assert.rejects(client.publish(e), /auth-required: /)
    await client.auth(async (template) => finalizeEvent(template, newKey()))
    await assert.rejects(client.publish(e), /restricted: /)
    const author = await Client.connect(relay.url)
    await eventually('a challenge', () => author.challenge)
    await author.auth(async (template) => finalizeEvent(template, key))
    await author.publish(e)
    author.close()
  })

  it('authenticates by itself in a pool where the relay demands it', async () => {
    const strict = await Relay.start({ AUTH_REQUIRE: 'all' })
    const pool = new SimplePool()
    const onauth = async (template) => finalizeEvent(template, key)
    const topic = newTopic()
    const e = note(key, topic)
    await Promise.all(pool.publish([strict.url], e, { onauth }))
    const got = await new Promise((done) => {
      pool.subscribe([strict.url], { '#t': [topic] }, { onauth, onevent: done })
    })
    assert.equal(got.id, e.id)
    pool.destroy()
    await strict.stop()
  })

  it('comes back after the relay was killed', async () => {
    const topic = newTopic()
    const robust = new Client(relay.url, { enableReconnect: true })
    robust.resubscribeBackoff = [50]
    await robust.connect()
    const e = note(key, topic, { created_at: now() - 5 })
    await robust.publish(e)
    const got = subscribe(robust, [{ '#t': [topic] }])
    await got.eosed
    await relay.kill()
    await relay.restart()
    raw = await Raw.open(relay.url)
    const live = note(key, topic)
    await raw.publish(live)
    await eventually('the event published after the crash', () => got.events.includes(live.id))
    assert.ok(got.events.includes(e.id), 'what was acknowledged before the crash is there')
    const count = await raw.count({ '#t': [topic] })
    assert.equal(count[2].count, 2)
    robust.close()
  })
})
