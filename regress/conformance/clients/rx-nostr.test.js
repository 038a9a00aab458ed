import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { framesOf, idsOf, Raw, RecordingWebSocket } from './socket.js'
import { createRxBackwardReq, createRxForwardReq, createRxNostr, noopSigner } from 'rx-nostr'
import { seckeySigner, verifier } from '@rx-nostr/crypto'
import { getPublicKey } from 'nostr-tools/pure'
import { badlySigned, newKey, newTopic, note, now } from './events.js'
import { eventually, Relay } from './relay.js'

const hex = (bytes) => Buffer.from(bytes).toString('hex')

describe('rx-nostr', () => {
  const key = newKey()
  let relay, client, raw

  const connect = (url) => {
    const c = createRxNostr({
      verifier,
      signer: seckeySigner(hex(key)),
      websocketCtor: RecordingWebSocket,
      authenticator: 'auto',
      connectionStrategy: 'aggressive',
      retry: { strategy: 'linear', maxCount: 200, interval: 50 },
    })
    c.setDefaultRelays([url])
    return c
  }

  before(async () => {
    relay = await Relay.start()
    client = connect(relay.url)
    raw = await Raw.open(relay.url)
  })
  after(async () => {
    client?.dispose()
    raw?.close()
    await relay?.stop()
  })

  /** Sends an event and resolves with the last OK. */
  const send = (event, options = {}, c = client) =>
    new Promise((done, failed) => {
      let last
      c.send(event, options).subscribe({ next: (ok) => (last = ok), complete: () => done(last), error: failed })
    })

  /** Everything stored that matches, up to EOSE. */
  const fetchAll = (filter, c = client) =>
    new Promise((done, failed) => {
      const req = createRxBackwardReq()
      const events = []
      c.use(req).subscribe({ next: (p) => events.push(p.event), complete: () => done(events), error: failed })
      req.emit(filter)
      req.over()
    })

  /** A subscription that goes on; emit replaces its filters under the same id. */
  const follow = (c = client) => {
    const req = createRxForwardReq()
    const events = []
    const subscription = c.use(req).subscribe((p) => events.push(p.event.id))
    return { req, events, close: () => subscription.unsubscribe() }
  }

  /** Resolves when the relay has sent EOSE for a filter on the topic. */
  const eosed = (topic) => eventually('EOSE', () => idsOf(topic).some((id) => framesOf(id).some((f) => f[0] === 'EOSE')))

  const passed = async () => {
    const topic = newTopic()
    const fence = follow()
    fence.req.emit({ '#t': [topic] })
    await eosed(topic)
    await raw.publish(note(key, topic))
    await eventually('the last event', () => fence.events.length)
    fence.close()
  }

  it('publishes and reads back', async () => {
    const topic = newTopic()
    const ok = await send({ kind: 1, content: '"quotes", \\ and \u2028 \u{1d11e}', tags: [['t', topic]] })
    assert.equal(ok.ok, true, ok.notice)
    const got = await fetchAll({ '#t': [topic] })
    assert.equal(got.length, 1)
    assert.equal(got[0].id, ok.eventId)
    assert.equal(got[0].pubkey, getPublicKey(key))
  })

  it('receives stored events, then live ones', async () => {
    const topic = newTopic()
    const stored = [note(key, topic), note(key, topic, { created_at: now() - 5 })]
    for (const e of stored) await raw.publish(e)
    const got = follow()
    got.req.emit({ '#t': [topic] })
    await eosed(topic)
    const live = note(key, topic)
    await raw.publish(live)
    await passed()
    assert.deepEqual(got.events.sort(), [...stored, live].map((e) => e.id).sort())
    got.close()
  })

  it('replaces a subscription under the same id', async () => {
    const [before, after] = [newTopic(), newTopic()]
    const got = follow()
    got.req.emit({ '#t': [before] })
    await eosed(before)
    got.req.emit({ '#t': [after] })
    await eventually('the second REQ', () => idsOf(after).length)
    const [id] = idsOf(after)
    assert.deepEqual(idsOf(before), [id], 'rx-nostr uses one id for both')
    await eventually('its EOSE', () => framesOf(id).filter((f) => f[0] === 'EOSE').length === 2)
    const seen = framesOf(id).length
    await raw.publish(note(key, before))
    const wanted = note(key, after)
    await raw.publish(wanted)
    await passed()
    assert.deepEqual(framesOf(id).slice(seen).map((f) => f[2].id), [wanted.id])
    assert.deepEqual(got.events, [wanted.id])
    got.close()
  })

  it('receives nothing after close', async () => {
    const topic = newTopic()
    const got = follow()
    got.req.emit({ '#t': [topic] })
    await eosed(topic)
    got.close()
    await passed()
    const [id] = idsOf(topic)
    const seen = framesOf(id).length
    await raw.publish(note(key, topic))
    await passed()
    assert.equal(framesOf(id).length, seen)
    assert.deepEqual(got.events, [])
  })

  it('counts over a bare socket, which it cannot itself', async () => {
    const topic = newTopic()
    for (let i = 0; i < 3; i++) await raw.publish(note(key, topic))
    assert.deepEqual(await raw.count({ '#t': [topic] }), ['COUNT', 'count', { count: 3 }])
  })

  it('is told why an event is refused', async () => {
    const bad = await send(badlySigned(key, newTopic()), { signer: noopSigner() })
    assert.equal(bad.ok, false)
    assert.match(bad.notice, /^invalid: /)
    const e = note(key, newTopic())
    assert.equal((await send(e, { signer: noopSigner() })).ok, true)
    const again = await send(e, { signer: noopSigner() })
    assert.equal(again.ok, true, 'a duplicate is accepted')
    assert.match(again.notice, /^duplicate: /)
  })

  it('publishes a protected event once it has authenticated', async () => {
    const ok = await send({ kind: 1, content: 'protected', tags: [['-'], ['t', newTopic()]] })
    assert.equal(ok.ok, true, ok.notice)
    const stranger = note(newKey(), newTopic(), { tags: [['-']] })
    const refused = await raw.publish(stranger)
    assert.equal(refused[2], false)
    assert.match(refused[3], /^auth-required: /)
  })

  it('authenticates by itself where the relay demands it', async () => {
    const strict = await Relay.start({ AUTH_REQUIRE: 'all' })
    const c = connect(strict.url)
    const topic = newTopic()
    const ok = await send({ kind: 1, content: 'x', tags: [['t', topic]] }, {}, c)
    assert.equal(ok.ok, true, ok.notice)
    const got = await fetchAll({ '#t': [topic] }, c)
    assert.deepEqual(got.map((e) => e.id), [ok.eventId])
    c.dispose()
    await strict.stop()
  })

  it('comes back after the relay was killed', async () => {
    const topic = newTopic()
    const e = note(key, topic, { created_at: now() - 5 })
    await raw.publish(e)
    const got = follow()
    got.req.emit({ '#t': [topic] })
    await eventually('the stored event', () => got.events.includes(e.id))
    await relay.kill()
    await relay.restart()
    raw = await Raw.open(relay.url)
    const live = note(key, topic)
    await raw.publish(live)
    await eventually('the event published after the crash', () => got.events.includes(live.id))
    assert.deepEqual((await fetchAll({ '#t': [topic] })).map((x) => x.id), [live.id, e.id])
    got.close()
  })
})
