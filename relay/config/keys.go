package config

import (
	"math"
	"strings"
	"time"
)

// key is one row of the table: everything there is to know about one setting.
type key struct {
	name  string // section.key, or key alone; a section can be one of another: store.postgres
	doc   string // meaning and unit, one line
	when  effect
	field func(*Config) any // pointer to the field
	rule  rule
}

// effect says when a changed value counts.
type effect uint8

const (
	atOnce        effect = iota // after a reload
	atNextConnect               // after a reload, for connections that are opened then
	atRestart
)

func (k key) section() string {
	return k.name[:max(strings.LastIndexByte(k.name, '.'), 0)]
}

func (k key) leaf() string { return k.name[strings.LastIndexByte(k.name, '.')+1:] }

// env returns the name of the key in the environment.
func (k key) env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(k.name, ".", "_"))
}

const (
	whyMemory = "it bounds the memory of a connection; it can be raised, not turned off"
	whyGroups = "groups are kept in memory; it can be raised, not turned off"
	whyHang   = "without it a peer could hold a connection for ever; it can be raised, not turned off"
)

var (
	orOff     = number{min: 1, off: true}
	bounded   = number{min: 1, why: whyMemory}
	timeout   = number{min: int64(time.Millisecond), why: whyHang}
	timeOrOff = number{min: int64(time.Second), off: true}
)

// keys is the table, in the order in which it is printed. Rows of one section
// stand together.
var keys = []key{
	{"listen", "address and port of the server", atRestart, func(c *Config) any { return &c.Listen }, text(checkListen)},
	{"data", "folder of the embedded store; not used with store.postgres.url", atRestart, func(c *Config) any { return &c.Data }, text(notEmpty)},

	{"relay.name", "name that clients show", atOnce, func(c *Config) any { return &c.Relay.Name }, nil},
	{"relay.description", "plain text, paragraphs apart by an empty line", atOnce, func(c *Config) any { return &c.Relay.Description }, nil},
	{"relay.pubkey", "the operator's public key, 64 characters of lower-case hex: it may manage the relay (NIP-86) and moderate every group", atOnce, func(c *Config) any { return &c.Relay.PubKey }, text(checkPubKey)},
	{"relay.contact", "another way to reach the operator, such as mailto:...", atOnce, func(c *Config) any { return &c.Relay.Contact }, nil},
	{"relay.icon", "URL of a square picture", atOnce, func(c *Config) any { return &c.Relay.Icon }, text(checkLink)},
	{"relay.banner", "URL of a wide picture", atOnce, func(c *Config) any { return &c.Relay.Banner }, text(checkLink)},
	{"relay.software", "URL of the software's homepage, as NIP-11 shows it", atOnce, func(c *Config) any { return &c.Relay.Software }, text(checkLink)},
	{"relay.posting_policy", "URL of the rules for posting", atOnce, func(c *Config) any { return &c.Relay.PostingPolicy }, text(checkLink)},
	{"relay.terms_of_service", "URL of the terms of service", atOnce, func(c *Config) any { return &c.Relay.TermsOfService }, text(checkLink)},
	{"relay.urls", "public URLs with their path (ws:// or wss://), which AUTH and signed HTTP calls are checked against; the path is where the socket is served", atOnce, func(c *Config) any { return &c.Relay.URLs }, urls{}},

	{"log.level", "debug, info, warn or error", atOnce, func(c *Config) any { return &c.Log.Level }, enum{}},
	{"log.format", "text or json", atRestart, func(c *Config) any { return &c.Log.Format }, enum{}},

	{"network.trusted_proxies", "addresses or prefixes whose X-Forwarded-For is believed", atOnce, func(c *Config) any { return &c.Network.TrustedProxies }, nil},
	{"network.max_connections", "open connections; 0 is off", atOnce, func(c *Config) any { return &c.Network.MaxConnections }, orOff},
	{"network.max_connections_per_address", "open connections of one client address; 0 is off", atOnce, func(c *Config) any { return &c.Network.MaxConnectionsPerAddress }, orOff},
	{"network.handshake_timeout", "time for the headers of a request", atRestart, func(c *Config) any { return &c.Network.HandshakeTimeout }, timeout},
	{"network.read_timeout", "time for a whole HTTP request", atRestart, func(c *Config) any { return &c.Network.ReadTimeout }, timeout},
	{"network.write_timeout", "time for a whole HTTP answer", atRestart, func(c *Config) any { return &c.Network.WriteTimeout }, timeout},
	{"network.idle_timeout", "time that an HTTP connection waits for its next request", atRestart, func(c *Config) any { return &c.Network.IdleTimeout }, timeout},
	{"network.drain_timeout", "time to finish when the relay stops", atOnce, func(c *Config) any { return &c.Network.DrainTimeout }, timeout},

	{"websocket.max_message", "bytes of one message from a client", atNextConnect, func(c *Config) any { return &c.WebSocket.MaxMessage }, number{min: int64(KiB), max: int64(GiB), why: whyMemory}},
	{"websocket.compression", "offer permessage-deflate; saves bytes, costs processor time and memory", atNextConnect, func(c *Config) any { return &c.WebSocket.Compression }, nil},
	{"websocket.ping_interval", "time between pings; 0 is off: a dead peer is then noticed late", atNextConnect, func(c *Config) any { return &c.WebSocket.PingInterval }, timeOrOff},
	{"websocket.pong_timeout", "time for the answer to a ping before the peer counts as dead", atNextConnect, func(c *Config) any { return &c.WebSocket.PongTimeout }, timeout},
	{"websocket.write_timeout", "time for one write to the socket", atNextConnect, func(c *Config) any { return &c.WebSocket.WriteTimeout }, timeout},
	{"websocket.flush_timeout", "time to write what is queued when a connection closes", atNextConnect, func(c *Config) any { return &c.WebSocket.FlushTimeout }, timeout},

	{"queue.max_frames", "frames that wait for one client, reserved ones included", atNextConnect, func(c *Config) any { return &c.Queue.MaxFrames }, bounded},
	{"queue.max_bytes", "bytes that wait for one client, reserved ones included", atNextConnect, func(c *Config) any { return &c.Queue.MaxBytes }, bounded},
	{"queue.hold_frames", "live events kept while a subscription replays stored ones", atNextConnect, func(c *Config) any { return &c.Queue.HoldFrames }, bounded},
	{"queue.hold_bytes", "bytes of them", atNextConnect, func(c *Config) any { return &c.Queue.HoldBytes }, bounded},
	{"queue.room_timeout", "time that stored events wait for a client that does not read", atNextConnect, func(c *Config) any { return &c.Queue.RoomTimeout }, timeout},

	{"subscriptions.close_ack", "answer CLOSE with CLOSED", atNextConnect, func(c *Config) any { return &c.Subscriptions.CloseAck }, nil},
	{"subscriptions.max", "open subscriptions of a connection", atNextConnect, func(c *Config) any { return &c.Subscriptions.Max }, number{min: 1, why: "each one reserves room in the queue; it can be raised, not turned off"}},
	{"subscriptions.max_filters", "filters of a REQ or COUNT; 0 is off", atOnce, func(c *Config) any { return &c.Subscriptions.MaxFilters }, orOff},
	{"subscriptions.max_filter_values", "values in all lists of one filter; 0 is off", atOnce, func(c *Config) any { return &c.Subscriptions.MaxFilterValues }, orOff},
	{"subscriptions.max_values", "values in all filters of a REQ or COUNT; 0 is off", atOnce, func(c *Config) any { return &c.Subscriptions.MaxValues }, orOff},
	{"subscriptions.max_weight", "values and names in all filters of a connection, those of waiting COUNTs too", atNextConnect, func(c *Config) any { return &c.Subscriptions.MaxWeight }, bounded},
	{"subscriptions.query_timeout", "how long the store may work for one REQ or COUNT; 0s is off", atOnce, func(c *Config) any { return &c.Subscriptions.QueryTimeout }, timeOrOff},
	{"subscriptions.max_limit", "stored events for one filter, a higher limit is lowered to it; 0 is off", atOnce, func(c *Config) any { return &c.Subscriptions.MaxLimit }, orOff},
	{"subscriptions.default_limit", "stored events for a filter without limit; 0 is off", atOnce, func(c *Config) any { return &c.Subscriptions.DefaultLimit }, orOff},
	{"subscriptions.max_total", "stored events for all filters of a REQ; 0 is off", atOnce, func(c *Config) any { return &c.Subscriptions.MaxTotal }, orOff},
	{"subscriptions.max_count", "events that a COUNT counts at most; 0 is off", atOnce, func(c *Config) any { return &c.Subscriptions.MaxCount }, orOff},
	{"subscriptions.queries", "queries of a connection that run at once", atNextConnect, func(c *Config) any { return &c.Subscriptions.Queries }, number{min: 1, max: 1024, why: "each one holds a snapshot; it can be raised, not turned off"}},

	{"events.max_tags", "tags of an event; 0 is off", atOnce, func(c *Config) any { return &c.Events.MaxTags }, orOff},
	{"events.max_tag_value", "characters of one element of a tag; 0 is off", atOnce, func(c *Config) any { return &c.Events.MaxTagValue }, orOff},
	{"events.max_content", "characters of the content; 0 is off", atOnce, func(c *Config) any { return &c.Events.MaxContent }, orOff},
	{"events.min_pow", "leading zero bits that an event id must have (NIP-13); 0 is off", atOnce, func(c *Config) any { return &c.Events.MinPoW }, number{min: 1, max: 256, off: true}},
	{"events.created_at_past", "how far created_at may lie in the past; 0s is off", atOnce, func(c *Config) any { return &c.Events.CreatedAtPast }, timeOrOff},
	{"events.created_at_future", "how far created_at may lie in the future; 0s is off", atOnce, func(c *Config) any { return &c.Events.CreatedAtFuture }, timeOrOff},
	{"events.pending", "events of a connection that were read and are not answered yet", atNextConnect, func(c *Config) any { return &c.Events.Pending }, bounded},
	{"events.pending_bytes", "bytes of them", atNextConnect, func(c *Config) any { return &c.Events.PendingBytes }, bounded},

	{"auth.require", "who must authenticate: none (only where an event or filter needs it), write or all", atOnce, func(c *Config) any { return &c.Auth.Require }, enum{}},
	{"auth.window", "how far created_at of an AUTH event may be from now", atOnce, func(c *Config) any { return &c.Auth.Window }, number{min: int64(time.Second), max: math.MaxInt64, why: "an old AUTH event could be used again"}},

	{"membership.require", "what only members of the relay may do (NIP-43): none (there is no membership), write or all", atOnce, func(c *Config) any { return &c.Membership.Require }, enum{}},

	{"groups.create", "who may create groups (NIP-29): none (there are no groups), operator or anyone", atOnce, func(c *Config) any { return &c.Groups.Create }, enum{}},
	{"groups.max", "groups of the relay", atOnce, func(c *Config) any { return &c.Groups.Max }, number{min: 1, max: 1_000_000, why: whyGroups}},
	{"groups.max_per_key", "groups that one key may create, the operator's aside", atOnce, func(c *Config) any { return &c.Groups.MaxPerKey }, number{min: 1, max: 1_000_000, why: whyGroups}},
	{"groups.max_members", "members of a group", atOnce, func(c *Config) any { return &c.Groups.MaxMembers }, number{min: 1, max: 1_000_000, why: whyGroups}},
	{"groups.max_pins", "pinned events of a group", atOnce, func(c *Config) any { return &c.Groups.MaxPins }, number{min: 1, max: 10_000, why: whyGroups}},
	{"groups.max_age", "how old an event may be that is published in a group; 0s is off", atOnce, func(c *Config) any { return &c.Groups.MaxAge }, timeOrOff},

	{"negentropy.max_records", "events that one negotiation is about (NIP-77), about 72 bytes each; more are refused; 0 is off: nothing is reconciled", atOnce, func(c *Config) any { return &c.Negentropy.MaxRecords }, orOff},
	{"negentropy.max_sessions", "open negotiations of a connection", atOnce, func(c *Config) any { return &c.Negentropy.MaxSessions }, number{min: 1, max: 1024, why: "each one keeps its events in memory; it can be raised, not turned off"}},
	{"negentropy.max_held", "events that all open negotiations of the relay are about", atOnce, func(c *Config) any { return &c.Negentropy.MaxHeld }, number{min: 1, why: "they are in memory; it can be raised, not turned off"}},
	{"negentropy.max_frame", "bytes of one message of the relay in a negotiation, before they become twice as many hex digits", atOnce, func(c *Config) any { return &c.Negentropy.MaxFrame }, number{min: int64(4 * KiB), max: int64(16 * MiB), why: "a message must leave room for progress"}},
	{"negentropy.idle_timeout", "how long a negotiation waits for its client", atOnce, func(c *Config) any { return &c.Negentropy.IdleTimeout }, timeout},

	{"access.max_lag", "how long the log of the database may not have been read to its end: beyond it the relay is not ready and shows nothing private", atOnce, func(c *Config) any { return &c.Access.MaxLag }, number{min: int64(2 * time.Second), why: "the log is looked at once a second"}},

	{"retention.age", "how long the log is kept: a client that was away for less goes on where it was; stored events stay; 0s is for ever", atOnce, func(c *Config) any { return &c.Retention.Age }, number{min: int64(time.Hour), off: true}},
	{"retention.rows", "rows of the log that are kept, whatever their age; 0 is all of them", atOnce, func(c *Config) any { return &c.Retention.Rows }, number{min: 10_000, off: true}},

	{"presence.node", "name of this process in the session index, which no other has; empty: host and port", atRestart, func(c *Config) any { return &c.Presence.Node }, text(checkNode)},
	{"presence.idle", "how long a client that sends nothing counts as online", atOnce, func(c *Config) any { return &c.Presence.Idle }, timeout},
	{"presence.stale", "how long a process may be silent before its users count as stale, which is longer than presence.idle", atOnce, func(c *Config) any { return &c.Presence.Stale }, number{min: int64(2 * PresenceEvery), why: "a process reports every 5 seconds"}},

	{"publishers.dapr_url", "URL of a Dapr sidecar whose state store keeps the fences of publishers; empty: the relay's own store", atRestart, func(c *Config) any { return &c.Publishers.DaprURL }, text(checkLink)},
	{"publishers.dapr_store", "name of the sidecar's state component", atRestart, func(c *Config) any { return &c.Publishers.DaprStore }, text(notEmpty)},
	{"publishers.dapr_token", "token of the sidecar's API", atRestart, func(c *Config) any { return &c.Publishers.DaprToken }, secret(anything)},

	{"store.cache", "memory for what was read: blocks and decoded events, half each; up to 128MiB for writing come on top; 0 is an eighth of the memory, 128MiB to 1GiB", atRestart, func(c *Config) any { return &c.Store.Cache }, orChosen{number{min: int64(MiB)}}},
	{"store.search", "serve search (NIP-50) from the embedded store, which takes two to three times as long for writing then; over PostgreSQL it is always served", atRestart, func(c *Config) any { return &c.Store.Search }, nil},

	{"store.postgres.url", "database of all replicas, postgres://user:password@host:port/database; empty: the embedded store", atRestart, func(c *Config) any { return &c.Store.Postgres.URL }, secret(checkDatabase)},
	{"store.postgres.max_conns", "connections of one replica for queries; seven more write, listen, notify and read the log", atRestart, func(c *Config) any { return &c.Store.Postgres.MaxConns }, number{min: 1, max: 10_000, why: "queries need one"}},
}
