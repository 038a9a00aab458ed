// Package relay is the roof: it builds a relay from its parts, runs it, changes
// its configuration and drains it.
//
// New opens the store and the listener. Run starts, in one group: the HTTP
// server, the follower, the sweeper and the pool that checks signatures; every
// connection brings a group of its own. When Run's context ends the relay
// drains: it reports not ready, stops accepting, ends every subscription with
// CLOSED, lets what was read finish and be answered, closes the connections with
// 1001, stops the follower and the pool, and closes the store last.
package relay
